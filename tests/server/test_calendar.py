"""The calendar of a session over HTTP: a private address that no log shows, and events of files as jobs."""

import logging
from collections.abc import AsyncIterator

import httpx2
import pytest
import pytest_asyncio
from fastapi import FastAPI

from segue import Kernel
from segue.server import mount
from segue.testing import ScriptedAgent
from segue.times.icalendar.content_lines import events_in, value_of
from tests.server.conftest import ADA, BEN, KEYS, bearer, reach, running

PATH = "/sessions/web:1/calendar"
NINE = {"name": "news", "message": "What is new?", "schedule": "every weekday at 9", "timezone": "UTC"}
DENTIST = "BEGIN:VEVENT\r\nUID:d\r\nDTSTART:20901117T090000Z\r\nSUMMARY:Dentist\r\nEND:VEVENT\r\n"
PAST = "BEGIN:VEVENT\r\nUID:p\r\nDTSTART:20201117T090000Z\r\nSUMMARY:School\r\nEND:VEVENT\r\n"
FILE = f"BEGIN:VCALENDAR\r\n{DENTIST}{PAST}END:VCALENDAR\r\n"
TEXT = {"Content-Type": "text/calendar"}


@pytest_asyncio.fixture(loop_scope="session")
async def keyed(kernel: Kernel) -> AsyncIterator[httpx2.AsyncClient]:
    async with running(kernel, api_keys=KEYS) as app, reach(app) as client:
        yield client


async def shared(http: httpx2.AsyncClient, path: str = PATH, headers: dict[str, str] | None = None) -> str:
    answer = await http.post(path, headers=headers)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["url"])


