"""Crash suspects: turns that crashed twice run a third time, but never side by side."""

from segue import Kernel
from segue.kernel.live.running import LONGEST_SUSPECT_MS, CrashSuspects
from segue.kernel.transactions import lease, settle
from segue.kernel.transactions.lane import Pool
from segue.kernel.transactions.lease import SUSPECT_PAUSE_MS, HeldLane
from segue.model.states import Outcome, TurnState
from segue.testing import ManualClock, ScriptedAgent, quiet
from tests.leases import terms_of

LEASE_MS = 15_000


async def leased(kernel: Kernel, clock: ManualClock, *, allow_suspect: bool = True) -> list[HeldLane]:
    now = clock.ms()
    terms = terms_of("doomed", lease_ms=LEASE_MS, lease_now=now)
    leased = await kernel.store.commit(
        lease.lease, terms, pool=Pool.USER, after="", limit=8, now=now, allow_suspect=allow_suspect
    )
    return [*leased.value.held]


async def lost(kernel: Kernel, clock: ManualClock, held: HeldLane) -> None:
    clock.advance(seconds=LEASE_MS / 1000 + 1)
    now = clock.ms()
    await kernel.store.commit(
        settle.reclaim, held.session.id, holder="reaper", lease_now=now, horizon=None, now=now
    )


async def suspects(kernel: Kernel, clock: ManualClock, count: int) -> list[str]:
    turns = [(await kernel.receive(f"web:{n}", "Hi")).turn_id for n in range(count)]
    for _ in range(2):
        for held in await leased(kernel, clock):
            await lost(kernel, clock, held)
    return turns


async def test_one_suspect_is_started_at_a_time(kernel: Kernel, clock: ManualClock) -> None:
    turns = await suspects(kernel, clock, 3)
    before = {turn_id: await kernel.turns.get(turn_id) for turn_id in turns}
    (first,) = await leased(kernel, clock)
    assert first.turn.crashes == 2
    for turn_id in set(turns) - {first.turn.id}:
        waiting = await kernel.turns.get(turn_id)
        assert waiting.state is TurnState.QUEUED
        assert waiting.attempt == before[turn_id].attempt == 2
        assert (
            await kernel.store.session_by_id(waiting.session_id)
        ).ready_at == clock.ms() + SUSPECT_PAUSE_MS
    assert not await kernel.audit()


async def test_no_suspect_starts_while_another_one_runs(kernel: Kernel, clock: ManualClock) -> None:
    await suspects(kernel, clock, 2)
    fresh = await kernel.receive("web:fresh", "Hi")
    (taken,) = await leased(kernel, clock, allow_suspect=False)
    assert taken.turn.id == fresh.turn_id
    assert not await kernel.audit()


async def test_no_turn_overtakes_a_suspect_that_waits(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    (suspect,) = await suspects(kernel, clock, 1)
    await kernel.receive("web:0", "And?")
    assert not await leased(kernel, clock, allow_suspect=False)
    assert not await kernel.audit()
    await kernel.receive("web:0", "Still there?")
    assert not await leased(kernel, clock, allow_suspect=False)
    clock.advance(milliseconds=SUSPECT_PAUSE_MS)
    (held,) = await leased(kernel, clock)
    assert held.turn.id == suspect
    assert not await kernel.audit()


async def test_each_of_them_has_its_turn(kernel: Kernel, clock: ManualClock, agent: ScriptedAgent) -> None:
    turns = await suspects(kernel, clock, 3)
    for _ in turns:
        await quiet(kernel)
        clock.advance(milliseconds=SUSPECT_PAUSE_MS)
    for turn_id in turns:
        ended = await kernel.turns.get(turn_id)
        assert (ended.outcome, ended.attempt) == (Outcome.OK, 3)


async def test_a_suspect_that_runs_long_no_longer_holds_up_the_next(
    kernel: Kernel, clock: ManualClock
) -> None:
    await suspects(kernel, clock, 1)
    (held,) = await leased(kernel, clock)
    crash_suspects = CrashSuspects(clock)
    assert crash_suspects.reserve()
    assert not crash_suspects.reserve()
    crash_suspects.begin([held.turn])
    assert not crash_suspects.reserve()
    clock.advance(milliseconds=LONGEST_SUSPECT_MS)
    assert crash_suspects.reserve()
    crash_suspects.begin([])
    assert crash_suspects.reserve()
