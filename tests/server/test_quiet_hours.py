"""Quiet hours and digests over HTTP: requirements/speaking.md §3."""

from typing import Any

import httpx2
import pytest

from segue import Kernel
from segue.times.clock import to_moment

WHERE = "/sessions/web:1"
NIGHT = {"from": "22:00", "to": "07:00", "days": "all"}
JOB = {"message": "What is new?", "schedule": "every 2h"}


async def changed(http: httpx2.AsyncClient, **fields: Any) -> Any:
    answer = await http.patch(WHERE, json=fields)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_quiet_hours_and_a_digest_are_set_shown_and_cleared(
    http: httpx2.AsyncClient, kernel: Kernel
) -> None:
    await kernel.sessions.open("web:1")
    found = (await http.get(WHERE)).json()
    assert [found[name] for name in ("quiet", "digest", "quiet_until", "held")] == [None, None, None, 0]
    done = await changed(http, quiet={"from": "22:00", "to": "07:00"}, timezone="Europe/Berlin")
    assert (done["quiet"], done["notice"]) == (NIGHT, None)
    done = await changed(http, quiet={"from": "00:00", "to": "23:00", "days": ["mon", "sun"]})
    assert done["quiet"]["days"] == ["mon", "sun"]
    [listed] = (await http.get("/sessions")).json()["sessions"]
    assert listed["quiet"] == done["quiet"]
    assert (await changed(http, quiet=None))["quiet"] is None
    assert (await changed(http, digest={"at": "08:00"}))["digest"]["at"] == "08:00"
    assert (await changed(http, digest={"every_seconds": 3600}))["digest"]["every_seconds"] == 3600
    assert (await changed(http, digest=None))["digest"] is None


async def test_quiet_until_is_set_while_the_window_is_open(http: httpx2.AsyncClient, kernel: Kernel) -> None:
    await kernel.sessions.open("web:1")
    hour = to_moment(kernel.clock.ms()).hour
    wide = {"from": f"{hour:02}:00", "to": f"{(hour + 22) % 24:02}:00"}
    done = await changed(http, quiet=wide, timezone="UTC")
    assert done["quiet_until"].endswith("+00:00")
    assert done["quiet_until"][11:16] == wide["to"]


async def test_a_digest_without_a_channel_that_sends_is_accepted_and_says_so(
    http: httpx2.AsyncClient, kernel: Kernel
) -> None:
    await kernel.sessions.open("web:1")
    done = await changed(http, digest={"at": "08:00"})
    assert "no effect" in done["notice"]
    sent = await http.post(f"{WHERE}/held/send")
    assert (sent.status_code, sent.json()) == (200, {"sent": 0})
    assert (await http.post("/sessions/web:none/held/send")).status_code == 404


@pytest.mark.parametrize(
    "fields",
    [
        {"quiet": {"from": "22:00", "to": "22:00"}},
        {"quiet": {"from": "22:00", "to": "21:30"}},
        {"quiet": {"from": "10pm", "to": "07:00"}},
        {"quiet": {"from": "22:00"}},
        {"quiet": {"from": "22:00", "to": "07:00", "until": 1}},
        {"quiet": {"from": "22:00", "to": "07:00", "days": "never"}},
        {"quiet": {"from": "22:00", "to": "07:00", "days": []}},
        {"quiet": "22-7"},
        {"digest": {}},
        {"digest": {"at": "25:00"}},
        {"digest": {"at": "08:00", "every_seconds": 60}},
        {"digest": {"every_seconds": 1}},
        {"digest": {"every": 60}},
    ],
)
async def test_what_cannot_be_meant_is_refused(
    http: httpx2.AsyncClient, kernel: Kernel, fields: dict[str, Any]
) -> None:
    await kernel.sessions.open("web:1")
    refused = await http.patch(WHERE, json=fields)
    assert refused.status_code == 422, refused.text
    assert refused.headers["content-type"] == "application/problem+json"


async def test_a_job_has_its_choices_in_its_policy(http: httpx2.AsyncClient) -> None:
    wanted = {"quiet": "through", "tell": "digest"}
    made = await http.post(f"{WHERE}/automations", json={**JOB, "policy": wanted})
    assert made.status_code == 201, made.text
    policy = made.json()["policy"]
    assert {name: policy[name] for name in wanted} == wanted
    cleared = await http.patch(f"/automations/{made.json()['id']}", json={"policy": {"quiet": None}})
    assert (cleared.json()["policy"]["quiet"], cleared.json()["policy"]["tell"]) == (None, "digest")
    for wrong in ({"quiet": "silent"}, {"tell": "later"}):
        refused = await http.post(f"{WHERE}/automations", json={**JOB, "policy": wrong})
        assert refused.status_code == 422
