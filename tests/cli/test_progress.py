"""Progress of slow commands: a line on a terminal, and nothing in a pipe or with --json."""

import json

import pytest

from tests.cli.process import Segue
from tests.cli.terminal import at_terminal

TALK = "".join(f'{{"role": "user", "content": "line {number}"}}\n' for number in range(3))
JOBS = {
    "version": 1,
    "jobs": [
        {
            "id": f"j{number}",
            "name": f"job {number}",
            "schedule": {"kind": "every", "everyMs": 60_000},
            "payload": {"message": "Look.", "channel": "web", "to": "1"},
        }
        for number in range(2)
    ],
}
SLOW = [
    (("db", "migrate"), "Applying 0001_kernel"),
    (("sessions", "import", "talk.jsonl"), "Conversation 1 of 1: 3 of 3 messages"),
    (("import", "jobs.json"), "Importing job 2 of 2"),
    (("doctor",), "Checking settings, database, clock and invariants"),
    (("doctor", "--repair", "--yes"), "Looking for what can be repaired"),
]


def write_files(segue: Segue) -> None:
    (segue.folder / "talk.jsonl").write_text(TALK, "utf-8")
    (segue.folder / "jobs.json").write_text(json.dumps(JOBS), "utf-8")


@pytest.mark.parametrize(("command", "line"), SLOW)
async def test_a_slow_command_says_what_it_does_on_a_terminal(
    segue: Segue, command: tuple[str, ...], line: str
) -> None:
    write_files(segue)
    async with at_terminal(segue, *command) as terminal:
        await terminal.see(line)
        await terminal.end()


@pytest.mark.parametrize(("command", "line"), SLOW)
async def test_a_pipe_gets_no_progress(segue: Segue, command: tuple[str, ...], line: str) -> None:
    write_files(segue)
    piped = await segue(*command)
    assert line not in piped.out + piped.err
    assert "\x1b" not in piped.err
