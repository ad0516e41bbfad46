"""Reminders: each is a job that runs once, so that a conversation can have any number of them.

The agent must understand the job's message when it is due: `RULES` begins with a rule for it.
"""

import re
from datetime import datetime
from typing import NamedTuple

from segue.agents.rules.rule import RuleRequest, Use, rule
from segue.agents.rules.spoken import SpokenLanguage, spoken
from segue.model.agent import ToolCalled
from segue.times.reader import Moment
from segue.times.reader.refusal import quoted

ASKS = r"^\W*(?:please\s+|(?:can|could|will|would)\s+you\s+(?:please\s+)?)?"
_ASKS_IN_GERMAN = r"^\W*(?:bitte\s+|(?:kannst|könntest)\s+du\s+(?:bitte\s+)?)?"
_JOINING = re.compile(
    r"^(?:to|that|about|of|on|at|with|for|whether|if|an|ans|daran|dass|zu)\b[\s,]*", re.IGNORECASE
)
_MOST_IN_NAME = 100
_WRITTEN = {"en": "Reminder: {topic}", "de": "Erinnerung: {topic}", "zh": "提醒：{topic}"}
_CONFIRMED = {
    "en": "I will remind you {when}: {topic}.",
    "de": "Ich erinnere Sie {when}: {topic}.",
    "zh": "好的，{when} 提醒你：{topic}。",
}
_ASKED_BACK = {
    "en": "When, and of what? Say it like “remind me in 10 minutes to drink water”.",
    "de": "Wann, und woran? Zum Beispiel: „erinnere mich in 10 Minuten daran, Wasser zu trinken“.",
    "zh": "什么时候，提醒什么？比如：“10分钟后提醒我喝水”。",
}


class Reminder(NamedTuple):
    when: str
    moment: datetime
    topic: str


def reminder_in(words: str, request: RuleRequest) -> Reminder | str:
    """Return the time and the topic, in either order; or a sentence why no time was found, perhaps empty."""
    time = request.find(words)
    if not isinstance(time.when, Moment) or time.passed:
        return request.why_unread(time) + _offer_of_tomorrow(words, request)
    before, _, after = words.rstrip(" .!?。！？").partition(time.phrase.rstrip("."))
    about = " ".join((*before.split(), *after.lstrip(" .,;:").split()))
    return Reminder(time.phrase, time.when.at, _JOINING.sub("", about))


def reminder_in_chinese(match: re.Match[str], request: RuleRequest) -> Reminder | str:
    """Like `reminder_in`: in Chinese the time stands before the verb, and the topic after it."""
    time = request.find(match["when"])
    if not isinstance(time.when, Moment) or time.passed:
        return request.why_unread(time, chinese=True)
    return Reminder(time.phrase, time.when.at, match["about"].strip(" ，,：:。！？!?"))


def _offer_of_tomorrow(words: str, request: RuleRequest) -> str:
    """For a time of today that is past: the words for the same time tomorrow, if they are read as that."""
    phrase = request.find(words).phrase
    offered = "tomorrow " + re.sub(r"^today\s+", "", phrase)
    again = request.find(offered) if phrase else None
    if again is None or again.passed or not isinstance(again.when, Moment):
        return ""
    return f"For tomorrow, write {quoted(words.replace(phrase, offered))}. "


async def _remind(request: RuleRequest, match: re.Match[str]) -> str | Use:
    return _add(request, reminder_in(match["words"], request), "en")


async def _remind_in_german(request: RuleRequest, match: re.Match[str]) -> str | Use:
    return _add(request, reminder_in(match["words"], request), "de")


async def _remind_in_chinese(request: RuleRequest, match: re.Match[str]) -> str | Use:
    return _add(request, reminder_in_chinese(match, request), "zh")


def _add(request: RuleRequest, reminder: Reminder | str, language: SpokenLanguage) -> str | Use:
    if isinstance(reminder, str) or not reminder.topic:
        why = reminder if isinstance(reminder, str) else ""
        return f"{why}{_ASKED_BACK[language]}"
    topic = reminder.topic
    arguments = {
        "action": "add",
        "name": topic[:_MOST_IN_NAME],
        "message": _WRITTEN[language].format(topic=topic),
        "at": reminder.moment.isoformat(),
    }

    def then(called: ToolCalled) -> str:
        if called.error is not None:
            return f"That did not work: {called.error}."
        when = spoken(reminder.moment, request.now, language)
        return _CONFIRMED[language].format(when=when, topic=topic)

    return Use("cron", arguments, then)


async def _write(request: RuleRequest, match: re.Match[str]) -> str:
    return match["reminder"]


RULES = (
    rule(r"^(?P<reminder>(?:Reminder: |Erinnerung: |提醒：).+)$", _write),
    rule(r"^(?P<when>[^，,。]*?)[，,]?\s*(?:请)?(?:提醒|叫)我(?P<about>.*)$", _remind_in_chinese),
    rule(_ASKS_IN_GERMAN + r"erinner\w*\s+mich\s+(?P<words>.+)$", _remind_in_german),
    rule(
        ASKS + r"remind\s+me\s+(?P<words>(?!.*\bevery\s).+)$",
        _remind,
        example="remind me in 10 minutes to drink water",
        tool="cron",
    ),
)
