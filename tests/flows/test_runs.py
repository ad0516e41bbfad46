"""Every slot is a row with an outcome and a reason: nothing ends silently."""

from collections.abc import AsyncIterator

import pytest

from segue import Ask, Delta, Every, Kernel, Late, OpenTurn, Policy, Say, Settings, ToolStarted, Usage
from segue.errors import NotFound
from segue.testing import ManualClock, RecordingChannel, ScriptedAgent, quiet
from tests.flows.house import OpenKernel
from tests.flows.story import CHAT, outcomes, slots, under_way, working


async def test_until_it_ends_a_runs_state_is_that_of_its_turn(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."))
    clock.advance(minutes=1)
    await kernel.workers.timer.step()
    [queued] = await slots(kernel, job)
    assert (queued.state, queued.outcome, queued.started_at, queued.finished_at) == (
        "queued",
        None,
        None,
        None,
    )
    clock.advance(seconds=5)
    async with under_way(kernel, agent):
        [running] = await slots(kernel, job)
        assert (running.state, running.outcome, running.attempt) == ("running", None, 1)
        assert running.started_at == clock.ms()
        clock.advance(seconds=5)
    [ended] = await slots(kernel, job)
    assert (ended.state, ended.outcome) == (None, "ok")
    assert ended.finished_at == clock.ms()
    assert ended.lateness_ms == 0


async def test_a_run_is_named_after_its_job_and_slot(kernel: Kernel, clock: ManualClock) -> None:
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."), job_id="look")
    clock.advance(minutes=1)
    await quiet(kernel)
    [run] = await slots(kernel, job)
    assert run.id == f"look:{clock.ms()}"


async def test_usage_is_on_the_run(kernel: Kernel, clock: ManualClock, agent: ScriptedAgent) -> None:
    agent.script(["Done.", Usage({"input_tokens": 12, "cost": 0.5})])
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."))
    clock.advance(minutes=1)
    await quiet(kernel)
    [run] = await slots(kernel, job)
    assert run.usage == {"input_tokens": 12, "cost": 0.5}


class Ends:
    """Brings a run of a fresh job to each of its ends."""

    def __init__(self, open_kernel: OpenKernel, clock: ManualClock, agent: ScriptedAgent) -> None:
        self._open = open_kernel
        self._clock = clock
        self._agent = agent

    async def ok(self) -> tuple[Kernel, str]:
        return await self._answered("Fine.")

    async def empty(self) -> tuple[Kernel, str]:
        return await self._answered(None)

    async def error(self) -> tuple[Kernel, str]:
        return await self._answered(ValueError("boom"))

    async def _answered(self, line: str | ValueError | None) -> tuple[Kernel, str]:
        kernel = await self._open()
        self._agent.script(line)
        job = await kernel.schedule(CHAT, Every(3600), Ask("Look."))
        self._clock.advance(hours=1)
        await quiet(kernel)
        return kernel, job.id

    async def stopped(self) -> tuple[Kernel, str]:
        kernel = await self._open()
        job = await kernel.schedule(CHAT, Every(3600), Ask("Look."))
        self._clock.advance(hours=1)
        async with under_way(kernel, self._agent):
            await kernel.turns.stop(CHAT)
            await kernel.workers.keeper.step()
        return kernel, job.id

    async def skipped(self) -> tuple[Kernel, str]:
        kernel = await self._open()
        job = await kernel.schedule(CHAT, Every(3600), Ask("Look."))
        await kernel.jobs.skip(job.id)
        return kernel, job.id

    async def missed(self) -> tuple[Kernel, str]:
        kernel = await self._open()
        job = await kernel.schedule(CHAT, Every(3600), Ask("Look."), policy=Policy(late=Late.SKIP))
        self._clock.advance(hours=1, minutes=30)
        await quiet(kernel)
        return kernel, job.id

    async def interrupted(self) -> tuple[Kernel, str]:
        agent = _Acts()
        kernel = await self._open(agent=agent, settings=Settings(shutdown_grace_seconds=0))
        job = await kernel.schedule(CHAT, Every(3600), Ask("Look."))
        self._clock.advance(hours=1)
        agent.pause()
        async with working(kernel):
            await agent.under_way()
        return kernel, job.id

    async def cancelled(self) -> tuple[Kernel, str]:
        kernel = await self._open()
        job = await kernel.schedule(CHAT, Every(3600), Ask("Look."))
        self._clock.advance(hours=1)
        await kernel.workers.timer.step()
        [run] = await slots(kernel, job)
        await kernel.turns.cancel(run.turn_id or "")
        return kernel, job.id


class _Acts(ScriptedAgent):
    async def answer(self, turn: OpenTurn) -> AsyncIterator[Delta | str]:
        yield ToolStarted(call_id="1", name="look")
        async for piece in super().answer(turn):
            yield piece


@pytest.mark.parametrize(
    ("end", "why"),
    [
        ("ok", None),
        ("empty", None),
        ("error", "boom"),
        ("stopped", None),
        ("skipped", "skipped by request"),
        ("missed", "late: it came due 30 min ago, and late slots are skipped"),
        ("interrupted", "its worker was lost after it may have acted"),
        ("cancelled", "cancelled by request"),
    ],
)
async def test_each_end_is_a_row_that_says_why(
    open_kernel: OpenKernel, clock: ManualClock, agent: ScriptedAgent, end: str, why: str | None
) -> None:
    kernel, job_id = await getattr(Ends(open_kernel, clock, agent), end)()
    [run] = await kernel.runs.list(job=job_id)
    assert (run.outcome, run.state) == (end, None)
    assert run.finished_at is not None
    if why is not None:
        assert why in (run.reason or run.error or "")
    assert [one.id for one in await kernel.runs.list(CHAT)] == [run.id]


@pytest.mark.parametrize(
    ("end", "shown"),
    [
        ("ok", ["Fine."]),
        ("empty", ["(no answer)"]),
        ("error", ["This turn failed; its record says why."]),
        ("stopped", ["(stopped)"]),
        ("interrupted", ["This turn was interrupted: its worker was lost after it may have acted."]),
        ("skipped", []),
        ("missed", []),
        ("cancelled", []),
    ],
)
async def test_a_run_that_started_has_one_visible_end_and_any_other_none(
    open_kernel: OpenKernel, clock: ManualClock, agent: ScriptedAgent, end: str, shown: list[str]
) -> None:
    """7.1: no word of an exception in it, and none more when another process comes."""
    kernel, job_id = await getattr(Ends(open_kernel, clock, agent), end)()
    await quiet(await open_kernel())
    [run] = await kernel.runs.list(job=job_id)
    answers = [m for m in await kernel.messages(CHAT) if m.role == "assistant"]
    assert [m.content for m in answers] == shown
    assert [m.source and m.source.run_id for m in answers] == [run.id] * len(shown)


async def test_a_scheduled_message_is_a_run_too(
    kernel: Kernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    job = await kernel.schedule("test:1", Every(60), Say("Drink water."))
    clock.advance(minutes=1)
    await kernel.workers.timer.step()
    [run] = await slots(kernel, job)
    assert (run.state, run.turn_id) == ("queued", None)
    assert run.delivery_id is not None
    await quiet(kernel)
    assert await outcomes(kernel, job) == ["ok"]
    assert channel.texts == ["Drink water."]


async def test_a_job_no_version_can_read_is_paused_and_the_others_go_on(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    from segue.store import queries
    from segue.store.database import Transaction

    def spoil(job_id: str) -> Transaction[None]:
        yield queries.translate("test.spoil", "UPDATE jobs SET trigger = '{}' WHERE id = :id"), {"id": job_id}

    spoilt = await kernel.schedule(CHAT, Every(60), Ask("Look."))
    well = await kernel.schedule(CHAT, Every(60), Ask("Look."))
    await kernel.store.commit(spoil, spoilt.id)
    clock.advance(minutes=1)
    await quiet(kernel)
    assert await outcomes(kernel, well) == ["ok"]
    found = await kernel.store.database.read(
        queries.translate("test.state", "SELECT state, state_reason FROM jobs WHERE id = :id"),
        {"id": spoilt.id},
    )
    assert found[0]["state"] == "paused"
    assert found[0]["state_reason"].startswith("cannot be read")


async def test_a_run_that_is_not_there_is_not_found(kernel: Kernel) -> None:
    with pytest.raises(NotFound):
        await kernel.store.run("unknown:1")
