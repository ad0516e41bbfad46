"""The user's time zone: asked for when a time on the clock needs it, and kept by `set_timezone`.

The question is asked once. What the user wanted is done as soon as they have answered it.
"""

import re

from segue.agents.rules.rule import Heard, Use, rule
from segue.agents.tools.registry import SET_TIMEZONE
from segue.errors import ZoneNeeded
from segue.model.agent import ToolCalled
from segue.times.reader.places import zone_called

_QUESTION = "Which city or time zone are you in? Answer for example “Berlin”, “Europe/Berlin” or “UTC+2”."
_QUESTION_IN_CHINESE = "你在哪个时区？请回答例如“Asia/Shanghai”、“Tokyo”或“UTC+8”。"
_QUESTIONS = (_QUESTION, _QUESTION_IN_CHINESE)
_CHINESE = re.compile(r"[\u3400-\u9fff]")
_AROUND = re.compile(
    r"^\W*(?:(?:i'm|i’m|i am|i live|it's|it’s|it is)\s+)?(?:in\s+)?(?=\w|[+-])|[\s.!。！]+$", re.I
)
_LOOKED_AT = 20


def ask(heard: Heard, refused: ZoneNeeded) -> str:
    """The question, where the answer can be kept; else what was refused."""
    if SET_TIMEZONE not in heard.box.tools:
        return f"I cannot tell when that is: {refused}."
    return _QUESTION_IN_CHINESE if _CHINESE.search(heard.text) else _QUESTION


async def waiting(heard: Heard) -> str | None:
    """What the user wanted when they were asked for their zone, perhaps nothing; None if they were not asked.

    Answers that named no zone stand between what they wanted and their answer now.
    """
    asked: str | None = None
    for message in reversed(await heard.turn.history(_LOOKED_AT)):
        if message.role != "user":
            if not message.content.endswith(_QUESTIONS):
                break
            asked = message.content
        elif asked in _QUESTIONS:
            return message.content
    return None if asked is None else ""


def zone_in(answer: str) -> str | None:
    return zone_called(_AROUND.sub("", answer))


def unknown(answer: str) -> str:
    return f"I know no time zone called “{answer[:60]}”; name a large city near you. {_QUESTION}"


def keep(zone: str, after: str | Use | None = None) -> Use:
    """Keep it, and go on with what was wanted."""

    def then(called: ToolCalled) -> str | Use:
        if called.error is not None:
            return f"That did not work: {called.error}."
        return f"From now on I read times in {zone} here." if after is None else after

    return Use(SET_TIMEZONE, {"timezone": zone}, then)


async def _set(heard: Heard, found: re.Match[str]) -> str | Use:
    zone = zone_in(found["place"])
    return unknown(found["place"]) if zone is None else keep(zone)


RULES = (
    rule(
        r"^\W*(?:my\s+time\s?zone\s+is|set\s+(?:my|the)\s+time\s?zone\s+to)\s+(?P<place>.+)$",
        _set,
        example="my time zone is Europe/Berlin",
        tool=SET_TIMEZONE,
    ),
)
