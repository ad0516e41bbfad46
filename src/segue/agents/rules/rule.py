"""Rules of the offline agent: a pattern, and the function that answers a text that matches it."""

import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias
from zoneinfo import ZoneInfo

from segue.agents.rules.phrases import PHRASES, SpokenLanguage
from segue.agents.tools.registry import Toolbox
from segue.model.agent import OpenTurn, ToolCalled
from segue.record import positional, record
from segue.times.clock import to_moment

if TYPE_CHECKING:
    from segue.times.reader.finder import FoundTime


@record
class RuleRequest:
    """The text to answer, and the turn it belongs to."""

    turn: OpenTurn
    box: Toolbox
    zone: str | None
    """The zone of times that name none; None if the user must be asked for it."""
    earlier_text: str | None = None
    """Answered instead of the turn's text: an earlier message that waited for the time zone."""

    @property
    def text(self) -> str:
        """The text to answer. A job's message is the last paragraph of its turn's text."""
        if self.earlier_text is not None:
            return self.earlier_text
        text = self.turn.text.strip()
        return text if self.turn.source is None else text.rpartition("\n\n")[2]

    @property
    def now(self) -> datetime:
        return to_moment(self.box.context.kernel.clock.ms()).astimezone(ZoneInfo(self.zone or "UTC"))

    def find(self, words: str) -> "FoundTime":
        """Find the time in these words, read at the current time in the request's zone."""
        from segue.times.reader.finder import find  # its tables are large, and most turns do not need them

        return find(words, now=self.now, zone=self.zone)

    def why_unread(self, time: "FoundTime", language: SpokenLanguage = "en") -> str:
        """Return a sentence that says why nothing is scheduled; empty if the text names no time."""
        if time.passed:
            return PHRASES[language].past.format(phrase=time.phrase)
        if time.when is not None or not time.unread:
            return ""
        return PHRASES[language].unread.format(unread=time.unread, reason=time.reason)


@positional
class Use:
    """A tool to call, and a function from its result to the answer or the next tool."""

    tool: str
    arguments: Mapping[str, Any]
    then: "Callable[[ToolCalled], str | Use]"


Move: TypeAlias = Callable[[RuleRequest, re.Match[str]], Awaitable[str | Use | None]]
"""Returns the answer or the tool to use; None leaves the text to the next rule."""


@positional
class Rule:
    pattern: re.Pattern[str]
    move: Move
    example: str | None = None
    """A text that matches, shown in the answer to “what can you do?”."""
    tool: str | None = None
    """The tool that the rule needs."""


def rule(pattern: str, move: Move, *, example: str | None = None, tool: str | None = None) -> Rule:
    return Rule(re.compile(pattern, re.IGNORECASE), move, example, tool)
