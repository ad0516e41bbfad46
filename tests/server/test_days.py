"""Day sets over HTTP: admins of an account import and delete them, its users read them."""

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
import pytest_asyncio

from segue import Kernel
from segue.config import ApiKey, Role, Secret
from tests.server.conftest import bearer, reach, running

KEYS = (
    ApiKey(key=Secret("the-long-key-of-ada"), account="one", user="ada"),
    ApiKey(key=Secret("the-long-key-of-one"), account="one", user="chief", role=Role.ADMIN),
    ApiKey(key=Secret("the-long-key-of-two"), account="two", user="root", role=Role.ADMIN),
)
USER, ADMIN, OTHER = (bearer(each.key.reveal()) for each in KEYS)


def event(first: str, end: str = "", title: str = "Winter holidays") -> str:
    ends = f"DTEND;VALUE=DATE:{end}\r\n" if end else ""
    return f"BEGIN:VEVENT\r\nDTSTART;VALUE=DATE:{first}\r\n{ends}SUMMARY:{title}\r\nEND:VEVENT\r\n"


def calendar(*events: str) -> str:
    return f"BEGIN:VCALENDAR\r\n{''.join(events)}END:VCALENDAR\r\n"


WINTER = calendar(event("20901221", "20910103"))
SCHOOL = {"name": "school", "known_until": "2091-12-31", "source": "ics"}
YEARLY = {"kind": "cron", "expr": "0 9 21 12 *", "tz": "UTC", "days": "school", "shift": "next"}


@pytest_asyncio.fixture(loop_scope="session")
async def keyed(kernel: Kernel) -> AsyncIterator[httpx2.AsyncClient]:
    async with running(kernel, api_keys=KEYS) as app, reach(app) as client:
        yield client


async def imported(http: httpx2.AsyncClient, **options: Any) -> None:
    stored = await http.post("/days", json={"name": "school", "ics": WINTER}, **options)
    assert (stored.status_code, stored.json()) == (201, SCHOOL)


async def test_a_calendar_file_becomes_a_set_that_a_schedule_may_name(http: httpx2.AsyncClient) -> None:
    await imported(http)
    listed = (await http.get("/days")).json()["days"]
    assert listed[0] == {"name": "CN", "known_until": "2026-12-31", "source": "holidays 0.108 (MIT)"}
    assert listed[-1] == SCHOOL
    made = await http.post(
        "/sessions/web:1/automations", json={"message": "Go.", "schedule": {**YEARLY, "shift": "none"}}
    )
    assert (made.status_code, made.json()["schedule"]) == (201, {**YEARLY, "shift": "none"})
    explained = await http.get(
        f"/automations/{made.json()['id']}/explain", params={"slot": "2090-12-21T09:00:00Z"}
    )
    assert "21 Dec 2090 is a holiday in school: Winter holidays" in explained.json()["text"]
    assert "Its day set school was last changed on" in explained.json()["text"]


async def test_a_holiday_before_the_job_was_made_is_named(http: httpx2.AsyncClient) -> None:
    schedule = {"kind": "cron", "expr": "0 9 * * *", "tz": "Asia/Shanghai", "days": "CN"}
    made = await http.post("/sessions/web:1/automations", json={"message": "Go.", "schedule": schedule})
    explained = await http.get(
        f"/automations/{made.json()['id']}/explain", params={"at": "2025-10-01T09:00:00+08:00"}
    )
    assert explained.json()["verdict"] == "unknown"
    assert "1 Oct 2025 is a holiday in CN" in explained.json()["text"]


async def test_a_set_is_shown_with_its_days_of_a_year(http: httpx2.AsyncClient) -> None:
    await imported(http)
    shown = (await http.get("/days/school", params={"year": 2091})).json()
    days = [{"date": f"2091-01-0{day}", "reason": "Winter holidays"} for day in (1, 2)]
    assert shown == {**SCHOOL, "off": days, "on": []}
    assert len((await http.get("/days/school")).json()["off"]) == 13
    china = (await http.get("/days/CN", params={"year": 2026})).json()
    assert china["on"][0] == "2026-01-04"
    missing = await http.get("/days/nowhere")
    assert (missing.status_code, missing.json()["code"]) == (404, "not_found")


async def test_a_set_in_use_is_not_deleted_and_the_refusal_has_its_jobs(http: httpx2.AsyncClient) -> None:
    await imported(http)
    job = (await http.post("/sessions/web:1/automations", json={"message": "Go.", "schedule": YEARLY})).json()
    refused = await http.delete("/days/school")
    assert (refused.status_code, refused.json()["code"]) == (409, "in_use")
    assert refused.json()["jobs"] == [job["id"]]
    assert "'Go.'" in refused.json()["detail"]
    await http.delete(f"/automations/{job['id']}")
    assert (await http.delete("/days/school")).json() == {"deleted": True}
    assert (await http.delete("/days/school")).status_code == 404
    shipped = await http.delete("/days/CN")
    assert (shipped.status_code, shipped.json()["code"]) == (409, "conflict")


