"""Metrics of the work: turns, runs and deliveries by outcome, waits, tokens and cost."""

import re
from datetime import timedelta

import httpx2
from prometheus_client.parser import text_string_to_metric_families

from segue import Ask, At, Every, Kernel, Policy, Rejected, Say, Usage
from segue.errors import AgentFailed
from segue.model.policy import Late
from segue.server import create_app
from segue.testing import ManualClock, RecordingChannel, ScriptedAgent, quiet
from tests.server.conftest import reach

SECRET = "the code is 4711"


async def figures(http: httpx2.AsyncClient) -> dict[str, float]:
    """Each counter as `name{labels}`, without the zeros."""
    text = (await http.get("/metrics")).text
    assert not re.search(r"4711|secret-chat", text)
    return {
        f"{sample.name}{{{','.join(map(str, sample.labels.values()))}}}": sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.value and not sample.name.endswith(("_created", "_bucket"))
    }


async def test_turns_runs_and_deliveries_are_counted_by_outcome(database_url: str) -> None:
    clock, agent, channel = ManualClock(), ScriptedAgent(), RecordingChannel("telegram")
    used = Usage({"input_tokens": 12, "output_tokens": 3, "cost_usd": 0.25, "model": SECRET})
    async with Kernel(database_url, agent=agent, channels=[channel], clock=clock) as kernel:
        app = create_app(kernel)
        async with app.router.lifespan_context(app), reach(app) as http:
            agent.script([SECRET, used], AgentFailed(SECRET), "ok", AgentFailed(SECRET))
            await kernel.receive("telegram:42", SECRET)
            await quiet(kernel)
            once = Policy(retries=1)
            await kernel.schedule("secret-chat:1", At(clock.now()), Ask(SECRET), policy=once)
            await quiet(kernel)
            clock.advance(timedelta(minutes=10))
            await quiet(kernel)
            await kernel.schedule("secret-chat:1", At(clock.now()), Ask(SECRET))
            await kernel.schedule("telegram:42", At(clock.now()), Say(SECRET))
            await quiet(kernel)
            late = Policy(late=Late.SKIP, grace_seconds=1)
            await kernel.schedule("secret-chat:1", Every(60), Ask(SECRET), policy=late)
            clock.advance(timedelta(seconds=150))
            await quiet(kernel)
            found = await figures(http)
    assert {name: value for name, value in found.items() if "_total" in name and "http" not in name} == {
        "segue_turns_total{user,ok}": 1,
        "segue_turns_total{cron,retried}": 1,
        "segue_turns_total{cron,ok}": 1,
        "segue_turns_total{cron,error}": 1,
        "segue_runs_total{cron,ok}": 1,
        "segue_runs_total{cron,error}": 1,
        "segue_runs_total{cron,missed}": 2,
        "segue_runs_total{message,ok}": 1,
        "segue_deliveries_total{telegram,sent}": 2,
        "segue_tokens_total{input,user}": 12,
        "segue_tokens_total{output,user}": 3,
        "segue_prompt_tokens_total{false}": 12,
        "segue_cost_usd_total{user}": 0.25,
    }
    assert found["segue_run_lateness_seconds_count{cron}"] == 2
    assert found["segue_queue_wait_seconds_count{cron}"] == 3
    assert found["segue_turn_seconds_count{user}"] == 1


async def test_a_delivery_that_fails_is_counted(database_url: str) -> None:
    class Refusing(RecordingChannel):
        async def send(self, delivery: object) -> None:  # type: ignore[override]
            raise Rejected("no such chat")

    async with Kernel(database_url, agent=ScriptedAgent(), channels=[Refusing("telegram")]) as kernel:
        app = create_app(kernel)
        async with app.router.lifespan_context(app), reach(app) as http:
            await kernel.receive("telegram:42", "hello")
            await quiet(kernel)
            assert (await figures(http))["segue_deliveries_total{telegram,failed}"] == 1


async def test_an_app_that_has_stopped_counts_no_more(database_url: str) -> None:
    async with Kernel(database_url, agent=ScriptedAgent()) as kernel:
        app = create_app(kernel)
        async with app.router.lifespan_context(app), reach(app) as http:
            await kernel.receive("web:1", "hello")
            await quiet(kernel)
            assert (await figures(http))["segue_turns_total{user,ok}"] == 1
        async with app.router.lifespan_context(app), reach(app) as http:
            await kernel.receive("web:1", "hello")
            await quiet(kernel)
            assert (await figures(http))["segue_turns_total{user,ok}"] == 2
