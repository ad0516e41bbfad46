"""`segue sessions` and `segue runs`, without a running server."""

import json
from datetime import UTC, datetime

import pytest

from segue import Ask, At, Cron, Kernel, OpenTurn, Owner
from segue.testing import ManualClock, quiet
from tests.cli.process import Segue

pytestmark = pytest.mark.usefixtures("ready")


async def answer(turn: OpenTurn) -> str:
    return f"You said {turn.text!r}."


async def test_a_message_is_stored_and_shown(segue: Segue) -> None:
    stored = await segue("sessions", "add-message", "web:1", "I am in Rome.")
    assert (stored.code, stored.out) == (0, "1 message was stored; web:1 has 1 now.\n")
    listed = await segue("sessions", "list")
    assert "web:1" in listed.out
    assert "I am in Rome." in listed.out
    shown = await segue("sessions", "show", "web:1")
    assert shown.out.endswith("user\nI am in Rome.\n")


async def test_messages_come_from_a_pipe_or_a_file(segue: Segue) -> None:
    lines = '{"role": "user", "content": "One."}\n{"role": "assistant", "content": "Two."}\n'
    piped = await segue("sessions", "add-messages", "web:1", "--json", text=lines)
    assert json.loads(piped.out) == {
        "session_key": "web:1",
        "message_count": 2,
        "pending_tokens": 2,
        "added": 2,
    }
    (segue.folder / "more.json").write_text('[{"role": "user", "content": "Three."}]')
    filed = await segue("sessions", "add-messages", "web:1", "more.json")
    assert filed.out == "1 message was stored; web:1 has 3 now.\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[", "messages are a JSON list, or one JSON object per line"),
        ('{"role": "user"}', 'message 1 must be {"role": …, "content": …}'),
        (
            '[{"role": "user", "content": "hi", "auto_commit_policy": null}]',
            "message 1 has a policy of its own",
        ),
        ("[]", "from 1 to 100 messages"),
        ('{"role": "user", "content": "hi"}\n' * 101, "got 101"),
    ],
    ids=["half a list", "half a message", "a policy", "none", "too many"],
)
async def test_messages_that_cannot_be_read_are_not_stored(segue: Segue, text: str, words: str) -> None:
    ended = await segue("sessions", "add-messages", "web:1", text=text)
    assert ended.code == 2
    assert words in ended.err


async def test_json_is_what_the_api_would_answer(segue: Segue) -> None:
    await segue("sessions", "add-message", "web:1", "Hello.")
    listed = json.loads((await segue("sessions", "list", "--json")).out)
    shown = json.loads((await segue("sessions", "show", "web:1", "--json")).out)
    async with segue.serving() as server:
        assert (await server.client.get("/sessions")).json()["sessions"] == listed["sessions"]
        messages = (await server.client.get("/sessions/web:1/messages")).json()["messages"]
        assert shown.pop("messages") == messages
        assert (await server.client.get("/sessions/web:1")).json() == shown


async def test_missing_objects_are_reported_in_a_sentence(segue: Segue) -> None:
    await segue("db", "migrate")
    assert (await segue("sessions", "list")).out == "There are no sessions yet. `segue chat` starts one.\n"
    assert json.loads((await segue("sessions", "list", "--json")).out) == {"sessions": []}
    missing = await segue("sessions", "show", "web:1")
    assert (missing.code, missing.err) == (1, "Error: there is no session web:1\n")


async def test_sessions_of_a_user_need_the_user_option(segue: Segue) -> None:
    ann = ("--account", "acme", "--user", "ann")
    await segue("sessions", "add-message", "web:1", "Mine.", *ann)
    assert "web:1" not in (await segue("sessions", "list")).out
    assert "web:1" in (await segue("sessions", "list", *ann)).out
    assert (await segue("sessions", "show", "web:1")).code == 1


