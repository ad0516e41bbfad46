"""Scheduled messages: the rules that call `schedule_private_message`."""

import re

from segue.agents.rules.phrases import ASKS
from segue.agents.rules.rule import RuleRequest, Use, rule
from segue.agents.rules.spoken import spoken
from segue.errors import BadTime, ZoneNeeded
from segue.model.agent import ToolCalled
from segue.times.reader import read


async def _tell(request: RuleRequest, match: re.Match[str]) -> str | Use:
    when, words = match["when"].strip(), match["words"].strip()
    try:
        moment = read(when, now=request.now, zone=request.zone)
    except ZoneNeeded:
        raise
    except BadTime as error:
        return f"I cannot tell when that is: {error}."
    message = f"{words[:1].upper()}{words[1:]}"

    def then(called: ToolCalled) -> str:
        if called.error is not None:
            return f"That did not work: {called.error}"
        return f"I will write “{message}” here {spoken(moment, request.now)}."

    arguments = {"send_at": moment.isoformat(), "message_text": message}
    return Use("schedule_private_message", arguments, then)


async def _waiting(request: RuleRequest, match: re.Match[str]) -> Use:
    def then(called: ToolCalled) -> str:
        return called.error or called.result or ""

    return Use("list_scheduled_private_messages", {"status": "pending"}, then)


RULES = (
    rule(
        ASKS + r"(?:tell|write|message)\s+me\s+(?P<when>.+?)(?:\s+that\s+|\s*,\s*|\s*:\s+)(?P<words>.+)$",
        _tell,
        example="tell me at 18:00 that the shop closes soon",
        tool="schedule_private_message",
    ),
    rule(
        ASKS + r"(?:list|show)\s+(?:me\s+)?(?:my\s+|the\s+)?(?:scheduled\s+|waiting\s+)messages\W*$",
        _waiting,
        example="list scheduled messages",
        tool="list_scheduled_private_messages",
    ),
)
