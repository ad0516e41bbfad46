"""A stopped turn ends within a second of its own event loop, while the provider's answer never ends.

The wall clock is no verdict: the tests run beside others on a busy machine. The loop's own time is counted
instead, by a timer that fires every hundredth of a second. A busy machine makes it fire less often; an
adapter that waits for something lets it fire on. The kernel's clock stands still: no timer of Segue helps.
"""

import asyncio

import pytest

from segue import Outcome
from segue.testing.agent_parts import CHAT
from segue.testing.scripted_provider import says
from segue.testing.wire_formats import Waits
from tests.adapters.making import FRAMEWORKS, opened
from tests.adapters.test_claude import clean_environment

__all__ = ["clean_environment"]

TICK_SECONDS = 0.01


class Ticks:
    """Counts hundredths of a second in which the event loop could work."""

    def __init__(self) -> None:
        self.count = 0
        self._loop = asyncio.get_running_loop()
        self._next = self._loop.call_later(TICK_SECONDS, self._tick)

    def _tick(self) -> None:
        self.count += 1
        self._next = self._loop.call_later(TICK_SECONDS, self._tick)

    def end(self) -> int:
        self._next.cancel()
        return self.count


@pytest.mark.parametrize("name", [name for name in FRAMEWORKS if name != "claude"])
async def test_a_stop_does_not_wait_for_the_provider(name: str) -> None:
    """Claude Code is another process, with a time of its own: see the check `stop`."""
    never = Waits()
    async with opened(name) as trial:
        trial.provider.script(says("One ", never, "two."))
        async with trial.running():
            asked = await trial.kernel.receive(CHAT, "Count.")
            await trial.provider.waiting.wait()
            before, ticks = trial.clock.ms(), Ticks()
            await trial.kernel.turns.stop(CHAT)
            turn = await trial.kernel.wait(asked.turn_id)
            hundredths = ticks.end()
            await trial.provider.left.wait()
        assert turn.outcome is Outcome.STOPPED
        assert not never.gate.is_set()
        assert trial.clock.ms() == before
        assert hundredths <= 100
