"""The offline model: a table of rules that needs no key and no network.

It is there so that a newcomer sees every feature really happen, and it says what it is. It understands
little; what it understands it really does, with the same tools that a large model would call.
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from itertools import count
from typing import Any, Self

from segue.agents.rules import RULES, timezone
from segue.agents.rules.rule import Heard, Use
from segue.agents.tools.registry import Registry, ToolContext
from segue.errors import ZoneNeeded
from segue.kernel.kernel import Kernel
from segue.model.agent import Delta, OpenTurn, Text, Usage

_MOST_USES = 10
"""Tools in one answer; a rule that wants more is wrong."""


class OfflineAgent:
    reports_tools = True

    def __init__(self, tools: Registry, kernel_of: Callable[[], Kernel]) -> None:
        self._tools = tools
        self._kernel_of = kernel_of

    async def __aenter__(self) -> Self:
        await self._tools.__aenter__()
        return self

    async def __aexit__(self, *raised: Any) -> None:
        await self._tools.__aexit__(*raised)

    async def answer(self, turn: OpenTurn) -> AsyncIterator[Delta | str]:
        box = await self._tools.open(ToolContext.of(turn, self._kernel_of()))
        heard = Heard(turn=turn, box=box, zone=box.context.zone)
        move = await _first_move(heard)
        for number in count(1):
            if isinstance(move, str) or number > _MOST_USES:
                break
            call = box.prepare(f"{turn.id}-{number}", move.tool, move.arguments)
            yield call.started
            called = await call.run()
            yield called
            move = move.then(called)
        for word in words(move if isinstance(move, str) else "I lost the thread there."):
            yield Text(word)
        yield Usage({"model": "offline"})


async def _first_move(heard: Heard) -> str | Use:
    """By the first rule that understands. The last one understands everything."""
    wanted = None if heard.zone else await timezone.waiting(heard)
    if wanted is not None and (named := timezone.zone_in(heard.text)):
        return timezone.keep(
            named, await _first_move(replace(heard, zone=named, said=wanted)) if wanted else None
        )
    for rule in RULES:
        if found := rule.pattern.search(heard.text):
            if wanted is not None and rule is RULES[-1]:
                return timezone.unknown(heard.text)
            try:
                return await rule.move(heard, found)
            except ZoneNeeded as refused:
                return timezone.ask(heard, refused)
    raise AssertionError("the last rule understands everything")


def words(text: str) -> list[str]:
    """The text in pieces that end where a word ends; together they are the text."""
    pieces: list[str] = []
    for line in text.splitlines(keepends=True):
        pieces += line.replace(" ", " \0").split("\0")
    return [piece for piece in pieces if piece]
