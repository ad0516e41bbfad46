"""The zone of a time on the command line: its text, `--timezone`, the session, the setting, the terminal."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.cli.process import Segue

pytestmark = pytest.mark.usefixtures("ready")

NINE = "2030-01-02 09:00"
UNKNOWN = "CET-1CEST"
"""A POSIX zone has no name, so the terminal's zone is not known."""
COMMANDS = [
    ("jobs", "add", "web:1", "Look.", "--schedule", NINE),
    ("recalls", "set", "web:1", "Read build.log with read_file.", "--when", NINE),
    ("messages", "schedule", "web:1", "Up.", "--at", NINE),
]


@pytest.fixture
def segue(segue: Segue) -> Segue:
    segue.env |= {"SEGUE_TIMEZONE": "", "TZ": UNKNOWN}
    return segue


async def begin(segue: Segue, key: str = "web:1") -> None:
    await segue("sessions", "add-message", key, "Hello.")


async def set_zone(segue: Segue, zone: str) -> None:
    from segue import Kernel
    from segue.testing import ScriptedAgent

    async with Kernel(segue.database, agent=ScriptedAgent()) as kernel:
        await kernel.sessions.update("web:1", timezone=zone)


def hour(made: dict[str, Any]) -> int:
    at = made.get("next_runs", [made.get("trigger_at") or made.get("send_at")])[0]
    return datetime.fromisoformat(at).astimezone(UTC).hour


@pytest.mark.parametrize("command", COMMANDS)
async def test_a_clock_time_is_refused_without_a_zone(segue: Segue, command: tuple[str, ...]) -> None:
    await begin(segue)
    no = await segue(*command)
    assert no.code == 2
    assert "needs a time zone, and none is known; write for example" in no.err
    assert "Europe/Berlin" in no.err


@pytest.mark.parametrize("command", COMMANDS)
async def test_text_option_session_and_setting_take_precedence_over_the_terminal(
    segue: Segue, command: tuple[str, ...]
) -> None:
    await begin(segue)

    async def first_hour(*more: str, words: str = NINE) -> int:
        made = await segue(*command[:-1], words, *more, "--json")
        assert made.code == 0, made.err
        if command[0] == "recalls":
            await segue("recalls", "cancel", "web:1")
        return hour(json.loads(made.out))

    segue.env["TZ"] = "America/New_York"
    assert await first_hour() == 14
    segue.env["SEGUE_TIMEZONE"] = "Europe/London"
    assert await first_hour() == 9
    await set_zone(segue, "Europe/Berlin")
    assert await first_hour() == 8
    assert await first_hour("--timezone", "Asia/Tokyo") == 0
    assert await first_hour("--timezone", "Asia/Tokyo", words=f"{NINE} Europe/Berlin") == 8


async def test_an_edited_schedule_is_read_in_the_terminals_zone(segue: Segue) -> None:
    made = json.loads((await segue(*COMMANDS[0][:-1], "every 2h", "--json")).out)
    no = await segue("jobs", "edit", made["id"], "--schedule", "every day at 9")
    assert (no.code, "needs a time zone" in no.err) == (2, True)
    segue.env["TZ"] = "Asia/Tokyo"
    changed = await segue("jobs", "edit", made["id"], "--schedule", "every day at 9", "--json")
    assert json.loads(changed.out)["schedule"]["tz"] == "Asia/Tokyo"


async def test_a_chat_gives_its_session_the_terminals_zone_once(segue: Segue) -> None:
    asks = await segue("chat", text="remind me tomorrow at 9 to call Ana\n")
    assert asks.out.startswith("Which city or time zone are you in?"), "nothing is known here"
    segue.env["TZ"] = "Asia/Tokyo"
    knows = await segue("chat", text="remind me tomorrow at 9 to call Ana\n")
    assert "I will remind you tomorrow at 09:00: call Ana." in knows.out
    segue.env["TZ"] = "Europe/Berlin"
    stays = await segue("chat", text="what time is it?\n")
    assert stays.out.strip().endswith("in Asia/Tokyo.")


async def test_a_chat_does_not_override_the_setting(segue: Segue) -> None:
    segue.env |= {"TZ": "Asia/Tokyo", "SEGUE_TIMEZONE": "Europe/Berlin"}
    told = await segue("chat", text="what time is it?\n")
    assert told.out.strip().endswith("in Europe/Berlin.")
    shown = await segue("sessions", "show", "terminal:default", "--json")
    assert json.loads(shown.out)["timezone"] is None


async def test_an_imported_cron_line_needs_a_zone_too(segue: Segue) -> None:
    store = segue.folder / "jobs.json"
    job = {
        "id": "daily",
        "schedule": {"kind": "cron", "expr": "0 9 * * *"},
        "payload": {"kind": "agent_turn", "message": "Look.", "session_key": "web:1"},
    }
    store.write_text(json.dumps({"version": 1, "jobs": [job]}), "utf-8")
    [told] = json.loads((await segue("import", str(store), "--json")).out)["records"]
    assert "needs a time zone" in told["reason"]
    segue.env["TZ"] = "Europe/Berlin"
    await segue("import", str(store), "--timezone", "Asia/Tokyo")
    [made] = json.loads((await segue("jobs", "list", "web:1", "--json")).out)["jobs"]
    assert made["schedule"]["tz"] == "Asia/Tokyo"


async def test_the_doctor_says_that_no_zone_is_set(segue: Segue) -> None:
    await begin(segue)
    assert "no time zone is set" in (await segue("doctor")).out
