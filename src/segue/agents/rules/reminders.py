"""Reminders: each is a job, so that a conversation can have any number of them, once or recurring.

The agent must understand the job's message when it is due: `RULES` begins with a rule for it.
"""

import re
from collections.abc import Iterator

from segue.agents.rules.phrases import PHRASES, SpokenLanguage
from segue.agents.rules.rule import Move, Rule, RuleRequest, Use, rule
from segue.agents.rules.wishes import add_job, wish_in

_NEGATED = re.compile(r"(?:\bnot|\bnever|n['’]t|\bnicht|\bne|\bno|\bне|别|不要?)\s*$", re.IGNORECASE)


def _remind(language: SpokenLanguage) -> Move:
    phrases = PHRASES[language]

    async def move(request: RuleRequest, match: re.Match[str]) -> str | Use | None:
        if _NEGATED.search(match["before"]):
            return None
        wish = wish_in(f"{match['before']} {match['after']}", request, language, phrases.joining)
        if isinstance(wish, str) or not wish.topic:
            return f"{wish if isinstance(wish, str) else ''}{phrases.ask_for_reminder}"
        answers = (phrases.reminded, phrases.repeated)
        return await add_job(request, wish, phrases.reminder.format(topic=wish.topic), answers, language)

    return move


def _rules() -> Iterator[Rule]:
    for language, phrases in PHRASES.items():
        yield rule(
            rf"^\W*{phrases.polite}(?P<before>.{{0,100}}?)(?:{phrases.remind})(?P<after>.*)$",
            _remind(language),
            example="remind me in 10 minutes to drink water" if language == "en" else None,
            tool="cron",
        )


async def _write(request: RuleRequest, match: re.Match[str]) -> str:
    return match["reminder"]


_WRITTEN = "|".join(re.escape(phrases.reminder.format(topic="")) for phrases in PHRASES.values())

RULES = (rule(rf"^(?P<reminder>(?:{_WRITTEN}).+)$", _write), *_rules())
