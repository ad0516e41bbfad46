"""The store is unreachable during a turn and comes back: nothing is lost."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from segue import Kernel
from segue.errors import StoreUnavailable, Undecided
from segue.model.agent import Delta, OpenTurn, ToolCalled, ToolStarted
from segue.model.channel import Receipt
from segue.model.records import Delivery
from segue.model.states import Outcome
from segue.store.database import Begin, T
from segue.store.open import open_database
from segue.testing import RecordingChannel, ScriptedAgent
from segue.testing.forwarding import ForwardingDatabase
from tests.flows.story import known_as_sent


class Away(ForwardingDatabase):
    """It does not answer, so many times; then it is back."""

    times = 0

    async def run(self, begin: Begin[T]) -> T:
        if self.times:
            self.times -= 1
            raise StoreUnavailable("it does not answer; nothing was done")
        return await super().run(begin)


class Agent:
    """Speaks, uses a tool and speaks again; in the midst of it the store goes away."""

    reports_tools = True

    def __init__(self, away: Away, *, at: str) -> None:
        self._away = away
        self._at = at
        self.calls = 0

    async def answer(self, turn: OpenTurn) -> AsyncIterator[Delta | str]:
        self.calls += 1
        yield "Let me see. "
        self._leave("a tool starts")
        yield ToolStarted(call_id="1", name="look")
        self._leave("a tool has ended")
        yield ToolCalled(call_id="1", name="look", result="sun")
        yield "The sun shines."
        self._leave("it ends")

    def _leave(self, place: str) -> None:
        if place == self._at:
            self._away.times = 2


@asynccontextmanager
async def at_work(url: str, place: str) -> AsyncIterator[tuple[Kernel, Agent]]:
    away = Away(await open_database(url))
    agent = Agent(away, at=place)
    async with Kernel(away, agent=agent) as kernel:
        working = asyncio.create_task(kernel.run())
        try:
            yield kernel, agent
        finally:
            working.cancel()
            await asyncio.wait([working])
    await away.close()


@pytest.mark.parametrize("place", ["a tool starts", "a tool has ended", "it ends"])
async def test_its_words_wait_for_the_store(database_url: str, place: str) -> None:
    async with at_work(database_url, place) as (kernel, agent):
        turn = await kernel.wait(await kernel.receive("test:1", "How is the weather?"))
        assert (turn.outcome, turn.reply) == (Outcome.OK, "Let me see. The sun shines.")
        assert (turn.attempt, agent.calls) == (1, 1)
        events = [event.type for event in await kernel.log.events("test:1")]
        assert [events.count(kind) for kind in ("tool_started", "tool_call", "stream_end")] == [1, 1, 1]
        assert not await kernel.audit()


class Leaving(RecordingChannel):
    """Takes a message, and then the store goes away."""

    away: Away

    async def send(self, delivery: Delivery) -> Receipt:
        receipt = await super().send(delivery)
        self.away.times = 2
        return receipt


async def test_a_message_that_was_sent_is_known_to_be(database_url: str) -> None:
    away = Away(await open_database(database_url))
    channel = Leaving("test", idempotent=False)
    channel.away = away
    async with Kernel(away, agent=ScriptedAgent(), channels=[channel]) as kernel:
        working = asyncio.create_task(kernel.run())
        await kernel.sessions.open("test:1")
        promised = await kernel.scheduled_messages.add("test:1", "in 1 second", "Your flight leaves at noon.")
        await known_as_sent(kernel, promised.message.id)
        working.cancel()
        await asyncio.wait([working])
    await away.close()
    assert [delivery.content for delivery in channel.sent] == ["Your flight leaves at noon."]


class Unsure(ForwardingDatabase):
    """Loses the answer to a commit: the transaction is done, and the caller does not know."""

    lost = False

    async def run(self, begin: Begin[T]) -> T:
        result = await super().run(begin)
        if self.lost:
            raise Undecided("lost while it committed")
        return result


async def test_no_caller_is_told_that_a_message_will_not_be_sent_when_it_may_be(database_url: str) -> None:
    unsure = Unsure(await open_database(database_url))
    async with Kernel(unsure, agent=ScriptedAgent()) as kernel:
        await kernel.sessions.open("test:1")
        unsure.lost = True
        with pytest.raises(Undecided):
            await kernel.scheduled_messages.add("test:1", "in 1 hour", "Your flight leaves at noon.")
    await unsure.close()
