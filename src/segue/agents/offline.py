"""Offline agent: answers by a table of rules, without a key or a network.

It lets a new user try every feature, and says that it is no language model. It understands little, but calls
the same tools that a language model would call.
"""

from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import count
from typing import Any, Self

from segue.agents.rules import RULES, timezone
from segue.agents.rules.rule import RuleRequest, Use
from segue.agents.tools.registry import Registry, ToolContext
from segue.errors import ZoneNeeded
from segue.model.agent import Delta, OpenTurn, Text, Usage

_MOST_USES = 10
"""Tool calls in one answer; a rule that needs more has a bug."""


class OfflineAgent:
    reports_tools = True

    def __init__(self, tools: Registry) -> None:
        self._tools = tools

    async def __aenter__(self) -> Self:
        await self._tools.__aenter__()
        return self

    async def __aexit__(self, *raised: Any) -> None:
        await self._tools.__aexit__(*raised)

    async def answer(self, turn: OpenTurn) -> AsyncIterator[Delta | str]:
        box = await self._tools.open(ToolContext.of(turn))
        request = RuleRequest(turn=turn, box=box, zone=box.context.zone)
        move = await _first_move(request)
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


async def _first_move(request: RuleRequest) -> str | Use:
    """Return the answer or the tool to use, by the first rule that matches. The last rule always does."""
    waiting = None if request.zone else await timezone.waiting(request)
    if waiting is not None and (zone := timezone.zone_in(request.text)):
        resumed = replace(request, zone=zone, earlier_text=waiting)
        return timezone.keep(zone, await _first_move(resumed) if waiting else None)
    for rule in RULES:
        if match := rule.pattern.search(request.text):
            if waiting is not None and rule is RULES[-1]:
                return timezone.unknown(request.text)
            try:
                move = await rule.move(request, match)
            except ZoneNeeded as refused:
                return timezone.ask(request, refused)
            if move is not None:
                return move
    raise AssertionError("the last rule matches everything")


def words(text: str) -> list[str]:
    """Split the text into pieces that end after a word. Joined, they are the text."""
    pieces: list[str] = []
    for line in text.splitlines(keepends=True):
        pieces += line.replace(" ", " \0").split("\0")
    return [piece for piece in pieces if piece]
