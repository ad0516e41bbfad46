"""Automations over HTTP, on both databases: requirements/cron.md and CONTRACT, Cron jobs."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from segue import Ask, Call, Every, JobKind, Kernel, Owner, View
from segue.testing import ScriptedAgent
from tests.server.conftest import ADA, BEN, bearer

WHERE = "/sessions/web:1/automations"
WEEKDAYS = {"kind": "cron", "expr": "0 9 * * 1-5", "tz": "Europe/Berlin"}
FORTNIGHTLY = {
    "kind": "rrule",
    "rrule": "FREQ=WEEKLY;INTERVAL=2;BYDAY=FR",
    "start": "2030-11-22T09:00",
    "tz": "Europe/Berlin",
}
JOB = [
    *("id", "name", "enabled", "session_key", "schedule", "message", "mode", "policy", "protected"),
    *("created_at", "updated_at", "next_runs", "state", "view", "days_known_until", "model", "look"),
]
STATE = [
    *("next_run_at", "last_run_at", "last_outcome", "last_error", "pending", "consecutive_failures", "unmet"),
]


async def added(http: httpx2.AsyncClient, **body: Any) -> dict[str, Any]:
    made = await http.post(WHERE, json={"message": "What is new?", "schedule": "every 2h", **body})
    assert made.status_code == 201, made.text
    job: dict[str, Any] = made.json()
    return job


async def test_an_automation_is_added_and_shown(http: httpx2.AsyncClient) -> None:
    job = await added(http, name="report", schedule=WEEKDAYS, mode="check", policy={"late": "skip"})
    assert list(job) == JOB
    assert list(job["state"]) == STATE
    assert (job["name"], job["enabled"], job["session_key"]) == ("report", True, "web:1")
    assert (job["message"], job["mode"], job["schedule"]) == ("What is new?", "check", WEEKDAYS)
    assert (job["policy"]["late"], job["policy"]["grace_seconds"]) == ("skip", 86400)
    assert len(job["next_runs"]) == 3
    for text in job["next_runs"]:
        at = datetime.fromisoformat(text)
        assert (at.hour, at.minute, at.weekday() < 5) == (9, 0, True)
    assert job["state"]["next_run_at"] == job["next_runs"][0]
    assert (await http.get(f"/automations/{job['id']}")).json() == job
    assert (await http.get(WHERE)).json() == {"jobs": [job], "next_cursor": None}
    assert (await http.get("/sessions/web:1")).json()["automation_count"] == 1


async def test_an_automation_has_a_view(http: httpx2.AsyncClient, kernel: Kernel) -> None:
    assert (await added(http))["view"] == "full"
    job = await added(http, view="summary")
    where = f"/automations/{job['id']}"
    assert job["view"] == "summary"
    assert (await http.patch(where, json={"name": "report"})).json()["view"] == "summary"
    changed = await http.patch(where, json={"view": "since_last_run"})
    assert (changed.json()["view"], changed.json()["message"]) == ("since_last_run", "What is new?")
    stored = (await kernel.jobs.get(job["id"])).action
    assert isinstance(stored, Ask)
    assert stored.view is View.SINCE_LAST_RUN
    refused = await http.patch(where, json={"view": "everything"})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid")


@pytest.mark.parametrize(
    ("schedule", "shown"),
    [
        ("every 2h", {"kind": "every", "every_seconds": 7200}),
        ({"kind": "every", "every_seconds": 90}, {"kind": "every", "every_seconds": 90}),
        ("0 9 * * 1-5 Asia/Tokyo", {"kind": "cron", "expr": "0 9 * * 1-5", "tz": "Asia/Tokyo"}),
        ("every weekday at 9 Europe/Rome", {"kind": "cron", "expr": "0 9 * * 1-5", "tz": "Europe/Rome"}),
        (FORTNIGHTLY, FORTNIGHTLY),
        (
            {"kind": "cron", "expr": "0 9 1 * *", "tz": "Asia/Shanghai", "days": "CN", "shift": "next"},
            {"kind": "cron", "expr": "0 9 1 * *", "tz": "Asia/Shanghai", "days": "CN", "shift": "next"},
        ),
        ("every day at 9 and 17 UTC", {"kind": "cron", "expr": "0 9,17 * * *", "tz": "UTC"}),
        ("2090-01-01T09:00:00+01:00", {"kind": "at", "at": "2090-01-01T08:00:00+00:00"}),
        (
            {"kind": "at", "at": "2090-01-01T09:00:00+01:00"},
            {"kind": "at", "at": "2090-01-01T08:00:00+00:00"},
        ),
    ],
)
async def test_a_schedule_is_an_object_or_text(
    http: httpx2.AsyncClient, schedule: object, shown: dict[str, Any]
) -> None:
    assert (await added(http, schedule=schedule))["schedule"] == shown


INVALID: list[tuple[dict[str, Any], str, str]] = [
    ({"message": "  "}, "invalid", "message"),
    ({"message": "Go."}, "invalid", "schedule"),
    ({"schedule": {"kind": "idle", "idle_seconds": 60}}, "invalid", "a schedule is an object whose kind"),
    ({"schedule": 7}, "invalid", "a schedule is an object whose kind"),
    ({"schedule": {"kind": "every", "every_seconds": 0}}, "invalid", "every_seconds"),
    ({"schedule": {"kind": "every", "every_seconds": 3}}, "bad_trigger", "too often"),
    ({"schedule": "every 3 seconds"}, "bad_trigger", "too often"),
    ({"schedule": {"kind": "cron", "expr": "0 9 31 2 *", "tz": "UTC"}}, "bad_trigger", "never fires"),
    ({"schedule": {"kind": "cron", "expr": "0 9 * * *", "tz": "Mars/Base"}}, "bad_trigger", "time zone"),
    ({"schedule": {"kind": "cron", "expr": "0 9 * * *"}}, "zone_needed", "needs a time zone"),
    ({"schedule": {**FORTNIGHTLY, "rrule": "FREQ=MINUTELY"}}, "bad_trigger", "FREQ is DAILY"),
    ({"schedule": {**FORTNIGHTLY, "start": "soon"}}, "bad_trigger", "the start of a rule"),
    ({"schedule": {**FORTNIGHTLY, "until": "soon"}}, "invalid", "until"),
    ({"schedule": {**WEEKDAYS, "days": "CHN"}}, "unknown_days", "did you mean CN"),
    ({"schedule": {**WEEKDAYS, "shift": "next"}}, "bad_trigger", "needs days"),
    ({"schedule": {"kind": "every", "every_seconds": 90, "days": "CN"}}, "invalid", "days"),
    ({"schedule": {"kind": "at", "at": "2020-01-01T09:00:00Z"}}, "bad_trigger", "still to come"),
    ({"schedule": "sometimes"}, "invalid_time", "could not read"),
    ({"schedule": "every 2h", "policy": {"retries": -1}}, "bad_policy", "retries"),
    ({"schedule": "every 2h", "policy": {"until": "soon"}}, "bad_policy", "until"),
    ({"schedule": "every 2h", "policy": {"patience": 1}}, "invalid", "policy.patience"),
    ({"schedule": "every 2h", "deliver": True}, "invalid", "deliver"),
]


async def test_an_invalid_automation_is_refused_and_creates_nothing(
    http: httpx2.AsyncClient, kernel: Kernel, subtests: pytest.Subtests
) -> None:
    """2.4"""
    await kernel.sessions.open("web:1")
    for body, code, words in INVALID:
        with subtests.test(body=body):
            given = {"message": "Go.", **body} if "message" not in body else body
            refused = await http.post(WHERE, json=given)
            assert (refused.status_code, refused.json()["code"]) == (422, code), refused.text
            assert words in refused.json()["detail"]
            assert (await http.get(WHERE)).json()["jobs"] == []


async def test_a_session_has_at_most_fifty_automations(http: httpx2.AsyncClient) -> None:
    """2.4"""
    for _ in range(50):
        await added(http)
    refused = await http.post(WHERE, json={"message": "Go.", "schedule": "every 2h"})
    assert (refused.status_code, refused.json()["code"]) == (409, "too_many_jobs")


async def test_a_repeat_with_the_same_key_adds_one(http: httpx2.AsyncClient) -> None:
    body = {"message": "Go.", "schedule": "every 2h"}
    named = {"Idempotency-Key": "once"}
    first, again = [await http.post(WHERE, json=body, headers=named) for _ in range(2)]
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert len((await http.get(WHERE)).json()["jobs"]) == 1
    other = await http.post(WHERE, json={**body, "message": "Stop."}, headers=named)
    assert other.json()["code"] == "idempotency_key_reused"


async def test_only_given_fields_are_changed(http: httpx2.AsyncClient) -> None:
    """2.8"""
    job = await added(http, name="report", policy={"retries": 2, "max_runs": 9})
    where = f"/automations/{job['id']}"
    changed = await http.patch(where, json={"message": "And now?", "policy": {"max_runs": None}})
    assert (changed.status_code, changed.json()["message"]) == (200, "And now?")
    assert (changed.json()["policy"]["retries"], changed.json()["policy"]["max_runs"]) == (2, None)
    assert changed.json()["state"]["next_run_at"] == job["state"]["next_run_at"]
    moved = (await http.patch(where, json={"schedule": WEEKDAYS, "mode": "check"})).json()
    assert (moved["schedule"], moved["mode"], moved["name"]) == (WEEKDAYS, "check", "report")
    assert moved["state"]["next_run_at"] != job["state"]["next_run_at"]
    assert (await http.patch(where, json={})).json() == moved
    too_often = await http.patch(where, json={"schedule": "every 5 seconds"})
    assert (too_often.status_code, too_often.json()["code"]) == (422, "bad_trigger")
    assert (await http.get(where)).json() == moved


async def test_an_automation_is_paused_resumed_skipped_and_removed(http: httpx2.AsyncClient) -> None:
    job = await added(http)
    where = f"/automations/{job['id']}"
    paused = (await http.post(f"{where}/pause")).json()
    assert (paused["enabled"], paused["next_runs"], paused["state"]["next_run_at"]) == (False, [], None)
    assert (await http.post(f"{where}/pause")).json()["code"] == "conflict"
    assert (await http.post(f"{where}/resume")).json()["enabled"]
    skipped = (await http.post(f"{where}/skip")).json()
    assert skipped["next_runs"][0] == job["next_runs"][1]
    (run,) = (await http.get(f"{where}/runs")).json()["runs"]
    assert (run["outcome"], run["reason"]) == ("skipped", "skipped by request")
    assert (await http.delete(where)).json() == {"deleted": True}
    assert (await http.get(where)).status_code == 404
    assert (await http.get(WHERE)).json()["jobs"] == []


async def test_automations_of_other_users_are_not_found(guarded: httpx2.AsyncClient, kernel: Kernel) -> None:
    """2.6: another user of the same account, and what is no automation."""
    ada, ben = bearer(ADA), bearer(BEN)
    body = {"message": "Go.", "schedule": "every 2h"}
    job = (await guarded.post(WHERE, json=body, headers=ada)).json()
    recall = await kernel.schedule(
        "web:1", Every(600), Ask("Look."), kind=JobKind.RECALL, owner=Owner("one", "ada")
    )
    assert (await guarded.get(WHERE, headers=ben)).status_code == 404
    for who, hidden in ((ben, job["id"]), (ada, recall.id), (ada, "no-such")):
        where = f"/automations/{hidden}"
        answers = [
            await guarded.get(where, headers=who),
            await guarded.patch(where, json={"name": "mine"}, headers=who),
            await guarded.delete(where, headers=who),
            *[await guarded.post(f"{where}/{verb}", headers=who) for verb in ("pause", "resume", "skip")],
            *[await guarded.get(f"{where}/{part}", headers=who) for part in ("runs", "explain")],
        ]
        assert {answer.status_code for answer in answers} == {404}
    assert (await guarded.get(f"/automations/{job['id']}", headers=ada)).json() == job


async def test_the_list_is_paged_and_shows_more_on_request(http: httpx2.AsyncClient, kernel: Kernel) -> None:
    """11.2: a protected job is shown as such, and cannot be changed."""
    names = [(await added(http, name=f"job {number}"))["name"] for number in range(5)]
    over = await added(http, name="over", schedule="2090-01-01T09:00:00Z")
    await http.post(f"/automations/{over['id']}/skip")
    kernel.functions["beat"] = nothing
    beat = await kernel.schedule("system:beat", Every(1800), Call("beat"), name="beat", protected=True)
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = (await http.get(WHERE, params={"limit": 2, **({"cursor": cursor} if cursor else {})})).json()
        seen += [job["name"] for job in page["jobs"]]
        cursor = page["next_cursor"]
    assert seen == names[::-1]
    everything = (await http.get(f"{WHERE}?include=system&include=ended")).json()["jobs"]
    assert [job["name"] for job in everything] == ["over", *names[::-1], "beat"]
    assert (everything[0]["enabled"], everything[-1]["protected"]) == (False, True)
    for refused in (
        await http.delete(f"/automations/{beat.id}"),
        await http.post(f"/automations/{beat.id}/pause"),
        await http.patch(f"/automations/{beat.id}", json={"name": "mine"}),
    ):
        assert (refused.status_code, refused.json()["code"]) == (409, "conflict")


async def test_a_run_is_pending_until_it_has_its_outcome(
    http: httpx2.AsyncClient, kernel: Kernel, agent: ScriptedAgent
) -> None:
    """3.3, 4.2"""
    agent.pause()
    soon = datetime.now(UTC) + timedelta(seconds=2)
    job = await added(http, schedule={"kind": "at", "at": soon.isoformat()})
    where = f"/automations/{job['id']}"
    async with asyncio.timeout(20):
        await agent.under_way()
        assert (await http.get(where)).json()["state"]["pending"]
        (run,) = (await http.get(f"{where}/runs")).json()["runs"]
        assert (run["outcome"], run["state"]) == (None, "running")
        explanation = (await http.get(f"{where}/explain")).json()
        assert (explanation["verdict"], explanation["run_id"]) == ("running", run["run_id"])
        agent.go_on()
        await kernel.wait(run["turn_id"])
    after = (await http.get(where)).json()
    assert (after["state"]["pending"], after["state"]["last_outcome"], after["enabled"]) == (
        False,
        "ok",
        False,
    )
    (ran,) = (await http.get(f"{where}/runs")).json()["runs"]
    assert (ran["outcome"], ran["state"]) == ("ok", None)
    assert ran["prompt_ref"]["id"] == "cron.agent_turn.reminder"
    assert ran["rendered_prompt"].endswith("What is new?")
    assert (await http.get(f"/runs/{ran['run_id']}")).json() == ran


async def test_runs_are_paged(http: httpx2.AsyncClient) -> None:
    job = await added(http)
    for _ in range(3):
        await http.post(f"/automations/{job['id']}/skip")
    page = (await http.get(f"/automations/{job['id']}/runs?limit=2")).json()
    rest = await http.get(f"/automations/{job['id']}/runs?limit=2&cursor={page['next_cursor']}")
    slots = [run["slot"] for run in page["runs"] + rest.json()["runs"]]
    assert len(slots) == 3
    assert slots == sorted(slots, reverse=True)
    assert rest.json()["next_cursor"] is None


async def test_an_automation_is_explained(http: httpx2.AsyncClient) -> None:
    job = await added(http, name="report", schedule=WEEKDAYS)
    where = f"/automations/{job['id']}"
    explanation = (await http.get(f"{where}/explain")).json()
    assert (explanation["verdict"], explanation["slot"], len(explanation["next"])) == ("scheduled", None, 5)
    assert [each["at"] for each in explanation["next"]][:3] == job["next_runs"]
    await http.post(f"{where}/skip")
    skipped = (await http.get(f"{where}/explain", params={"slot": job["next_runs"][0]})).json()
    assert (skipped["verdict"], skipped["slot"]) == ("skipped", job["next_runs"][0])
    assert "skipped by request" in skipped["text"]
    refused = await http.get(f"{where}/explain?slot=yesterday")
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_time")


async def nothing(turn: object) -> None:
    """The function of the system job."""


async def test_conditions_are_set_shown_and_cleared(http: httpx2.AsyncClient) -> None:
    when = [{"if": "unanswered", "since": "last_run"}, {"if": "quiet", "for_seconds": 60}]
    job = await added(http, mode="say", policy={"when": when, "otherwise": "end", "renew_after": 14})
    assert (job["mode"], job["policy"]["when"]) == ("say", when)
    assert (job["policy"]["otherwise"], job["policy"]["renew_after"]) == ("end", 14)
    cleared = await http.patch(f"/automations/{job['id']}", json={"policy": {"when": None}})
    assert cleared.json()["policy"]["when"] is None


@pytest.mark.parametrize(
    ("when", "code", "says"),
    [
        ([{"if": "unansered"}], "bad_policy", "did you mean unanswered?"),
        ([{"if": "said", "words": []}], "bad_policy", "1 to 10 words"),
        ([{"if": "outcome", "job": "x", "is": "ok"}], "not_here", "another job of the same session"),
    ],
)
async def test_a_bad_condition_is_refused(http: httpx2.AsyncClient, when: Any, code: str, says: str) -> None:
    body = {"message": "Look", "schedule": "every 2h", "policy": {"when": when}}
    refused = await http.post(WHERE, json=body)
    assert (refused.status_code, refused.json()["code"]) == (422, code)
    assert says in refused.json()["detail"]
