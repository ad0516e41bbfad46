"""The log: text on a terminal, JSON elsewhere, never with a secret."""

import asyncio
import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from segue import Ask, At, Kernel, OpenTurn
from segue.telemetry import logs
from segue.testing import ManualClock

SECRET = 'a"key\\with signs'


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _restore_root_logger() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level


def written(
    format: str, stream: io.StringIO | None = None, *, words: str = "all is %s", **extra: object
) -> str:
    stream = stream or io.StringIO()
    logs.configure(format, secrets=[SECRET], stream=stream)
    logging.getLogger("segue.test").warning(words, *(["well"] if "%s" in words else []), extra=extra)
    return stream.getvalue()


def test_elsewhere_each_line_is_json() -> None:
    line = json.loads(written("auto", session="web:1"))
    assert line["message"] == "all is well"
    assert (line["level"], line["logger"], line["session"]) == ("warning", "segue.test", "web:1")
    assert line["timestamp"].endswith("Z")


def test_on_a_terminal_it_is_text() -> None:
    line = written("auto", Terminal(), session="web:1")
    assert "all is well" in line
    assert not line.startswith("{")


def test_the_format_can_be_chosen() -> None:
    assert written("json", Terminal()).startswith("{")
    assert not written("human").startswith("{")


def test_colours_are_for_terminals_that_want_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[" in written("human", Terminal())
    assert "\x1b[" not in written("human")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in written("human", Terminal())


def test_messages_of_other_libraries_are_filtered() -> None:
    stream = io.StringIO()
    logs.configure("json", stream=stream)
    logging.getLogger("httpx2").info("HTTP Request: POST …")
    assert stream.getvalue() == ""


@pytest.mark.parametrize("format", ["human", "json"])
def test_a_traceback_is_complete_and_has_no_local_variables(format: str) -> None:
    stream = io.StringIO()
    logs.configure(format, secrets=[SECRET], stream=stream)
    try:
        hidden = "local-" + "variable"
        raise ValueError(f"{SECRET} is wrong, {len(hidden)}")
    except ValueError:
        logging.getLogger("segue.test").exception("it failed")
    assert "Traceback" in stream.getvalue()
    assert "is wrong, 14" in stream.getvalue()
    assert SECRET not in stream.getvalue()
    assert "local-variable" not in stream.getvalue()


@pytest.mark.parametrize("format", ["human", "json"])
@pytest.mark.parametrize(
    ("words", "hidden", "kept"),
    [
        (f"the key {SECRET} came", SECRET, "the key"),
        ("Authorization: Bearer hush", "hush", "Authorization: Bearer"),
        ("{'authorization': 'Basic aHVzaA=='}", "aHVzaA", "authorization"),
        ("with a bearer abcdefghijkl inside", "abcdefghijkl", "inside"),
        ("sk-proj-abcDEF123_456 was refused", "abcDEF123", "was refused"),
        ("x-api-key: abc123def", "abc123def", "x-api-key"),
        ("?api_key=abc123def&page=2", "abc123def", "page=2"),
        ("no answer from postgresql://ann:p@ss/word@db:5432/x", "p@ss/word", "postgresql://ann:"),
        ("Cookie: segue=abc123def", "abc123def", "Cookie"),
        ("GET /a/calendar/k3-Tq_x9Zw0aB.ics 200", "k3-Tq_x9Zw0aB", "/a/calendar/"),
    ],
)
def test_a_secret_is_hidden(format: str, words: str, hidden: str, kept: str) -> None:
    line = written(format, words=words)
    assert hidden not in line
    assert json.dumps(hidden)[1:-1] not in line
    assert kept in line


def test_a_secret_in_a_field_is_hidden_too() -> None:
    line = written("json", headers={"Authorization": "Bearer hush"}, key=SECRET)
    assert "hush" not in line
    assert json.loads(line)["key"] == logs.HIDDEN


@pytest.mark.parametrize(
    "words", ["12 tokens: 5 new", "https://example.org:8080/a", "the secret of tea", "task-force"]
)
def test_other_text_is_not_hidden(words: str) -> None:
    assert words in written("json", words=words)


@pytest.mark.parametrize("password", ["segue", "postgres"])
def test_a_common_word_as_password_is_hidden_only_as_password(password: str) -> None:
    redacted = logs.Redaction([password])
    words = f"{password}.timer: no answer from postgresql://ann:{password}@db/{password}"
    assert redacted(words) == f"{password}.timer: no answer from postgresql://ann:{logs.HIDDEN}@db/{password}"
    assert redacted(f"PGPASSWORD={password}") == f"PGPASSWORD={logs.HIDDEN}"
    assert redacted(f"{{'password': '{password}'}}") == f"{{'password': '{logs.HIDDEN}'}}"


async def test_a_line_that_is_logged_in_a_turn_has_its_ids(tmp_path: Path) -> None:
    """Also one of a library that the agent uses, in a task that it starts."""
    stream = io.StringIO()
    logs.configure("json", stream=stream)

    async def agent(turn: OpenTurn) -> str:
        await asyncio.to_thread(logging.getLogger("some.library").warning, "connected")
        return "ok"

    clock = ManualClock()
    async with Kernel(f"sqlite:///{tmp_path}/segue.db", agent=agent, clock=clock) as kernel:
        queued = await kernel.receive("web:1", "hello")
        await kernel.drain()
        job = await kernel.schedule("web:1", At(clock.now()), Ask("x"))
        await kernel.drain()
        (run,) = await kernel.runs.list(job=job.id)
    asked, ran = [json.loads(line) for line in stream.getvalue().splitlines() if "connected" in line]
    assert (asked["turn_id"], asked["session_id"]) == (queued.turn_id, queued.session_id)
    assert "run_id" not in asked
    assert (ran["turn_id"], ran["run_id"]) == (run.turn_id, run.id)
    assert "turn_id" not in json.loads(written("json"))
