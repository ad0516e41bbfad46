"""What a run used and a session may use, on the command line."""

import json

import pytest

from segue import Ask, Every, Kernel, Usage
from segue.testing import ManualClock, ScriptedAgent, quiet
from tests.cli.process import Segue

pytestmark = pytest.mark.usefixtures("ready")

_USED = {
    "requests": {"fast": 2},
    "input_tokens": 3_100,
    "output_tokens": 41,
    "cache_read_tokens": 2_900,
    "cost_usd": 0.002,
}


async def test_a_run_shows_its_cached_tokens_its_cost_and_its_model(segue: Segue) -> None:
    await segue("sessions", "add-message", "web:1", "Hello.")  # makes the database
    agent = ScriptedAgent()
    agent.script(["ok", Usage(_USED)], ["ok", Usage({"input_tokens": 10, "output_tokens": 1})])
    clock = ManualClock()
    async with Kernel(segue.database, agent=agent, clock=clock) as kernel:
        job = await kernel.schedule("web:1", Every(3600), Ask("?"))
        for _ in range(2):
            clock.advance(hours=1)
            await quiet(kernel)
        unpriced, priced = [run.id for run in await kernel.runs.list(job=job.id)]
    shown = (await segue("runs", "show", priced)).out
    assert "3,100 in, 2,900 from cache, 41 out, $0.0020, fast ×2" in shown
    assert "10 in, 1 out, price unknown" in (await segue("runs", "show", unpriced)).out
    usage = json.loads((await segue("runs", "show", priced, "--json")).out)["usage"]
    assert (usage["cache_read_tokens"], usage["cache_write_tokens"], usage["cost_usd"]) == (2_900, 0, 0.002)


async def test_the_budget_of_a_session_is_set_shown_and_removed(segue: Segue) -> None:
    await segue("sessions", "add-message", "web:1", "Hello.")
    budget = '{"runs": 30, "per": "month"}'
    assert (await segue("sessions", "edit", "web:1", "--budget", budget)).code == 0
    assert '{"runs": 30, "per": "month", "over": "skip"}' in (await segue("sessions", "show", "web:1")).out
    for wrong, why in (("30", "a budget is an object"), ("much", "--budget is JSON")):
        refused = await segue("sessions", "edit", "web:1", "--budget", wrong)
        assert (refused.code, why in refused.err) == (2, True), refused.err
    assert (await segue("sessions", "edit", "web:1", "--budget", "none")).code == 0
    assert json.loads((await segue("sessions", "show", "web:1", "--json")).out)["budget"] is None
