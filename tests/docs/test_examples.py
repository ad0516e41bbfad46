"""Examples: each runs in a process of its own and prints what its last comment says."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

EXAMPLES = ROOT / "examples"
MOST_LINES = 40
PRINTS = "\n# It prints:\n"

STANDALONE = (
    "daily_report",
    "notebook",
    "serverless",
    "survive_a_crash",
    "when_it_goes_quiet",
    "write_now_send_then",
)


def start(*arguments: str, stdin: int = subprocess.DEVNULL) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-W", "error", *arguments],
        cwd=ROOT,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def output_of(*arguments: str) -> str:
    process = start(*arguments)
    out, err = process.communicate()
    assert process.returncode == 0, err
    return out


def expected_output(example: Path) -> str:
    _, marker, comment = example.read_text("utf-8").partition(PRINTS)
    assert marker, f"{example.name} does not say what it prints"
    return "".join(f"{line.removeprefix('# ')}\n" for line in comment.splitlines())


@pytest.mark.parametrize("name", STANDALONE)
def test_an_example_prints_what_it_says(name: str) -> None:
    example = EXAMPLES / f"{name}.py"
    assert output_of(str(example)) == expected_output(example)


def test_many_workers_share_one_postgresql(postgres_url: str) -> None:
    example = EXAMPLES / "many_workers.py"
    assert output_of(str(example), postgres_url) == expected_output(example)


def test_a_user_tests_a_schedule() -> None:
    out = output_of("-m", "pytest", "-q", "-p", "no:cacheprovider", "examples/test_your_schedule.py")
    assert "2 passed" in out


def test_the_quickstart_talks_to_itself_without_a_terminal() -> None:
    lines = output_of("examples/quickstart.py").splitlines()
    assert lines[0] == "agent> I was asked 'Hello!'. I see 0 messages before it, 0 by the job."
    assert any(line.startswith("job> I was asked 'Look in.'") for line in lines)
    (answer,) = [line for line in lines if "'What did I miss?'" in line]
    assert " 0 by the job" not in answer


def test_the_quickstart_talks_in_a_terminal_until_an_empty_line() -> None:
    master, terminal = os.openpty()
    process = start("examples/quickstart.py", stdin=terminal)
    os.close(terminal)
    assert process.stdout is not None
    os.write(master, b"Are you there?\n")
    assert "'Are you there?'" in process.stdout.readline()
    os.write(master, b"\n")
    _, err = process.communicate()
    os.close(master)
    assert (process.returncode, err) == (0, "")


def test_the_quickstart_ends_quietly_on_ctrl_c() -> None:
    process = start("examples/quickstart.py")
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert (process.returncode, err) == (0, "")


def test_every_example_is_short_and_tested_here() -> None:
    in_applications = {"cells", "celery_tasks", "django_app", "fastapi_app"}  # in test_application_examples
    tested = {*STANDALONE, *in_applications, "many_workers", "quickstart", "test_your_schedule"}
    assert {example.stem for example in EXAMPLES.glob("*.py")} == tested
    for example in EXAMPLES.glob("*.py"):
        program = example.read_text("utf-8").partition(PRINTS)[0]
        assert len(program.splitlines()) <= MOST_LINES, example.name
