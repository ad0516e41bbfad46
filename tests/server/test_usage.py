"""Usage over HTTP: tokens and cost of a session by day and job."""

import httpx2
import pytest

from segue import Kernel
from segue.model.agent import Text, Usage
from segue.testing import ScriptedAgent
from tests.server.conftest import ADA, BEN, bearer

WHERE = "/sessions/web:1"


async def test_usage_says_what_was_used_and_which_price_is_not_known(
    http: httpx2.AsyncClient, kernel: Kernel, agent: ScriptedAgent
) -> None:
    agent.script(
        [Text("One"), Usage({"requests": {"m": 1}, "input_tokens": 10, "output_tokens": 2, "cost_usd": 0.1})],
        [Text("Two"), Usage({"requests": {"m": 1}, "input_tokens": 10, "output_tokens": 2})],
    )
    for text in ("first", "second"):
        await kernel.wait(await kernel.receive("web:1", text))
    found = (await http.get(f"{WHERE}/usage", params={"days": 7, "timezone": "Asia/Shanghai"})).json()
    assert list(found) == ["session_key", "timezone", "start", "end", "total", "jobs", "days"]
    assert (len(found["days"]), found["timezone"]) == (7, "Asia/Shanghai")
    assert found["start"].endswith("T00:00:00+08:00")
    total = found["total"]
    assert (total["runs"], total["input_tokens"], total["cost_usd"], total["without_price"]) == (
        2,
        20,
        0.1,
        1,
    )
    assert [(each["job_id"], each["name"], each["runs"]) for each in found["jobs"]] == [(None, None, 2)]
    assert found["days"][-1]["jobs"][0]["output_tokens"] == 4


@pytest.mark.parametrize(
    ("params", "status"),
    [
        ({"days": "0"}, 422),
        ({"days": "367"}, 422),
        ({"days": "many"}, 422),
        ({"timezone": "Mars/North"}, 422),
    ],
)
async def test_bad_input_is_refused(
    http: httpx2.AsyncClient, kernel: Kernel, params: dict[str, str], status: int
) -> None:
    await kernel.sessions.open("web:1")
    for what in ("usage", "forecast"):
        assert (await http.get(f"{WHERE}/{what}", params=params)).status_code == status


async def test_the_usage_of_another_users_session_is_not_found(guarded: httpx2.AsyncClient) -> None:
    await guarded.post("/sessions", json={"key": "web:1"}, headers=bearer(ADA))
    assert (await guarded.get(f"{WHERE}/usage", headers=bearer(ADA))).status_code == 200
    assert (await guarded.get(f"{WHERE}/usage", headers=bearer(BEN))).status_code == 404
