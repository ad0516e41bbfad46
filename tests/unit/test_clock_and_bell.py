"""The clock and the bell: how workers tell the time and wait for a moment or a ring."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue.kernel.live.bell import Bell
from segue.kernel.transactions.result import Name
from segue.testing import ManualClock
from segue.testing.manual_clock import START
from segue.times.clock import SystemClock, to_moment, to_ms


@given(st.integers(0, 2**47))
def test_milliseconds_and_moments_are_the_same_thing(ms: int) -> None:
    assert to_ms(to_moment(ms)) == ms
    assert to_moment(ms).tzinfo is UTC


def test_a_moment_before_1970_or_between_milliseconds_is_rounded_down() -> None:
    assert to_ms(datetime(1970, 1, 1, 0, 0, 0, 1999, tzinfo=UTC)) == 1
    assert to_ms(datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)) == -1


async def test_a_manual_clock_stands_still_until_it_is_moved() -> None:
    clock = ManualClock()
    assert clock.now() == START
    assert clock.advance(minutes=10) == START + timedelta(minutes=10)
    assert clock.ms() == to_ms(START) + 600_000


async def test_a_sleeper_is_woken_when_its_moment_comes() -> None:
    clock = ManualClock()
    bell = Bell(clock)
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        sleeper = group.create_task(bell.wait(Name.TIMER, clock.ms() + 1000))
        await asyncio.sleep(0)
        clock.advance(milliseconds=999)
        await asyncio.sleep(0)
        assert not sleeper.done()
        clock.advance(milliseconds=1)


async def test_a_moment_that_has_come_is_not_waited_for() -> None:
    clock = ManualClock()
    async with asyncio.timeout(10):
        assert await Bell(clock).wait(Name.TIMER, clock.ms()), "there is work"


async def test_a_ring_without_a_sleeper_is_kept_once() -> None:
    bell = Bell(ManualClock())
    bell.ring(Name.TIMER)
    bell.ring(Name.TIMER)
    async with asyncio.timeout(10):
        await bell.wait(Name.TIMER, None)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await bell.wait(Name.TIMER, None)


async def test_a_ring_wakes_its_own_name_and_no_other() -> None:
    bell = Bell(ManualClock())
    bell.ring(Name.COURIER)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await bell.wait(Name.TIMER, None)


async def test_when_anything_may_have_been_written_all_but_reaper_pruner_and_day_mover_are_woken() -> None:
    bell = Bell(ManualClock())
    bell.ring_all()
    waiting = {name: asyncio.create_task(bell.wait(name, None)) for name in Name}
    for _ in range(10):
        await asyncio.sleep(0)
    by_the_clock = {Name.REAPER, Name.PRUNER, Name.DAYS}
    assert {name for name, task in waiting.items() if not task.done()} == by_the_clock
    bell.ring(*by_the_clock)
    await asyncio.gather(*waiting.values())


async def test_a_worker_learns_whether_there_is_work_or_only_may_be() -> None:
    clock = ManualClock()
    bell = Bell(clock)
    async with asyncio.timeout(10):
        bell.ring(Name.USER)
        bell.ring_all()
        assert await bell.wait(Name.USER, None) is True
        bell.ring_all()
        assert await bell.wait(Name.USER, None) is False
        assert await bell.wait(Name.USER, clock.ms()) is True


async def test_the_systems_clock_is_woken_by_a_ring_before_its_moment() -> None:
    clock = SystemClock()
    rung = asyncio.Event()
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        group.create_task(clock.wait(rung, clock.ms() + 3_600_000))
        await asyncio.sleep(0)
        rung.set()


async def test_the_systems_clock_follows_a_clock_that_is_set_while_it_sleeps() -> None:
    """10.4."""
    now = [0]
    clock = SystemClock(lambda: now[0])
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        sleeper = group.create_task(clock.wait(asyncio.Event(), 30))
        await asyncio.sleep(0)
        now[0] = 30
        await sleeper
