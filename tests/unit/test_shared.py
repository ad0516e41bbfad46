"""What several want to know at one moment is looked up once."""

import asyncio

import pytest

from segue.kernel.live.single_flight import SingleFlight


class Library:
    """It counts who comes, and answers when it is open."""

    def __init__(self) -> None:
        self.visits = 0
        self.open = asyncio.Event()

    async def look_up(self) -> int:
        self.visits += 1
        await self.open.wait()
        return 42


async def test_those_who_ask_together_share_one_look() -> None:
    shared, library = SingleFlight(), Library()
    async with asyncio.TaskGroup() as crowd:
        asked = [crowd.create_task(shared.once("it", library.look_up)) for _ in range(100)]
        await asyncio.sleep(0)
        library.open.set()
    assert {task.result() for task in asked} == {42}
    assert library.visits == 1


async def test_who_leaves_in_the_middle_leaves_the_question_to_the_next() -> None:
    shared, library = SingleFlight(), Library()
    async with asyncio.TaskGroup() as both:
        first = both.create_task(shared.once("it", library.look_up))
        second = both.create_task(shared.once("it", library.look_up))
        await asyncio.sleep(0)
        first.cancel()
        library.open.set()
    assert second.result() == 42
    assert library.visits == 2


async def test_a_failure_is_nobody_elses_answer() -> None:
    shared, library = SingleFlight(), Library()
    library.open.set()

    async def fail() -> int:
        raise LookupError

    with pytest.raises(LookupError):
        await shared.once("it", fail)
    assert await shared.once("it", library.look_up) == 42


async def test_only_the_newest_answers_are_kept() -> None:
    shared, library = SingleFlight(most=2), Library()
    library.open.set()
    for what in ("a", "b", "c", "c", "b"):
        await shared.once(what, library.look_up)
    assert library.visits == 3
    await shared.once("a", library.look_up)
    assert library.visits == 4
