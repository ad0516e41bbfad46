"""Budgets over HTTP: requirements/cost.md §2, 5–11."""

from typing import Any

import httpx2
import pytest

from segue import Ask, Every, Kernel

WHERE = "/sessions/web:1"
JOB = {"message": "What is new?", "schedule": "every 2h"}


async def added(http: httpx2.AsyncClient, budget: dict[str, Any]) -> httpx2.Response:
    return await http.post(f"{WHERE}/automations", json={**JOB, "policy": {"budget": budget}})


async def test_a_budget_is_set_shown_raised_and_removed(http: httpx2.AsyncClient, kernel: Kernel) -> None:
    job = (await added(http, {"tokens": 5_000, "per": "day", "over": "ask"})).json()
    assert job["policy"]["budget"] == {"tokens": 5_000, "per": "day", "over": "ask"}
    limited = await http.patch(WHERE, json={"budget": {"runs": 3, "per": "month"}, "title": "News"})
    assert limited.status_code == 200, limited.text
    assert limited.json()["budget"] == {"runs": 3, "per": "month", "over": "skip"}
    [listed] = (await http.get("/sessions")).json()["sessions"]
    assert (listed["budget"], listed["title"]) == (limited.json()["budget"], "News")
    renamed = await http.patch(WHERE, json={"title": "New"})
    assert renamed.json()["budget"] == listed["budget"], "a field that is not given stays"
    found = (await http.get(f"{WHERE}/budget")).json()
    assert (found["unit"], found["limit"], found["spent"], found["left"]) == ("runs", 3, 0, 3)
    assert (found["reserved"], found["per"], found["over"]) == (0, "month", "skip")
    assert found["resets_at"]
    [of_job] = found["jobs"]
    assert (of_job["job_id"], of_job["unit"], of_job["left"]) == (job["id"], "tokens", 5_000)
    raised = (await http.post(f"{WHERE}/budget/raise", json={"job_id": job["id"]})).json()
    assert (raised["jobs"][0]["left"], raised["left"]) == (10_000, 3), "the session's own stays"
    assert (await http.post(f"{WHERE}/budget/raise")).json()["left"] == 6
    assert (await http.patch(WHERE, json={"budget": None})).json()["budget"] is None
    removed = (await http.get(f"{WHERE}/budget")).json()
    assert (removed["unit"], removed["left"]) == (None, None)
    assert (await http.post(f"{WHERE}/budget/raise")).status_code == 409
    patched = await http.patch(f"/automations/{job['id']}", json={"policy": {"budget": None}})
    assert patched.json()["policy"]["budget"] is None


@pytest.mark.parametrize(
    "budget",
    [
        {"usd": 0, "per": "day"},
        {"tokens": -1, "per": "day"},
        {"runs": 1, "tokens": 1, "per": "day"},
        {"per": "day"},
        {"runs": 1, "per": "hour"},
        {"runs": 1, "per": "day", "then": "stop"},
    ],
)
async def test_a_bad_budget_is_refused(
    http: httpx2.AsyncClient, kernel: Kernel, budget: dict[str, Any]
) -> None:
    refused = await added(http, budget)
    assert refused.status_code == 422, refused.text
    await kernel.sessions.open("web:1")
    assert (await http.patch(WHERE, json={"budget": budget})).status_code == 422


async def test_dollars_for_a_model_without_a_known_price_are_refused(
    http: httpx2.AsyncClient, kernel: Kernel
) -> None:
    refused = await added(http, {"usd": 0.5, "per": "day"})
    assert (refused.status_code, refused.json()["code"]) == (422, "price_unknown")
    job = await kernel.schedule("web:1", Every(3600), Ask("?"))
    patched = await http.patch(
        f"/automations/{job.id}", json={"policy": {"budget": {"usd": 0.5, "per": "day"}}}
    )
    assert (patched.status_code, patched.json()["code"]) == (422, "price_unknown")
    limited = await http.patch(WHERE, json={"title": "News", "budget": {"usd": 1, "per": "day"}})
    assert (limited.status_code, limited.json()["code"]) == (422, "price_unknown")
    assert (await http.get(WHERE)).json()["title"] is None, "nothing was changed"


async def test_a_budget_below_one_run_is_accepted_with_a_warning_in_the_dry_run(
    http: httpx2.AsyncClient,
) -> None:
    body = {**JOB, "policy": {"budget": {"tokens": 10, "per": "day"}}}
    found = (await http.post(f"{WHERE}/automations", params={"dry_run": "true"}, json=body)).json()
    [warning] = found["detail"]
    assert "below one run" in warning
    assert (await added(http, {"tokens": 10, "per": "day"})).status_code == 201
