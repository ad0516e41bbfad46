"""What a rule is: a pattern, and what to do about it."""

import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias
from zoneinfo import ZoneInfo

from segue.agents.tools.registry import Toolbox
from segue.model.agent import OpenTurn, ToolCalled
from segue.record import positional, record
from segue.times.clock import to_moment
from segue.times.reader.refusal import quoted

if TYPE_CHECKING:
    from segue.times.reader.finder import FoundTime


@record
class Heard:
    """What was said, and where."""

    turn: OpenTurn
    box: Toolbox
    zone: str | None
    """That of a time that names none; None: the user has to be asked for it."""
    said: str | None = None
    """What is answered in place of the turn's text: the words before, which waited for something."""

    @property
    def text(self) -> str:
        """A job's message is the last paragraph of what its turn is asked."""
        if self.said is not None:
            return self.said
        asked = self.turn.text.strip()
        return asked if self.turn.source is None else asked.rpartition("\n\n")[2]

    @property
    def now(self) -> datetime:
        return to_moment(self.box.context.kernel.clock.ms()).astimezone(ZoneInfo(self.zone or "UTC"))

    def find(self, words: str) -> "FoundTime":
        """The time in these words, as it is read here."""
        from segue.times.reader.finder import find  # its tables are large, and most turns never need them

        return find(words, now=self.now, zone=self.zone)

    def why_unread(self, found: "FoundTime", *, chinese: bool = False) -> str:
        """Why nothing is scheduled, as a sentence before another; empty if there is no time."""
        if found.passed:
            return (
                f"“{found.phrase}”已经过去了，什么都没有安排。"
                if chinese
                else f"{quoted(found.phrase)} is past, so I scheduled nothing. "
            )
        if found.when is not None or not found.unread:
            return ""
        if chinese:
            return f"我没读懂“{found.unread}”，什么都没有安排。"
        return f"I scheduled nothing: {found.reason}. "


@positional
class Use:
    """A tool to call, and what to say or do after it."""

    tool: str
    arguments: Mapping[str, Any]
    then: "Callable[[ToolCalled], str | Use]"


Move: TypeAlias = Callable[[Heard, re.Match[str]], Awaitable[str | Use]]


@positional
class Rule:
    pattern: re.Pattern[str]
    move: Move
    example: str | None = None
    """What a user may write, as `what can you do` shows it."""
    tool: str | None = None
    """The tool that it is of no use without."""


def rule(pattern: str, move: Move, *, example: str | None = None, tool: str | None = None) -> Rule:
    return Rule(re.compile(pattern, re.IGNORECASE), move, example, tool)
