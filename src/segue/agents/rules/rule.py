"""What a rule is: a pattern, and what to do about it."""

import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

from segue.agent import OpenTurn, ToolCalled
from segue.clock import to_moment
from segue.record import positional, record
from segue.tools.registry import Toolbox


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