async def test_an_address_gives_what_is_coming_until_it_is_replaced_or_revoked(
    http: httpx2.AsyncClient,
) -> None:
    await http.post("/sessions/web:1/automations", json=NINE)
    assert (await http.get(PATH)).json() == {"calendar": None}
    url = await shared(http)
    assert url.startswith("http://localhost/calendar/")
    assert (await http.get(PATH)).json()["calendar"]["created_at"]
    read = await http.get(url)
    assert (read.status_code, read.headers["content-type"]) == (200, "text/calendar; charset=utf-8")
    (event,) = events_in(read.text)
    assert value_of(event, "SUMMARY") == "news"
    again = await http.get(url, headers={"If-None-Match": read.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    new = await shared(http)
    assert (await http.get(url)).status_code == 404
    assert (await http.get(new)).status_code == 200
    revoked = await http.delete(PATH)
    assert (revoked.status_code, revoked.json()) == (200, {"deleted": True})
    assert (await http.delete(PATH)).status_code == 404
    gone, unknown = await http.get(new), await http.get("/calendar/x.ics")
    assert (gone.status_code, gone.json()) == (404, unknown.json())
    assert gone.json()["detail"] == "there is no calendar at this address"


async def test_only_the_owner_shares_and_the_address_needs_no_key(keyed: httpx2.AsyncClient) -> None:
    ada, ben = bearer(ADA), bearer(BEN)
    await keyed.post("/sessions", json={"key": "web:1"}, headers=ada)
    url = await shared(keyed, headers=ada)
    assert (await keyed.get(url)).status_code == 200
    for method, path in (("GET", PATH), ("POST", PATH), ("DELETE", PATH), ("POST", f"{PATH}/import")):
        refused = await keyed.request(method, path, headers=ben)
        assert (refused.status_code, refused.json()["code"]) == (404, "not_found"), (method, path)
        assert (await keyed.request(method, path)).status_code == 401
    schema = (await keyed.get("/openapi.json")).json()
    assert schema["paths"]["/calendar/{token}.ics"]["get"]["security"] == []
    await keyed.delete("/sessions/web:1", headers=ada)
    assert (await keyed.get(url)).status_code == 404


async def test_the_address_of_a_mounted_server_has_its_prefix(database_url: str) -> None:
    app = FastAPI()
    mount(app, Kernel(database_url, agent=ScriptedAgent()), prefix="/a/segue")
    async with app.router.lifespan_context(app), reach(app) as http:
        await http.post("/a/segue/sessions", json={"key": "web:1"})
        url = await shared(http, f"/a/segue{PATH}?user=default")
        assert url.startswith("http://localhost/a/segue/calendar/")
        assert url.endswith(".ics")
        assert (await http.get(url)).status_code == 200


async def test_no_log_and_no_metric_has_the_token(
    kernel: Kernel, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    await kernel.sessions.open("web:1")
    async with running(kernel) as app, reach(app) as http:
        url = await shared(http)
        token = url.rpartition("/")[2].removesuffix(".ics")
        await http.get(url)
        assert token not in (metrics := (await http.get("/metrics")).text)
        assert 'route="/calendar/{token}.ics"' in metrics

        async def broken(_: str) -> str:
            raise OSError("the disk is gone")

        monkeypatch.setattr(kernel.calendar, "read", broken)
        with caplog.at_level(logging.ERROR):
            assert (await http.get(url)).status_code == 500
    assert "/calendar/….ics failed" in caplog.text
    assert token not in caplog.text


async def test_only_a_hash_of_the_token_is_stored(kernel: Kernel) -> None:
    await kernel.sessions.open("web:1")
    token = await kernel.calendar.share("web:1")
    assert await kernel.store.session_of_calendar(token) is None


async def test_events_are_shown_before_they_are_made(http: httpx2.AsyncClient) -> None:
    await http.post("/sessions", json={"key": "web:1"})
    path = f"{PATH}/import"
    shown = await http.post(path, content=FILE, headers=TEXT)
    assert shown.status_code == 200, shown.text
    assert shown.json()["made"] is False
    assert shown.json()["skipped"] == [{"summary": "School", "reason": "it is over"}]
    (job,) = shown.json()["jobs"]
    assert (job["name"], job["mode"], job["next_runs"]) == ("Dentist", "say", ["2090-11-17T09:00:00+00:00"])
    assert (await http.get("/sessions/web:1/automations")).json()["jobs"] == []
    made = await http.post(path, params={"make": "true"}, files={"file": ("my.ics", FILE, "text/calendar")})
    assert (made.json()["made"], [each["id"] for each in made.json()["jobs"]]) == (True, [job["id"]])
    again = await http.post(path, params={"make": "true"}, content=FILE.encode("utf-8-sig"), headers=TEXT)
    assert again.json()["jobs"] == []
    assert len((await http.get("/sessions/web:1/automations")).json()["jobs"]) == 1


UNUSABLE = [
    (b"", 422, "bad_calendar", "no event"),
    (b"\xff\xfe" + FILE.encode("utf-16-le"), 422, "bad_calendar", "not UTF-8"),
    (FILE.replace("Dentist", "Zahnärztin").encode("latin-1"), 422, "bad_calendar", "not UTF-8"),
    (b"PK\x03\x04", 422, "bad_calendar", "no event"),
    (b"x" * 1_000_001, 413, "too_large", "1,000,000 bytes"),
    (b"x" * 5_000_000, 413, "too_large", "bytes"),
    (b"BEGIN:VEVENT\n" * 70_000, 422, "bad_calendar", "in the middle"),
    (FILE.replace(DENTIST, DENTIST * 5_000).encode(), 422, "bad_calendar", "1,000 events"),
    (FILE.replace("090000Z", "090000").encode(), 422, "zone_needed", "needs a time zone"),
]


async def test_a_file_that_cannot_be_used_is_refused_in_a_sentence(
    http: httpx2.AsyncClient, subtests: pytest.Subtests
) -> None:
    await http.post("/sessions", json={"key": "web:1"})
    for content, status, code, words in UNUSABLE:
        with subtests.test(words):
            refused = await http.post(f"{PATH}/import?make=true", content=content, headers=TEXT)
            assert (refused.status_code, refused.json()["code"]) == (status, code), refused.text
            assert words in refused.json()["detail"]
            assert (await http.get("/sessions/web:1/automations")).json()["jobs"] == []
