"""What a session used, by day and job: read from its runs and its users' turns, on both databases."""

from datetime import UTC, datetime

from segue import Ask, Every, Kernel
from segue.model.agent import Text, Usage
from segue.testing import ManualClock, ScriptedAgent, quiet

CHAT = "telegram:42"
USED = {"requests": {"m": 1}, "input_tokens": 100, "output_tokens": 10}


async def test_usage_is_summed_by_day_and_job(database_url: str) -> None:
    clock = ManualClock(datetime(2026, 11, 16, 8, tzinfo=UTC))
    agent = ScriptedAgent()
    async with Kernel(database_url, agent=agent, clock=clock) as kernel:
        agent.script([Text("Hello"), Usage(USED)])
        await kernel.receive(CHAT, "hi")
        await quiet(kernel)
        job = await kernel.schedule(CHAT, Every(12 * 3600), Ask("?"), name="news")
        for cost in (0.5, None, 0.25):
            clock.advance(hours=12)
            usage = USED if cost is None else {**USED, "cost_usd": cost}
            agent.script([Text("New."), Usage(usage)])
            await quiet(kernel)
        await kernel.jobs.skip(job.id)
        other = await kernel.schedule("telegram:43", Every(12 * 3600), Ask("?"), name="elsewhere")
        clock.advance(hours=13)
        await quiet(kernel)
        assert len(await kernel.runs.list(job=other.id)) == 1
        found = await kernel.runs.usage(CHAT, days=3)
        assert [(str(day.day), day.total.runs) for day in found.days] == [
            ("2026-11-16", 2),
            ("2026-11-17", 2),
            ("2026-11-18", 0),
        ]
        assert found.days[0].jobs[None].input_tokens == 100
        assert found.days[0].jobs[None].without_price == 1
        assert (found.jobs[job.id].cost_usd, found.jobs[job.id].without_price) == (0.75, 1)
        assert found.jobs[job.id].skipped == 1
        assert found.names == {job.id: "news"}
        await kernel.jobs.delete(job.id)
        assert (await kernel.runs.usage(CHAT, days=3)).total == found.total
        assert [day.total.runs for day in (await kernel.runs.usage(CHAT, days=1)).days] == [0]