UNUSABLE = [
    ({"name": "school"}, "invalid", "ics"),
    ({"name": "school", "ics": ""}, "invalid", "ics"),
    ({"name": "school", "ics": WINTER, "url": "http://localhost"}, "invalid", "url"),
    ({"name": "school", "ics": "x" * 1_000_001}, "invalid", "1000000 characters"),
    ({"name": "school", "ics": "hello"}, "bad_days", "no all-day event"),
    ({"name": "a/b", "ics": WINTER}, "bad_days", "letters, digits"),
    ({"name": "a\x00b", "ics": WINTER}, "bad_days", "letters, digits"),
    ({"name": "CN", "ics": WINTER}, "bad_days", "comes with Segue"),
    (
        {"name": "school", "ics": calendar(event("20901221"), event("20901222T090000", title="Exam"))},
        "bad_days",
        "'Exam' has a time of day",
    ),
    ({"name": "school", "ics": calendar(event("20200101", "20330101"))}, "never", "no working day"),
    ({"name": "school", "ics": "BEGIN:VEVENT\n" * 70_000}, "bad_days", "in the middle"),
]


async def test_a_file_that_cannot_be_used_is_refused_and_stores_nothing(
    http: httpx2.AsyncClient, subtests: pytest.Subtests
) -> None:
    before = (await http.get("/days")).json()
    for body, code, words in UNUSABLE:
        with subtests.test(words):
            refused = await http.post("/days", json=body)
            assert (refused.status_code, refused.json()["code"]) == (422, code), refused.text
            assert words in refused.json()["detail"]
            assert (await http.get("/days")).json() == before


async def test_a_title_with_any_characters_is_stored_and_shown(http: httpx2.AsyncClient) -> None:
    ics = calendar(event("20901221", title="Tag\x00 der \x1b[1m开学\u2028 \U0001f393"))
    stored = await http.post("/days", json={"name": "odd", "ics": ics})
    assert stored.status_code == 201, stored.text
    [day] = (await http.get("/days/odd")).json()["off"]
    assert day["reason"] == "Tag der [1m开学 \U0001f393"


async def test_users_read_the_sets_of_their_account_and_only_its_admins_write(
    keyed: httpx2.AsyncClient,
) -> None:
    body = {"name": "school", "ics": WINTER}
    assert (await keyed.get("/days")).status_code == 401
    assert (await keyed.post("/days", json=body, headers=USER)).status_code == 403
    await imported(keyed, headers=ADMIN)
    assert (await keyed.get("/days/school", headers=USER)).status_code == 200
    job = {"message": "Go.", "schedule": YEARLY}
    assert (await keyed.post("/sessions/web:1/automations", json=job, headers=USER)).status_code == 201
    assert (await keyed.delete("/days/school", headers=USER)).status_code == 403
    assert (await keyed.delete("/days/school", headers=ADMIN)).json()["code"] == "in_use"


async def test_another_account_does_not_see_a_set(keyed: httpx2.AsyncClient) -> None:
    await imported(keyed, headers=ADMIN)
    assert SCHOOL not in (await keyed.get("/days", headers=OTHER)).json()["days"]
    assert (await keyed.get("/days/school", headers=OTHER)).status_code == 404
    assert (await keyed.delete("/days/school", headers=OTHER)).status_code == 404
    job = {"message": "Go.", "schedule": YEARLY}
    refused = await keyed.post("/sessions/web:1/automations", json=job, headers=OTHER)
    assert (refused.status_code, refused.json()["code"]) == (422, "unknown_days")


async def test_words_about_working_days_mean_the_set_of_the_session(http: httpx2.AsyncClient) -> None:
    await imported(http)
    await http.post("/sessions", json={"key": "web:1", "timezone": "UTC"})
    changed = await http.patch("/sessions/web:1", json={"days": "school"})
    assert (changed.status_code, changed.json()["days"]) == (200, "school")
    body = {"message": "Go.", "schedule": "every workday at 9"}
    made = (await http.post("/sessions/web:1/automations", json=body)).json()
    line = {"kind": "cron", "expr": "0 9 * * *", "tz": "UTC", "days": "school", "shift": "none"}
    assert (made["schedule"], made["days_known_until"]) == (line, "2091-12-31")
    await http.patch("/sessions/web:1", json={"days": None})
    assert (await http.get("/sessions/web:1")).json()["days"] is None
    # The job keeps its set, and words about working days still mean it.
    edited = await http.patch(f"/automations/{made['id']}", json={"schedule": "every workday at 10"})
    assert edited.json()["schedule"] == {**line, "expr": "0 10 * * *"}
    plain = (await http.post("/sessions/web:1/automations", json=body)).json()
    assert (plain["schedule"]["expr"], plain["days_known_until"]) == ("0 9 * * 1-5", None)


async def test_an_unknown_set_is_refused_for_a_session(http: httpx2.AsyncClient) -> None:
    await http.post("/sessions", json={"key": "web:1"})
    refused = await http.patch("/sessions/web:1", json={"days": "Cn"})
    assert (refused.status_code, refused.json()["code"]) == (422, "unknown_days")
    assert "did you mean CN?" in refused.json()["detail"]


async def test_a_found_time_counts_the_working_days_of_the_given_set(http: httpx2.AsyncClient) -> None:
    asked = {"text": "every workday at 9", "timezone": "Asia/Shanghai"}
    plain = (await http.get("/when", params=asked)).json()["when"]["next"]
    china = (await http.get("/when", params={**asked, "days": "CN"})).json()["when"]["next"]
    assert len(plain) == len(china)
    unknown = (await http.get("/when", params={**asked, "days": "Atlantis"})).json()
    assert unknown["verdict"] == "not_read"
