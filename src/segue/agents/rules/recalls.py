"""Coming back to something later: the rules that call `schedule_recall` and `manage_recall`.

What this model leaves for itself it must understand again when it is called back: `RULES` has a rule for each
of the instructions that are written here.
"""

import re
from datetime import datetime
from typing import NamedTuple

from segue.agents.rules.rule import Heard, Use, rule
from segue.model.agent import ToolCalled
from segue.times.reader import Moment, explain

_URL = re.compile(r"[a-z][a-z0-9+.-]*://[^\s\"'`”]+", re.IGNORECASE)
_FILE = re.compile(r"(?:\bfile\s+)?[\"'`]?(?P<path>[\w./-]*\w\.[a-z][a-z0-9]{1,5})\b", re.IGNORECASE)
_JOINING = re.compile(r"^(?:to|that|about|of|on|at|with|for|whether|if)\b\s*", re.IGNORECASE)
_CHINESE = re.compile(r"[\u3400-\u9fff]")
_ASKS = r"^\W*(?:please\s+|(?:can|could|will|would)\s+you\s+(?:please\s+)?)?"


class _Errand(NamedTuple):
    when: str
    moment: datetime
    about: str


def _errand(words: str, heard: Heard) -> _Errand | str:
    """A time and what it is about, whichever comes first; else why no time was read, if there is a reason."""
    found = heard.find(words)
    if not isinstance(found.when, Moment) or found.passed:
        return heard.why_unread(found)
    before, _, after = words.rstrip(" .!?。！？").partition(found.phrase.rstrip("."))
    about = " ".join((*before.split(), *after.lstrip(" .,;:").split()))
    return _Errand(found.phrase, found.when.at, _JOINING.sub("", about))


async def _remind(heard: Heard, found: re.Match[str]) -> str | Use:
    errand = _errand(found["words"], heard)
    if isinstance(errand, str) or not errand.about:
        why = errand if isinstance(errand, str) else ""
        return f"{why}When, and of what? Say it like “remind me in 10 minutes to drink water”."
    instruction = (
        f"Todo: write here “Reminder: {errand.about}.” The user asked for it at {heard.now:%H:%M}. If the "
        "conversation shows that it is done or called off, say that instead."
    )
    return _recall(heard, errand, instruction)


async def _remind_in_chinese(heard: Heard, found: re.Match[str]) -> str | Use:
    errand = _errand_in_chinese(found, heard)
    if isinstance(errand, str) or not errand.about:
        why = errand if isinstance(errand, str) else ""
        return f"{why}什么时候，提醒什么？比如：“10分钟后提醒我喝水”。"
    return _recall(heard, errand, f"待办：在这里写“提醒：{errand.about}。”")


async def _back_in_chinese(heard: Heard, found: re.Match[str]) -> str | Use:
    errand = _errand_in_chinese(found, heard)
    if isinstance(errand, str):
        return f"{errand}什么时候回来？比如：“2分钟后回来告诉我现在几点”。"
    return _recall(heard, errand, f"待办：回到“{errand.about or '刚才的话'}”。")


def _errand_in_chinese(found: re.Match[str], heard: Heard) -> _Errand | str:
    """There the time stands before the verb, and what it is about after it."""
    when = heard.find(found["when"])
    if not isinstance(when.when, Moment) or when.passed:
        return heard.why_unread(when, chinese=True)
    return _Errand(when.phrase, when.when.at, found["about"].strip(" ，,：:。！？!?"))


async def _check_back(heard: Heard, found: re.Match[str]) -> str | Use:
    errand = _errand(found["words"], heard)
    if isinstance(errand, str):
        return f"{errand}When? Say it like “check back in 2 hours on https://example.org”."
    return _recall(heard, errand, _looked_up(errand.about, heard))


def _looked_up(about: str, heard: Heard) -> str:
    """What is to be done then, with the tool for it where one is meant."""
    if url := _URL.search(about):
        return f"Fetch {url[0]} with fetch_url, and report what it says."
    if path := _FILE.search(about):
        return f"Call read_file and report what it says: read file {path['path']}"
    return (
        f"Todo: go back to “{about or 'what was said last'}”. Look through this conversation for what was "
        f"said of it since {heard.now:%H:%M}, and write here what is still open."
    )


def _recall(heard: Heard, errand: _Errand, instruction: str) -> Use:
    arguments = {
        "call_type": "once",
        "when": errand.when,
        "timezone_offset": _offset(errand.moment),
        "internal_comment": errand.about or "check back",
        "additional_context_message": instruction,
    }

    def then(called: ToolCalled) -> str:
        if called.error is not None:
            return f"That did not work: {called.error}"
        if _CHINESE.search(errand.when):
            return f"好的，{errand.moment:%m月%d日 %H:%M} 我会回来：{errand.about or '看看有没有新情况'}。"
        about = f" about “{errand.about}”" if errand.about else ""
        return f"I will be back{about}: {explain(errand.moment, heard.now)}."

    return Use("schedule_recall", arguments, then)


def _offset(moment: datetime) -> str:
    text = f"{moment:%z}"
    return f"{text[:3]}:{text[3:5]}"


async def cancel(heard: Heard, found: re.Match[str]) -> Use:
    def then(called: ToolCalled) -> str:
        if called.error is not None:
            return f"There is nothing to cancel: {called.error}."
        return "It is cancelled."

    return Use("manage_recall", {"action": "cancel"}, then)


async def _write_reminder(heard: Heard, found: re.Match[str]) -> str:
    return found["reminder"]


async def _tell_time_in_chinese(heard: Heard, found: re.Match[str]) -> str:
    return f"现在是 {heard.now:%H:%M}，我回来了：{found['about']}。"


async def _go_back(heard: Heard, found: re.Match[str]) -> str:
    written = [message.content for message in await heard.turn.history() if message.source is None]
    last = f" What was said last: “{written[-1][:200]}”" if written else ""
    return f"It is {heard.now:%H:%M}, and I am back about “{found['about']}”.{last}"


RULES = (
    rule(r"^Todo: write here “(?P<reminder>Reminder: .*?)” The user asked", _write_reminder),
    rule(r"^Todo: go back to “(?P<about>.*?)”\. Look through", _go_back),
    rule(r"^待办：在这里写“(?P<reminder>提醒：.*)”$", _write_reminder),
    rule(r"^待办：回到“(?P<about>.*)”。$", _tell_time_in_chinese),
    rule(r"^(?P<when>[^，,。]*?)[，,]?\s*(?:请)?(?:提醒|叫)我(?P<about>.*)$", _remind_in_chinese),
    rule(
        r"^(?P<when>[^，,。]*?(?:后|点|分|天))[，,]?\s*(?:请)?(?:回来|再来|再)(?P<about>.*)$",
        _back_in_chinese,
    ),
    rule(
        _ASKS + r"remind\s+me\s+(?P<words>.+)$",
        _remind,
        example="remind me in 10 minutes to drink water",
        tool="schedule_recall",
    ),
    rule(
        _ASKS + r"(?:check\s+back|come\s+back|look\s+again|follow\s+up)\s+(?P<words>.+)$",
        _check_back,
        example="check back in 2 hours on https://example.org",
        tool="schedule_recall",
    ),
    rule(
        _ASKS + r"(?:cancel|forget|drop)\s+(?:the|that|this|my)(?:\s+(?:recall|reminder|callback))?\W*$",
        cancel,
        example="cancel that reminder",
        tool="manage_recall",
    ),
)
