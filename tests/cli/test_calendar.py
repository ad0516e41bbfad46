"""`segue sessions calendar` and `import-calendar`, and the log of a server that shares a calendar."""

import json
import signal
from pathlib import Path

from segue.times.icalendar.content_lines import events_in, value_of
from tests.cli.process import Segue

FILE = """BEGIN:VCALENDAR
BEGIN:VEVENT
UID:d
DTSTART;TZID=Europe/Berlin:20901117T090000
SUMMARY:Dentist
END:VEVENT
BEGIN:VEVENT
UID:p
DTSTART;VALUE=DATE:20901224
SUMMARY:Party
END:VEVENT
END:VCALENDAR
"""


async def test_a_calendar_file_is_shown_imported_and_written(segue: Segue, tmp_path: Path) -> None:
    await segue("sessions", "add-message", "web:1", "Hello")
    file, out = tmp_path / "my.ics", tmp_path / "web.ics"
    file.write_text(FILE, "utf-8")
    shown = (await segue("sessions", "import-calendar", "web:1", str(file))).out
    assert "Dentist" in shown
    assert "Left out: Party: it lasts all day" in shown
    assert "--make makes them" in shown
    made = await segue("sessions", "import-calendar", "web:1", str(file), "--make", "--json")
    assert [job["name"] for job in json.loads(made.out)["jobs"]] == ["Dentist"], made.err
    again = await segue("sessions", "import-calendar", "web:1", str(file), "--make")
    assert "No event of the file can be a job." in again.out
    await segue("sessions", "calendar", "web:1", "--out", str(out))
    (event,) = events_in(out.read_bytes().decode())
    assert (value_of(event, "SUMMARY"), value_of(event, "DTSTART")) == ("Dentist", "20901117T080000Z")
    assert (await segue("sessions", "calendar", "web:1")).out == out.read_text("utf-8")


async def test_a_file_that_cannot_be_read_fails_in_a_sentence(segue: Segue, tmp_path: Path) -> None:
    await segue("sessions", "add-message", "web:1", "Hello")
    missing = await segue("sessions", "import-calendar", "web:1", str(tmp_path / "none.ics"))
    assert missing.code == 2
    assert "cannot be read as UTF-8 text" in missing.err
    nowhere = await segue("sessions", "calendar", "web:1", "--out", str(tmp_path / "no" / "x.ics"))
    assert nowhere.code == 2
    assert "cannot be written" in nowhere.err


async def test_the_access_log_of_a_server_has_no_token(segue: Segue) -> None:
    async with segue.serving() as server:
        await server.client.post("/sessions", json={"key": "web:1"})
        url = (await server.client.post("/sessions/web:1/calendar")).json()["url"]
        token = url.rpartition("/")[2].removesuffix(".ics")
        assert (await server.client.get(url)).status_code == 200
        assert (await server.client.get(url.replace("/calendar/", "/calendar//"))).status_code == 404
        assert (await server.client.post(url)).status_code == 405
        server.process.tell(signal.SIGTERM)
        assert await server.process.end() == 0
        written = server.process.log
    assert "/calendar/•••.ics" in written
    assert token not in written
