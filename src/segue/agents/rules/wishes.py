"""Wishes: what a user wants to happen later. Finds its time and its topic in a text, and makes the job."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from segue.agents.rules.phrases import PHRASES, SpokenLanguage
from segue.agents.rules.rule import RuleRequest, Use
from segue.agents.rules.spoken import spoken
from segue.errors import BadTrigger
from segue.model.agent import ToolCalled
from segue.model.conditions.spoken_conditions import split_condition
from segue.times.reader import Moment, When
from segue.times.reader.refusal import quoted
from segue.times.reader.triggers import trigger_of
from segue.times.trigger import Cron, Every, RRule, Trigger, resolve

_AROUND = " .,;:!?–-，：。！？"
_MOST_IN_NAME = 100


class Wish(NamedTuple):
    when: When
    phrase: str
    """The words that name the time."""
    topic: str
    unless: str | None = None
    """Its condition: `answered`, `done`, or none."""


def wish_in(words: str, request: RuleRequest, language: SpokenLanguage, joining: str) -> Wish | str:
    """Return the time and the topic, in either order; or a sentence why no time was found, perhaps empty.

    `joining`: the pattern of what may stand before the topic and does not belong to it.
    """
    words, unless = split_condition(words)
    time = request.find(words)
    if time.when is None or time.passed:
        offer = _offer_of_tomorrow(words, request) if language == "en" else ""
        return request.why_unread(time, language) + offer
    before, _, after = words.strip(_AROUND).partition(time.phrase.rstrip("."))
    topic = " ".join((*before.split(), *after.lstrip(_AROUND).split()))
    topic = re.sub(rf"^{joining}[\s,]*", "", topic, flags=re.IGNORECASE)
    return Wish(time.when, time.phrase, topic, unless)


def _offer_of_tomorrow(words: str, request: RuleRequest) -> str:
    """For a time of today that is past: the words for the same time tomorrow, if they are read as that."""
    phrase = request.find(words).phrase
    offered = "tomorrow " + re.sub(r"^today\s+", "", phrase)
    again = request.find(offered) if phrase else None
    if again is None or again.passed or not isinstance(again.when, Moment):
        return ""
    return f"For tomorrow, write {quoted(words.strip().replace(phrase, offered))}. "


async def add_job(
    request: RuleRequest, wish: Wish, message: str, answers: tuple[str, str], language: SpokenLanguage
) -> str | Use:
    """Make the job of a wish. `answers`: what is said of one that runs once, and of a recurring one."""
    context = request.box.context
    schedule: Mapping[str, Any]
    if isinstance(wish.when, Moment):
        answer, first, schedule = answers[0], wish.when.at, {"at": wish.when.at.isoformat()}
    else:
        try:
            trigger = trigger_of(wish.when, days=await context.kernel.days.of_session(context.here))
            applied = await context.kernel.days.applied(trigger, owner=context.owner)
            first = resolve(applied, now=request.now, zone=None).next_after(request.now) or request.now
        except BadTrigger as error:
            return f"I scheduled nothing: {error}."
        answer, schedule = answers[1], _schedule(trigger)

    def then(called: ToolCalled) -> str:
        if called.error is not None:
            return f"That did not work: {called.error}."
        when = spoken(first, request.now, language)
        said = answer.format(when=when, phrase=wish.phrase, topic=wish.topic)
        return said if wish.unless is None else f"{said} {PHRASES[language].unless[wish.unless]}"

    arguments = {"action": "add", "name": wish.topic[:_MOST_IN_NAME], "message": message, **schedule}
    if wish.unless is not None:
        arguments["unless"] = wish.unless
    return Use("cron", arguments, then)


def _schedule(trigger: Trigger) -> Mapping[str, Any]:
    match trigger:
        case Every(interval=interval):
            return {"every_seconds": round(interval.total_seconds())}
        case Cron(expr=expr, tz=zone, days=days):
            return {"cron_expr": expr, "tz": zone, **({"days": days} if days else {})}
        case RRule(rrule=rule, start=start, tz=zone):
            return {"rrule": rule, "start": start.isoformat(timespec="minutes"), "tz": zone}
        case _:
            raise AssertionError("one moment is no schedule")


def language_of(text: str) -> SpokenLanguage:
    """The language of a request that one of the patterns recognises; else English."""
    for language, phrases in PHRASES.items():
        asks = rf"{phrases.remind}|^\W*{phrases.polite}(?:{phrases.often}|{phrases.tasks})"
        if re.search(asks, text, re.IGNORECASE):
            return language
    return "en"
