"""`segue import`: jobs of a `jobs.json` store (requirements/cron.md, 1.3, 1.4 and 12)."""

import json
from typing import Any

import pytest

from segue import Ask, Every, Job, JobKind, JobState, Kernel, OpenTurn, Operator, Owner
from segue.cli.support.jobs_json import read_record
from segue.errors import Invalid
from segue.model.records import Asker
from segue.times.clock import to_moment
from tests.cli.process import Segue
from tests.docs.pages import ROOT

OPERATOR = Operator()
EXAMPLE = str(ROOT / "examples" / "jobs.json")


async def answer(turn: OpenTurn) -> str:
    return "ok"


async def jobs_of(segue: Segue, *keys: str, owner: Asker = OPERATOR) -> dict[str, Job]:
    async with Kernel(segue.database, agent=answer) as kernel:
        return {job.id: job for key in keys for job in await kernel.jobs.list(key, owner=owner, ended=True)}


def record(**changes: Any) -> dict[str, Any]:
    """A bound job, as the store writes it."""
    return {
        "id": "a1",
        "name": "report",
        "enabled": True,
        "schedule": {"kind": "every", "everyMs": 60_000},
        "payload": {"kind": "agent_turn", "message": "Go.", "sessionKey": "telegram:42"},
        "state": {},
        "createdAtMs": 1_780_000_000_000,
    } | changes


async def test_a_store_is_imported_and_reported_record_by_record(segue: Segue) -> None:
    told = await segue("import", EXAMPLE)
    assert told.code == 0
    lines = told.out.splitlines()
    for words in (
        "a1b2c3d4   morning report  cron    telegram:42",
        "0f9e8d7c   dream           cron    websocket:3f2a",
        "77aa88bb   weather         legacy  cron:77aa88bb",
        "its only moment has passed",
        "Segue brings its own",
        "never fires",
    ):
        assert any(words in line for line in lines), words
    assert lines[-1] == "2 imported, 1 paused, 1 over, 1 system, 1 malformed."


async def test_bound_stays_bound_and_legacy_stays_legacy(segue: Segue) -> None:
    """1.3, 1.4: by their stored fields; a user's job that is called "dream" is a user's job."""
    await segue("import", EXAMPLE)
    jobs = await jobs_of(segue, "telegram:42", "websocket:3f2a", "cron:77aa88bb")
    assert {job_id: (job.kind, job.state) for job_id, job in jobs.items()} == {
        "a1b2c3d4": (JobKind.CRON, JobState.ACTIVE),
        "0f9e8d7c": (JobKind.CRON, JobState.PAUSED),
        "77aa88bb": (JobKind.LEGACY, JobState.ACTIVE),
    }
    assert jobs["a1b2c3d4"].action == Ask("What changed since yesterday?")
    assert jobs["77aa88bb"].action == Ask("Tell me the weather.", to="telegram:42")


async def test_a_second_import_changes_nothing(segue: Segue) -> None:
    await segue("import", EXAMPLE)
    before = await jobs_of(segue, "telegram:42", "websocket:3f2a", "cron:77aa88bb")
    again = json.loads((await segue("import", EXAMPLE, "--json")).out)
    assert again["counts"] == {"there": 3, "over": 1, "system": 1, "malformed": 1}
    assert await jobs_of(segue, "telegram:42", "websocket:3f2a", "cron:77aa88bb") == before


async def test_a_removed_job_is_not_imported_again(segue: Segue) -> None:
    await segue("import", EXAMPLE)
    await segue("jobs", "remove", "a1b2c3d4")
    again = json.loads((await segue("import", EXAMPLE, "--json")).out)["records"][0]
    assert (again["fate"], again["reason"]) == ("there", "it was removed since")


async def test_a_dry_run_reports_the_same_and_writes_nothing(segue: Segue) -> None:
    dry = json.loads((await segue("import", EXAMPLE, "--dry-run", "--json")).out)
    async with Kernel(segue.database, agent=answer) as kernel:
        assert await kernel.sessions.list() == []
    wet = json.loads((await segue("import", EXAMPLE, "--json")).out)
    assert (dry["dry_run"], wet["dry_run"]) == (True, False)
    assert dry["records"] == wet["records"]
    plain = await segue("import", EXAMPLE, "--dry-run")
    assert plain.out.splitlines()[-1].startswith("Nothing was written: 3 there")


async def test_a_store_is_read_from_standard_input(segue: Segue) -> None:
    told = await segue("import", "-", "--json", text=json.dumps([record()]))
    assert json.loads(told.out)["counts"] == {"imported": 1}


