"""Forecasts and dry runs over HTTP: requirements/cost.md §2, 1–4."""

from typing import Any

import httpx2
import pytest

from segue import Ask, Cron, Every, Kernel
from tests.server.conftest import ADA, BEN, bearer

WHERE = "/sessions/web:1"
DAILY = {"message": "What is new?", "schedule": {"kind": "cron", "expr": "0 9 * * *", "tz": "Europe/Berlin"}}


async def rows(kernel: Kernel) -> list[Any]:
    return [await kernel.jobs.list("web:1"), await kernel.messages("web:1")]


async def test_a_forecast_lists_slots_and_sums_and_writes_nothing(
    http: httpx2.AsyncClient, kernel: Kernel
) -> None:
    job = await kernel.schedule("web:1", Cron("0 9 * * *", tz="Europe/Berlin"), Ask("?"), name="news")
    before = await rows(kernel)
    found = (await http.get(f"{WHERE}/forecast", params={"days": 7})).json()
    assert list(found) == [
        *("session_key", "start", "end", "total", "jobs", "slots", "days", "timezone", "listed")
    ]
    assert (found["total"]["runs"], found["total"]["slots"], found["listed"]) == (7, 7, True)
    assert found["total"]["cost_usd"] is None
    assert (found["jobs"][0]["job_id"], found["jobs"][0]["runs_without_price"]) == (job.id, 7)
    assert {each["verdict"] for each in found["slots"]} == {"run"}
    assert all("T09:00:00+" in each["slot"] for each in found["slots"]), "in the zone of the schedule"
    assert await rows(kernel) == before
    short = (await http.get(f"{WHERE}/forecast", params={"days": 7, "slots": "false"})).json()
    assert (short["slots"], short["total"], short["listed"]) == ([], found["total"], True)
    assert short["days"] == found["days"]
    assert sum(each["runs"] for each in found["days"]) == 7
    assert found["days"][1]["jobs"] == {job.id: 1}


async def test_a_forecast_is_for_a_day_to_a_year(http: httpx2.AsyncClient, kernel: Kernel) -> None:
    await kernel.schedule("web:1", Every(3600), Ask("?"))
    assert len((await http.get(f"{WHERE}/forecast")).json()["slots"]) == 720
    for days in ("0", "367", "-1", "many"):
        refused = await http.get(f"{WHERE}/forecast", params={"days": days})
        assert (refused.status_code, refused.json()["code"]) == (422, "invalid")
    year = (await http.get(f"{WHERE}/forecast", params={"days": 366})).json()
    assert (year["listed"], year["slots"], year["total"]["runs"]) == (False, [], 8784)


async def test_a_forecast_of_another_users_session_is_not_found(guarded: httpx2.AsyncClient) -> None:
    made = await guarded.post(f"{WHERE}/automations", json=DAILY, headers=bearer(ADA))
    assert made.status_code == 201
    assert (await guarded.get(f"{WHERE}/forecast", headers=bearer(ADA))).status_code == 200
    assert (await guarded.get(f"{WHERE}/forecast", headers=bearer(BEN))).status_code == 404


@pytest.mark.parametrize("exists", [True, False])
async def test_a_dry_run_says_what_would_be_made_and_makes_nothing(
    http: httpx2.AsyncClient, kernel: Kernel, exists: bool
) -> None:
    if exists:
        await http.post(f"{WHERE}/messages", json={"role": "user", "content": "word " * 400})
    answer = await http.post(f"{WHERE}/automations", params={"dry_run": "true"}, json=DAILY)
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert (found["dry_run"], found["name"], len(found["next_runs"])) == (True, "What is new?", 5)
    assert found["prompt_tokens"] > 5
    assert (found["context_tokens"] >= 400) is exists
    session = await kernel.sessions.find("web:1")
    assert (session is not None) is exists
    if exists:
        assert await kernel.jobs.list("web:1") == []


async def test_a_dry_run_refuses_what_the_request_would_be_refused(http: httpx2.AsyncClient) -> None:
    body = {**DAILY, "schedule": {"kind": "every", "every_seconds": 1}}
    refused = await http.post(f"{WHERE}/automations", params={"dry_run": "true"}, json=body)
    assert (refused.status_code, refused.json()["code"]) == (422, "bad_trigger")
