"""Single-flight: concurrent lookups of one key share one query."""

import asyncio

import pytest

from segue.kernel.live.single_flight import SingleFlight


class Source:
    """Counts its lookups; each of them waits until `ready` is set."""

    def __init__(self) -> None:
        self.lookups = 0
        self.ready = asyncio.Event()

    async def look_up(self) -> int:
        self.lookups += 1
        await self.ready.wait()
        return 42


async def test_concurrent_callers_share_one_lookup() -> None:
    shared, source = SingleFlight(), Source()
    async with asyncio.TaskGroup() as group:
        callers = [group.create_task(shared.once("it", source.look_up)) for _ in range(100)]
        await asyncio.sleep(0)
        source.ready.set()
    assert {task.result() for task in callers} == {42}
    assert source.lookups == 1


async def test_if_the_caller_that_looks_up_is_cancelled_the_next_one_looks_up() -> None:
    shared, source = SingleFlight(), Source()
    async with asyncio.TaskGroup() as group:
        first = group.create_task(shared.once("it", source.look_up))
        second = group.create_task(shared.once("it", source.look_up))
        await asyncio.sleep(0)
        first.cancel()
        source.ready.set()
    assert second.result() == 42
    assert source.lookups == 2


async def test_a_failure_is_not_cached() -> None:
    shared, source = SingleFlight(), Source()
    source.ready.set()

    async def fail() -> int:
        raise LookupError

    with pytest.raises(LookupError):
        await shared.once("it", fail)
    assert await shared.once("it", source.look_up) == 42


async def test_only_the_newest_results_are_cached() -> None:
    shared, source = SingleFlight(most=2), Source()
    source.ready.set()
    for key in ("a", "b", "c", "c", "b"):
        await shared.once(key, source.look_up)
    assert source.lookups == 3
    await shared.once("a", source.look_up)
    assert source.lookups == 4
