"""The examples run as they stand, in a process of their own, and print what they say they print."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

EXAMPLES = ROOT / "examples"
LONGEST = 40
PRINTS = "\n# It prints:\n"

BY_THEMSELVES = ("daily_report", "survive_a_crash", "when_it_goes_quiet", "write_now_send_then")


def start(*arguments: str, stdin: int = subprocess.DEVNULL) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-W", "error", *arguments],
        cwd=ROOT,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def printed(*arguments: str) -> str:
    process = start(*arguments)
    out, err = process.communicate()
    assert process.returncode == 0, err
    return out


def promised(example: Path) -> str:
    _, found, comment = example.read_text("utf-8").partition(PRINTS)
    assert found, f"{example.name} does not say what it prints"
    return "".join(f"{line.removeprefix('# ')}\n" for line in comment.splitlines())


@pytest.mark.parametrize("name", BY_THEMSELVES)
def test_an_example_prints_what_it_says(name: str) -> None:
    example = EXAMPLES / f"{name}.py"
    assert printed(str(example)) == promised(example)


def test_many_workers_share_one_postgresql(postgres_url: str) -> None:
    example = EXAMPLES / "many_workers.py"
    assert printed(str(example), postgres_url) == promised(example)


def test_a_user_tests_a_schedule() -> None:
    out = printed("-m", "pytest", "-q", "-p", "no:cacheprovider", "examples/test_your_schedule.py")
    assert "2 passed" in out


def test_the_quickstart_talks_by_itself_when_nobody_types() -> None:
    said = printed("examples/quickstart.py").splitlines()
    assert said[0] == "agent> I was asked 'Hello!'. I see 0 messages before it, 0 by the job."
    assert any(line.startswith("job> I was asked 'Look in.'") for line in said)
    (answer,) = [line for line in said if "'What did I miss?'" in line]
    assert " 0 by the job" not in answer


def test_the_quickstart_talks_in_a_terminal_until_an_empty_line() -> None:
    ours, theirs = os.openpty()
    process = start("examples/quickstart.py", stdin=theirs)
    os.close(theirs)
    assert process.stdout is not None
    os.write(ours, b"Are you there?\n")
    assert "'Are you there?'" in process.stdout.readline()
    os.write(ours, b"\n")
    _, err = process.communicate()
    os.close(ours)
    assert (process.returncode, err) == (0, "")


def test_the_quickstart_ends_quietly_on_ctrl_c() -> None:
    process = start("examples/quickstart.py")
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert (process.returncode, err) == (0, "")


def test_every_example_is_short_and_tested_here() -> None:
    tested = {*BY_THEMSELVES, "many_workers", "quickstart", "test_your_schedule"}
    assert {example.stem for example in EXAMPLES.glob("*.py")} == tested
    for example in EXAMPLES.glob("*.py"):
        program = example.read_text("utf-8").partition(PRINTS)[0]
        assert len(program.splitlines()) <= LONGEST, example.name
