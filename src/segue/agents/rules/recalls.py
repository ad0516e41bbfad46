"""Reminders: the rules that call `schedule_recall` and `manage_recall`.

The agent must understand its own instruction when the recall fires: `RULES` has a rule for each instruction
that is written here.
"""

import re
from datetime import datetime
from typing import NamedTuple

from segue.agents.rules.rule import RuleRequest, Use, rule
from segue.model.agent import ToolCalled
from segue.times.reader import Moment, explain

_URL = re.compile(r"[a-z][a-z0-9+.-]*://[^\s\"'`”]+", re.IGNORECASE)
_FILE = re.compile(r"(?:\bfile\s+)?[\"'`]?(?P<path>[\w./-]*\w\.[a-z][a-z0-9]{1,5})\b", re.IGNORECASE)
_JOINING = re.compile(r"^(?:to|that|about|of|on|at|with|for|whether|if)\b\s*", re.IGNORECASE)
_CHINESE = re.compile(r"[\u3400-\u9fff]")
_ASKS = r"^\W*(?:please\s+|(?:can|could|will|would)\s+you\s+(?:please\s+)?)?"


class _Reminder(NamedTuple):
    when: str
    moment: datetime
    topic: str


def _reminder(words: str, request: RuleRequest) -> _Reminder | str:
    """Return the time and the topic, in either order; or a sentence why no time was found, perhaps empty."""
    time = request.find(words)
    if not isinstance(time.when, Moment) or time.passed:
        return request.why_unread(time)
    before, _, after = words.rstrip(" .!?。！？").partition(time.phrase.rstrip("."))
    about = " ".join((*before.split(), *after.lstrip(" .,;:").split()))
    return _Reminder(time.phrase, time.when.at, _JOINING.sub("", about))


async def _remind(request: RuleRequest, match: re.Match[str]) -> str | Use:
    reminder = _reminder(match["words"], request)
    if isinstance(reminder, str) or not reminder.topic:
        why = reminder if isinstance(reminder, str) else ""
        return f"{why}When, and of what? Say it like “remind me in 10 minutes to drink water”."
    instruction = (
        f"Todo: write here “Reminder: {reminder.topic}.” The user asked for it at {request.now:%H:%M}. If "
        "the conversation shows that it is done or called off, say that instead."
    )
    return _recall(request, reminder, instruction)


async def _remind_in_chinese(request: RuleRequest, match: re.Match[str]) -> str | Use:
    reminder = _reminder_in_chinese(match, request)
    if isinstance(reminder, str) or not reminder.topic:
        why = reminder if isinstance(reminder, str) else ""
        return f"{why}什么时候，提醒什么？比如：“10分钟后提醒我喝水”。"
    return _recall(request, reminder, f"待办：在这里写“提醒：{reminder.topic}。”")


async def _back_in_chinese(request: RuleRequest, match: re.Match[str]) -> str | Use:
    reminder = _reminder_in_chinese(match, request)
    if isinstance(reminder, str):
        return f"{reminder}什么时候回来？比如：“2分钟后回来告诉我现在几点”。"
    return _recall(request, reminder, f"待办：回到“{reminder.topic or '刚才的话'}”。")


def _reminder_in_chinese(match: re.Match[str], request: RuleRequest) -> _Reminder | str:
    """Like `_reminder`: in Chinese the time stands before the verb, and the topic after it."""
    time = request.find(match["when"])
    if not isinstance(time.when, Moment) or time.passed:
        return request.why_unread(time, chinese=True)
    return _Reminder(time.phrase, time.when.at, match["about"].strip(" ，,：:。！？!?"))


async def _check_back(request: RuleRequest, match: re.Match[str]) -> str | Use:
    reminder = _reminder(match["words"], request)
    if isinstance(reminder, str):
        return f"{reminder}When? Say it like “check back in 2 hours on https://example.org”."
    return _recall(request, reminder, _instruction(reminder.topic, request))


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


def _recall(request: RuleRequest, reminder: _Reminder, instruction: str) -> Use:
    arguments = {
        "call_type": "once",
        "when": reminder.when,
        "timezone_offset": _offset(reminder.moment),
        "internal_comment": reminder.topic or "check back",
        "additional_context_message": instruction,
    }

    def then(called: ToolCalled) -> str:
        if called.error is not None:
            return f"That did not work: {called.error}"
        if _CHINESE.search(reminder.when):
            return (
                f"好的，{reminder.moment:%m月%d日 %H:%M} 我会回来：{reminder.topic or '看看有没有新情况'}。"
            )
        about = f" about “{reminder.topic}”" if reminder.topic else ""
        return f"I will be back{about}: {explain(reminder.moment, request.now)}."

    return Use("schedule_recall", arguments, then)


def _offset(moment: datetime) -> str:
    text = f"{moment:%z}"
    return f"{text[:3]}:{text[3:5]}"


async def cancel(request: RuleRequest, match: re.Match[str]) -> Use:
    def then(called: ToolCalled) -> str:
        if called.error is not None:
            return f"There is nothing to cancel: {called.error}."
        return "It is cancelled."

    return Use("manage_recall", {"action": "cancel"}, then)


async def _write_reminder(request: RuleRequest, match: re.Match[str]) -> str:
    return match["reminder"]


async def _tell_time_in_chinese(request: RuleRequest, match: re.Match[str]) -> str:
    return f"现在是 {request.now:%H:%M}，我回来了：{match['about']}。"


async def _go_back(request: RuleRequest, match: re.Match[str]) -> str:
    written = [message.content for message in await request.turn.history() if message.source is None]
    last = f" What was said last: “{written[-1][:200]}”" if written else ""
    return f"It is {request.now:%H:%M}, and I am back about “{match['about']}”.{last}"


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
