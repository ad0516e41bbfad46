"""Recalls: the rules that call `schedule_recall` and `manage_recall`, to look at something again later.

The agent must understand its own instruction when the recall fires: `RULES` has a rule for each instruction
that is written here.
"""

import re
from datetime import datetime
from typing import NamedTuple

from segue.agents.rules.phrases import ASKS, PHRASES, SpokenLanguage
from segue.agents.rules.rule import RuleRequest, Use, rule
from segue.agents.rules.spoken import spoken
from segue.agents.rules.wishes import wish_in
from segue.model.agent import ToolCalled
from segue.times.reader import Moment

_URL = re.compile(r"[a-z][a-z0-9+.-]*://[^\s\"'`”]+", re.IGNORECASE)
_FILE = re.compile(r"(?:\bfile\s+)?[\"'`]?(?P<path>[\w./-]*\w\.[a-z][a-z0-9]{1,5})\b", re.IGNORECASE)


class _Return(NamedTuple):
    phrase: str
    moment: datetime
    topic: str


def _return_in(words: str, request: RuleRequest, language: SpokenLanguage) -> _Return | str:
    """Return the moment and the topic; or a sentence why no moment was found, perhaps empty."""
    wish = wish_in(words, request, language, PHRASES[language].joining)
    if isinstance(wish, str):
        return wish
    return _Return(wish.phrase, wish.when.at, wish.topic) if isinstance(wish.when, Moment) else ""


async def _back_in_chinese(request: RuleRequest, match: re.Match[str]) -> str | Use:
    back = _return_in(f"{match['when']} {match['about']}", request, "zh")
    if isinstance(back, str):
        return f"{back}什么时候回来？比如：“2分钟后回来告诉我现在几点”。"
    return _recall(request, back, f"待办：回到“{back.topic or '刚才的话'}”。", "zh")


async def _back_in_german(request: RuleRequest, match: re.Match[str]) -> str | Use:
    back = _return_in(f"{match['when']} {match['about']}", request, "de")
    if isinstance(back, str):
        return f"{back}Wann? Zum Beispiel: „komm in 2 Minuten zurück und sag mir die Zeit“."
    topic = re.sub(r"^und\s+", "", back.topic)
    return _recall(
        request, back._replace(topic=topic), f"Aufgabe: zurück zu „{topic or 'dem Letzten'}“.", "de"
    )


async def _check_back(request: RuleRequest, match: re.Match[str]) -> str | Use:
    back = _return_in(match["words"], request, "en")
    if isinstance(back, str):
        return f"{back}When? Say it like “check back in 2 hours on https://example.org”."
    return _recall(request, back, _instruction(back.topic, request))


def _instruction(about: str, request: RuleRequest) -> str:
    """Return the instruction for the recall, with the tool to use if a URL or a file is named."""
    if url := _URL.search(about):
        return f"Fetch {url[0]} with fetch_url, and report what it says."
    if path := _FILE.search(about):
        return f"Call read_file and report what it says: read file {path['path']}"
    return (
        f"Todo: go back to “{about or 'what was said last'}”. Look through this conversation for what was "
        f"said of it since {request.now:%H:%M}, and write here what is still open."
    )


def _recall(request: RuleRequest, back: _Return, instruction: str, language: SpokenLanguage = "en") -> Use:
    arguments = {
        "call_type": "once",
        "when": back.phrase,
        "timezone_offset": _offset(back.moment),
        "internal_comment": back.topic or "check back",
        "additional_context_message": instruction,
    }

    def then(called: ToolCalled) -> str:
        if called.error is not None:
            return _why_not(called.error)
        when = spoken(back.moment, request.now, language)
        if language == "zh":
            return f"好的，{when} 我会回来：{back.topic or '看看有没有新情况'}。"
        if language == "de":
            return f"Ich bin {when} wieder da: {back.topic or 'nachsehen'}."
        about = f" about “{back.topic}”" if back.topic else ""
        return f"I will be back{about} {when}."

    return Use("schedule_recall", arguments, then)


def _why_not(error: str) -> str:
    """One recall waits in a conversation; reminders are jobs, and any number of them wait."""
    if "pending recall already" in error:
        return (
            "I am already coming back here once, and that is all I can keep in mind. Cancel it, or write "
            "“remind me …”: of reminders there may be any number."
        )
    return f"That did not work: {error}."


def _offset(moment: datetime) -> str:
    text = f"{moment:%z}"
    return f"{text[:3]}:{text[3:5]}"


async def cancel(request: RuleRequest, match: re.Match[str]) -> Use:
    def then(called: ToolCalled) -> str:
        if called.error is not None:
            return "There is nothing to cancel."
        return "It is cancelled."

    return Use("manage_recall", {"action": "cancel"}, then)


async def _tell_time_in_chinese(request: RuleRequest, match: re.Match[str]) -> str:
    return f"现在是 {request.now:%H:%M}，我回来了：{match['about']}。"


async def _tell_time_in_german(request: RuleRequest, match: re.Match[str]) -> str:
    return f"Es ist {request.now:%H:%M}, und ich bin wieder da: {match['about']}."


async def _go_back(request: RuleRequest, match: re.Match[str]) -> str:
    written = [message.content for message in await request.turn.history() if message.source is None]
    last = f" What was said last: “{written[-1][:200]}”" if written else ""
    return f"It is {request.now:%H:%M}, and I am back about “{match['about']}”.{last}"


RULES = (
    rule(r"^Todo: go back to “(?P<about>.*?)”\. Look through", _go_back),
    rule(r"^待办：回到“(?P<about>.*)”。$", _tell_time_in_chinese),
    rule(r"^Aufgabe: zurück zu „(?P<about>.*)“\.$", _tell_time_in_german),
    rule(r"^\W*(?:bitte\s+)?komm\s+(?P<when>.+?)\s+zurück(?P<about>.*)$", _back_in_german),
    rule(
        r"^(?P<when>[^，,。]*?(?:后|点|分|天))[，,]?\s*(?:请)?(?:回来|再来|再)(?P<about>.*)$",
        _back_in_chinese,
    ),
    rule(
        ASKS + r"(?:check\s+back|come\s+back|look\s+again|follow\s+up)\s+(?P<words>.+)$",
        _check_back,
        example="check back in 2 hours on https://example.org",
        tool="schedule_recall",
    ),
    rule(
        ASKS + r"(?:cancel|forget|drop)\s+(?:the|that|this|my)\s+(?:recall|callback)\W*$",
        cancel,
        example="cancel the recall",
        tool="manage_recall",
    ),
)
