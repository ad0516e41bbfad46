"""`segue days`: the sets that come with Segue, and those from calendar files."""

import json
from pathlib import Path

import pytest

from tests.cli.process import Segue

pytestmark = pytest.mark.usefixtures("ready")

WINTER = """BEGIN:VCALENDAR
BEGIN:VEVENT
DTSTART;VALUE=DATE:20901221
DTEND;VALUE=DATE:20910103
SUMMARY:Winter holidays
END:VEVENT
END:VCALENDAR
"""
SCHOOL = {"name": "school", "known_until": "2091-12-31", "source": "ics"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "school.ics"
    file.write_text(WINTER, "utf-8")
    return file


async def test_a_calendar_file_is_imported_listed_shown_and_removed(segue: Segue, file: Path) -> None:
    imported = await segue("days", "import", str(file))
    assert imported.out == "The day set school has 13 days off, until 2091-12-31.\n", imported.err
    assert json.loads((await segue("days", "list", "--json")).out)["days"][-1] == SCHOOL
    listed = (await segue("days", "list")).out.splitlines()
    assert listed[0].split() == ["name", "known", "until", "source"]
    assert listed[-1].split() == ["school", "2091-12-31", "ics"]
    shown = (await segue("days", "show", "school", "2091")).out
    assert [line.split(maxsplit=3) for line in shown.splitlines()[-2:]] == [
        ["2091-01-01", "Mon", "off", "Winter holidays"],
        ["2091-01-02", "Tue", "off", "Winter holidays"],
    ]
    as_json = json.loads((await segue("days", "show", "school", "--json")).out)
    assert (len(as_json["off"]), as_json["on"]) == (13, [])
    assert (await segue("days", "remove", "school")).out == "The day set school was removed.\n"
    assert (await segue("days", "show", "school")).code == 1


async def test_the_make_up_days_of_china_are_shown(segue: Segue) -> None:
    shown = (await segue("days", "show", "CN", "2026")).out
    assert "2026-01-04 Sun  works" in shown
    assert "2026-10-01 Thu  off    National Day" in shown


async def test_a_set_is_read_from_standard_input_under_a_name(segue: Segue) -> None:
    refused = await segue("days", "import", "-", text=WINTER)
    assert (refused.code, "--name" in refused.err) == (2, True)
    stored = await segue("days", "import", "-", "--name", "school", "--json", text=WINTER)
    assert json.loads(stored.out) == SCHOOL


async def test_a_file_that_cannot_be_used_is_refused_in_a_sentence(segue: Segue, tmp_path: Path) -> None:
    missing = await segue("days", "import", str(tmp_path / "missing.ics"))
    assert (missing.code, "cannot be read" in missing.err) == (2, True)
    timed = tmp_path / "timed.ics"
    timed.write_text(WINTER.replace(";VALUE=DATE:20901221", ":20901221T090000"), "utf-8")
    refused = await segue("days", "import", str(timed))
    assert (refused.code, "'Winter holidays' has a time of day" in refused.err) == (2, True)
    binary = tmp_path / "binary.ics"
    binary.write_bytes(b"\xff\xfe\x00")
    assert "UTF-8" in (await segue("days", "import", str(binary))).err


async def test_a_job_is_scheduled_on_the_working_days_of_a_set(segue: Segue, file: Path) -> None:
    await segue("days", "import", str(file))
    line = ("--schedule", "0 9 21 12 * UTC", "--days", "school")
    job = json.loads((await segue("jobs", "add", "web:1", "Go.", *line, "--json")).out)
    assert (job["schedule"]["days"], job["schedule"]["shift"]) == ("school", "none")
    edited = json.loads((await segue("jobs", "edit", job["id"], "--shift", "next", "--json")).out)
    assert edited["schedule"] == {**job["schedule"], "shift": "next"}
    explained = await segue("jobs", "explain", job["id"], "--slot", "2090-12-21T09:00:00+00:00")
    assert "21 Dec 2090 is a holiday in school: Winter holidays" in explained.out
    refused = await segue("days", "remove", "school")
    assert (refused.code, "'Go.'" in refused.err) == (1, True)


async def test_days_go_with_a_cron_line_and_a_known_set_only(segue: Segue) -> None:
    interval = await segue("jobs", "add", "web:1", "Go.", "--schedule", "every 2h", "--days", "CN")
    assert (interval.code, "go with a cron line" in interval.err) == (2, True)
    line = ("--schedule", "0 9 * * * UTC")
    unknown = await segue("jobs", "add", "web:1", "Go.", *line, "--days", "CHN")
    assert (unknown.code, "did you mean CN" in unknown.err) == (2, True)
    alone = await segue("jobs", "add", "web:1", "Go.", *line, "--shift", "next")
    assert (alone.code, "needs days" in alone.err) == (2, True)


async def test_a_session_gets_a_set_and_its_jobs_are_made_with_it(segue: Segue, file: Path) -> None:
    await segue("days", "import", str(file))
    await segue("sessions", "add-message", "websocket:1", "Hello.")
    edited = await segue("sessions", "edit", "websocket:1", "--days", "school", "--timezone", "UTC")
    assert edited.out == "Session websocket:1 was changed.\n", edited.err
    assert "working days  school" in (await segue("sessions", "show", "websocket:1")).out
    made = await segue("jobs", "add", "websocket:1", "Go.", "--schedule", "every workday at 9", "--json")
    assert json.loads(made.out)["schedule"]["days"] == "school", made.err
    assert (await segue("sessions", "edit", "websocket:1", "--days", "none")).code == 0
    assert json.loads((await segue("sessions", "show", "websocket:1", "--json")).out)["days"] is None
    nothing = await segue("sessions", "edit", "websocket:1")
    assert (nothing.code, "give what to change" in nothing.err) == (2, True)


async def test_doctor_names_a_calendar_that_has_ended_and_is_used(segue: Segue, tmp_path: Path) -> None:
    old = tmp_path / "old.ics"
    old.write_text(WINTER.replace("20901221", "20201221").replace("20910103", "20210103"), "utf-8")
    await segue("days", "import", str(old))
    assert "The calendar old" not in (await segue("doctor")).out
    await segue(
        "jobs", "add", "websocket:1", "Go.", "--schedule", "0 9 * * *", "--days", "old", "--timezone", "UTC"
    )
    assert "The calendar old ended on 31 Dec 2021." in (await segue("doctor")).out
