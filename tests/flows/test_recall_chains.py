"""A recall may set the next one, but chains of recalls are limited."""

from typing import Any

import pytest

from segue import Kernel, Source
from segue.errors import TooManyRecalls
from segue.kernel.transactions.recalls import DEEPEST, MOST_AN_HOUR
from segue.testing import ManualClock, ScriptedAgent, quiet
from tests.flows.story import CHAT, count_rows

CHECK = "Read build.log with read_file and report errors."


async def begin(kernel: Kernel) -> None:
    await kernel.log.write(CHAT, "user", "Watch the build.")


async def chain(kernel: Kernel, agent: ScriptedAgent, links: list[dict[str, Any]]) -> list[str | None]:
    """Each is set from within the run of the one before; what was said against it, or None."""
    source: Source | None = None
    said: list[str | None] = []
    for link in links:
        try:
            await kernel.recalls.add(CHAT, CHECK, set_in=source, **link)
        except TooManyRecalls as refused:
            said.append(str(refused))
            break
        said.append(None)
        await quiet(kernel)
        source = agent.asked[-1].turn.source
    return said


async def test_immediate_ones_may_set_each_other_five_deep_and_not_deeper(
    kernel: Kernel, agent: ScriptedAgent
) -> None:
    await begin(kernel)
    said = await chain(kernel, agent, [{"call_type": "immediate"}] * (DEEPEST + 1))
    assert said[:-1] == [None] * DEEPEST
    assert "5 immediate recalls in web:1 have set each other, which is the most" in (said[-1] or "")
    assert len(agent.asked) == DEEPEST


async def test_one_that_was_refused_left_nothing_behind(kernel: Kernel, agent: ScriptedAgent) -> None:
    await begin(kernel)
    await chain(kernel, agent, [{"call_type": "immediate"}] * DEEPEST)
    before = await count_rows(kernel)
    with pytest.raises(TooManyRecalls):
        await kernel.recalls.add(CHAT, CHECK, call_type="immediate", set_in=agent.asked[-1].turn.source)
    assert await count_rows(kernel) == before
    assert await kernel.recalls.get(CHAT) is None


async def test_the_depth_is_known_to_another_process(
    kernel: Kernel, agent: ScriptedAgent, open_kernel: Any
) -> None:
    """It is a fact of the store, not of a process."""
    await begin(kernel)
    await chain(kernel, agent, [{"call_type": "immediate"}] * DEEPEST)
    other = await open_kernel()
    with pytest.raises(TooManyRecalls, match="have set each other"):
        await other.recalls.add(CHAT, CHECK, call_type="immediate", set_in=agent.asked[-1].turn.source)


async def test_a_later_one_from_the_deepest_is_allowed_and_starts_a_new_chain(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    await begin(kernel)
    await chain(kernel, agent, [{"call_type": "immediate"}] * DEEPEST)
    await kernel.recalls.add(CHAT, CHECK, when="1m", set_in=agent.asked[-1].turn.source)
    clock.advance(minutes=1)
    await quiet(kernel)
    await kernel.recalls.add(CHAT, CHECK, call_type="immediate", set_in=agent.asked[-1].turn.source)
    assert await kernel.recalls.get(CHAT) is not None


async def test_a_user_begins_a_new_chain(kernel: Kernel, agent: ScriptedAgent) -> None:
    await begin(kernel)
    await chain(kernel, agent, [{"call_type": "immediate"}] * DEEPEST)
    await kernel.recalls.add(CHAT, CHECK, call_type="immediate")
    assert await kernel.recalls.get(CHAT) is not None


async def test_twenty_may_be_set_within_an_hour_and_not_one_more(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    await begin(kernel)
    for _ in range(MOST_AN_HOUR):
        await kernel.recalls.add(CHAT, CHECK, when="1m")
        clock.advance(minutes=1)
        await quiet(kernel)
    with pytest.raises(TooManyRecalls, match="20 recalls were set in web:1 within an hour"):
        await kernel.recalls.add(CHAT, CHECK, when="1m")
    assert len(agent.asked) == MOST_AN_HOUR
    await kernel.log.write("web:2", "user", "Hello.")
    await kernel.recalls.add("web:2", CHECK, when="1m")


async def test_an_hour_later_recalls_may_be_set_again(kernel: Kernel, clock: ManualClock) -> None:
    await begin(kernel)
    for _ in range(MOST_AN_HOUR):
        await kernel.recalls.add(CHAT, CHECK, when="1m")
        await kernel.recalls.cancel(CHAT)
    clock.advance(hours=1)
    await kernel.recalls.add(CHAT, CHECK, when="1m")
    assert await kernel.recalls.get(CHAT) is not None