@pytest.mark.parametrize("text", ["", "{", "7", '{"jobs": 7}', "[" * 100_000])
async def test_a_text_that_is_no_store_is_refused(segue: Segue, text: str) -> None:
    refused = await segue("import", "-", text=text)
    assert refused.code == 2
    assert "job store" in refused.err


async def test_a_missing_file_is_refused(segue: Segue) -> None:
    refused = await segue("import", "nowhere.json")
    assert (refused.code, "nowhere.json cannot be read" in refused.err) == (2, True)


async def test_the_id_of_another_users_job_is_refused(segue: Segue) -> None:
    ann = ("--account", "acme", "--user", "ann")
    text = json.dumps([record()])
    await segue("import", "-", *ann, text=text)
    told = json.loads((await segue("import", "-", "--json", text=text)).out)["records"][0]
    assert (told["fate"], told["reason"]) == ("malformed", "the id a1 is taken; give the record another one")
    assert "a1" in await jobs_of(segue, "telegram:42", owner=Owner("acme", "ann"))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (None, "a record is an object"),
        ("text", "a record is an object"),
        (record(id=""), "id must be a string"),
        (record(id=None), "id must be a string"),
        (record(payload=None), "payload is an object"),
        (record(payload={"kind": "agent_turn", "sessionKey": "a:b"}), "payload.message must be a string"),
        (record(payload={"kind": "agent_turn", "message": " "}), "payload.message is empty"),
        (record(payload={"kind": "dance", "message": "Go."}), "payload.kind is agent_turn or system_event"),
        (record(payload={"message": "Go.", "sessionKey": "nowhere"}), "a session key is channel:chat_id"),
        (record(schedule=None), "schedule is an object"),
        (record(schedule={"kind": "sometimes"}), "schedule.kind is at, every or cron"),
        (record(schedule={"kind": "at", "atMs": None}), "atMs is a number of milliseconds, got None"),
        (record(schedule={"kind": "every", "everyMs": "often"}), "everyMs is a number of milliseconds"),
        (record(schedule={"kind": "every", "everyMs": True}), "everyMs is a number of milliseconds"),
        (record(schedule={"kind": "every", "everyMs": 0}), "everyMs is a number of milliseconds"),
        (record(schedule={"kind": "every", "everyMs": 1e400}), "everyMs is a number of milliseconds"),
        (record(schedule={"kind": "cron", "expr": None}), "schedule.expr must be a string"),
        (record(schedule={"kind": "cron", "expr": "0 9 * *"}), "five fields"),
        (record(schedule={"kind": "cron", "expr": "0 9 * * *", "tz": "Mars/Base"}), "no time zone"),
        (record(schedule={"kind": "cron", "expr": "0 9 * * *", "tz": 7}), "tz is the name of a zone"),
    ],
)
def test_a_malformed_record_says_what_is_wrong(wrong: Any, words: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_record(wrong)
    assert words in str(refused.value)


@pytest.mark.parametrize("number", [60_000, "60000", 60_000.0, "6e4"])
def test_numbers_may_be_texts(number: object) -> None:
    assert read_record(record(schedule={"kind": "every", "every_ms": number})).trigger == Every(
        60, start=to_moment(1_780_000_000_000)
    )


def test_an_interval_keeps_its_phase() -> None:
    """3.8: from its next run, if the store has one."""
    found = read_record(record(state={"nextRunAtMs": 1_790_000_000_123}))
    assert found.trigger == Every(60, start=to_moment(1_790_000_000_123))


@pytest.mark.parametrize("field", [{"deliver": True}, {"channel": "telegram"}, {"to": "7"}])
def test_a_session_with_delivery_fields_runs_the_legacy_way_in_its_session(field: dict[str, Any]) -> None:
    """1.3"""
    payload = {"message": "Go.", "session_key": "web:1", **field}
    found = read_record(record(payload=payload))
    assert (found.kind, found.session_key, found.action.to) == (JobKind.LEGACY, "web:1", None)


def test_a_legacy_job_keeps_its_delivery_address() -> None:
    """1.3: only if `deliver` is set."""
    spoken = {"message": "Go.", "deliver": True, "channel": "telegram", "to": "7"}
    assert read_record(record(payload=spoken)).action.to == "telegram:7"
    assert read_record(record(payload={**spoken, "deliver": False})).action.to is None


@pytest.mark.parametrize("name", ["channelMeta", "channel_meta"])
def test_a_legacy_job_keeps_the_metadata_of_its_channel(name: str) -> None:
    payload = {"message": "Go.", "deliver": True, "channel": "telegram", "to": "7"}
    found = read_record(record(payload={**payload, name: {"message_thread_id": 9}}))
    assert found.action.channel_meta == {"message_thread_id": 9}
    with pytest.raises(Invalid, match=r"payload\.channelMeta is an object"):
        read_record(record(payload={**payload, name: "9"}))