async def test_messages_cannot_control_the_terminal(segue: Segue) -> None:
    await segue("sessions", "add-message", "web:1", "red \x1b[31m and \x9b2J gone\x07")
    for command in (["list"], ["show", "web:1"]):
        shown = await segue("sessions", *command)
        assert "red" in shown.out
        assert not {"\x1b", "\x9b", "\x07"} & set(shown.out)


async def test_a_session_with_jobs_is_not_removed_by_accident(segue: Segue) -> None:
    async with Kernel(segue.database, agent=answer) as kernel:
        await kernel.schedule("web:1", Cron("0 9 * * *", tz="UTC"), Ask("What is new?"), name="morning")
    refused = await segue("sessions", "remove", "web:1")
    assert refused.code == 1
    assert refused.err == "Error: web:1 has 1 job; --with-jobs removes it too\n"
    assert (await segue("sessions", "remove", "web:1", "--with-jobs")).out == "Session web:1 was removed.\n"
    assert (await segue("sessions", "show", "web:1")).code == 1


async def test_stop_without_a_running_turn_says_so(segue: Segue) -> None:
    await segue("sessions", "add-message", "web:1", "Hello.")
    assert (await segue("sessions", "stop", "web:1")).out == "No turn is running.\n"


async def test_a_run_is_listed_shown_and_explained(segue: Segue) -> None:
    clock = ManualClock(datetime(2026, 3, 2, 8, 0, tzinfo=UTC))
    async with Kernel(segue.database, agent=answer, clock=clock) as kernel:
        job = await kernel.schedule("web:1", Cron("0 9 * * *", tz="UTC"), Ask("What is new?"), name="morning")
        assert (await segue("runs", "list", "web:1")).out == "No job of web:1 has run yet.\n"
        clock.advance(hours=1)
        await quiet(kernel)
        (run,) = await kernel.runs.list("web:1")
    listed = await segue("runs", "list", "web:1")
    assert run.id in listed.out
    assert "morning" in listed.out
    assert {"2", "Mar", "10:00"} <= set(listed.out.split()), "in the zone of the settings"
    shown = await segue("runs", "show", run.id)
    assert "outcome        ok" in shown.out
    assert json.loads((await segue("runs", "show", run.id, "--json")).out)["run_id"] == run.id
    explained = await segue("runs", "explain", run.id)
    told = explained.out.splitlines()
    assert told[:2] == [
        "'morning' was due on Mon 02 Mar 2026, 09:00 (UTC).",
        "It ended as ok on Mon 02 Mar 2026, 09:00 (UTC).",
    ]
    assert told[-6:-4] == ["It runs next on:", "- Tue 03 Mar 2026, 09:00 (UTC)"]
    assert json.loads((await segue("runs", "explain", run.id, "--json")).out)["job_id"] == job.id


async def test_a_run_that_was_missed_is_explained(segue: Segue) -> None:
    clock = ManualClock(datetime(2026, 3, 2, 8, 0, tzinfo=UTC))
    async with Kernel(segue.database, agent=answer, clock=clock) as kernel:
        await kernel.schedule("web:1", At("2026-03-02T09:00:00Z"), Ask("What is new?"), name="once")
        clock.advance(days=3)
        await quiet(kernel)
        (run,) = await kernel.runs.list("web:1")
    told = json.loads((await segue("runs", "explain", run.id, "--json")).out)
    assert told["verdict"] == "missed"
    assert "It was missed on Thu 05 Mar 2026" in told["text"]


async def test_a_run_of_another_user_is_not_found(segue: Segue) -> None:
    clock = ManualClock(datetime(2026, 3, 2, 8, 0, tzinfo=UTC))
    async with Kernel(segue.database, agent=answer, clock=clock) as kernel:
        await kernel.schedule("web:1", At("2026-03-02T09:00:00Z"), Ask("Hm?"), owner=Owner("acme", "ann"))
        clock.advance(hours=1)
        await quiet(kernel)
        (run,) = await kernel.runs.list("web:1", owner=Owner("acme", "ann"))
    assert (await segue("runs", "show", run.id)).code == 1
    assert (await segue("runs", "show", run.id, "--account", "acme", "--user", "ann")).code == 0
