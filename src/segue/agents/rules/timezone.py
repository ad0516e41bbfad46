"""Time zone: asks for the user's zone when a time needs it, and stores it with `set_timezone`.

The question is asked once. The request that needed the zone is handled as soon as the user has answered.
"""

import re

from segue.agents.rules.phrases import PHRASES
from segue.agents.rules.rule import RuleRequest, Use, rule
from segue.agents.rules.wishes import language_of
from segue.agents.tools.registry import SET_TIMEZONE
from segue.errors import ZoneNeeded
from segue.model.agent import ToolCalled
from segue.times.reader.places import zone_called

_QUESTION = PHRASES["en"].which_zone
_QUESTIONS = tuple(phrases.which_zone for phrases in PHRASES.values())
_AROUND = re.compile(
    r"^\W*(?:(?:i'm|i’m|i am|i live|it's|it’s|it is)\s+)?(?:in\s+)?(?=\w|[+-])|[\s.!。！]+$", re.I
)
_MESSAGES_SEARCHED = 20


def ask(request: RuleRequest, refused: ZoneNeeded) -> str:
    """Return the question if the answer can be stored, else the error."""
    if SET_TIMEZONE not in request.box.tools:
        return f"I cannot tell when that is: {refused}."
    return PHRASES[language_of(request.text)].which_zone


async def waiting(request: RuleRequest) -> str | None:
    """Return the request that waits for the zone, perhaps empty; None if the user was not asked for it.

    Answers that named no zone may stand between that request and the answer now.
    """
    question: str | None = None
    for message in reversed(await request.turn.history(_MESSAGES_SEARCHED)):
        if message.role != "user":
            if not message.content.endswith(_QUESTIONS):
                break
            question = message.content
        elif question in _QUESTIONS:
            return message.content
    return None if question is None else ""


def zone_in(answer: str) -> str | None:
    return zone_called(_AROUND.sub("", answer))


def unknown(answer: str) -> str:
    return f"I know no time zone called “{answer[:60]}”; name a large city near you. {_QUESTION}"


def keep(zone: str, after: str | Use | None = None) -> Use:
    """Store the zone, then continue with `after`."""
    stored = f"From now on I read times in {zone} here."

    def then(called: ToolCalled) -> str | Use:
        if called.error is not None:
            return f"That did not work: {called.error}."
        return stored if after is None else _after(stored, after)

    return Use(SET_TIMEZONE, {"timezone": zone}, then)


def _after(sentence: str, move: str | Use) -> str | Use:
    """The same move, with a sentence before its answer."""
    if isinstance(move, str):
        return f"{sentence} {move}"
    return Use(move.tool, move.arguments, lambda called: _after(sentence, move.then(called)))


async def _set(request: RuleRequest, match: re.Match[str]) -> str | Use:
    zone = zone_in(match["place"])
    return unknown(match["place"]) if zone is None else keep(zone)


RULES = (
    rule(
        r"^\W*(?:my\s+time\s?zone\s+is|set\s+(?:my|the)\s+time\s?zone\s+to)\s+(?P<place>.+)$",
        _set,
        example="my time zone is Europe/Berlin",
        tool=SET_TIMEZONE,
    ),
)
