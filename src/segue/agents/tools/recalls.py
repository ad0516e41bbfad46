"""`schedule_recall` and `manage_recall` tools: the agent schedules a turn for itself in this conversation.

Invariants
  - a recall is set in the conversation that the tool is called in; no argument can name another one
  - `manage_recall` may name another session of the same user; other users' sessions are not found
  - a refused call changes nothing
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from segue.agents.tools.arguments import flat
from segue.agents.tools.instructions import RULE, lazy
from segue.agents.tools.registry import Tool, ToolContext, ToolRefused
from segue.model.records import Recall
from segue.model.schedule import local
from segue.model.states import CallType, RecallStatus
from segue.times.clock import to_moment
from segue.times.format import quoted
from segue.times.reader import explain

_MOST_LISTED = 50

_SCHEDULE = (
    "Call yourself back into this conversation, to go on working without being asked: check a build in half "
    "an hour, poll a page every five minutes, continue a long job right after this turn. When the time has "
    "come you get a turn here, with the conversation and your instruction before you, and your tools. There "
    "is one pending recall here: cancel it with manage_recall before you set another. A recall may set the "
    "next one. "
    f"About additional_context_message: {RULE}"
)
_MANAGE = (
    "The recall of this conversation. cancel: it will not fire; do this before you set a new one. "
    "skip: let the next time of a recurring one go by. list: all recalls, pending, fired and cancelled."
)

_SCHEDULE_PROPERTIES: Mapping[str, Mapping[str, Any]] = {
    "call_type": {
        "type": "string",
        "enum": [*CallType],
        "description": "once, recurring, or immediate: right after this turn",
    },
    "when": {
        "type": "string",
        "description": "for once and recurring, the (first) time. Prefer relative ones: '30m', '2h 15m', "
        "'in 3 hours', 'tomorrow at 09:00'. ISO 8601 only if the zone is known",
    },
    "timezone_offset": {
        "type": "string",
        "description": "±HH:MM, for a time on the clock, if the user's zone is known",
    },
    "interval_seconds": {
        "type": "integer",
        "description": "for recurring: seconds from one firing to the next",
    },
    "internal_comment": {"type": "string", "description": "a short note for people"},
    "additional_context_message": {
        "type": "string",
        "description": "your instruction to yourself, a todo that names tools, files or URLs",
    },
}
_MANAGE_PROPERTIES: Mapping[str, Mapping[str, Any]] = {
    "action": {"type": "string", "enum": ["cancel", "skip", "list"], "description": "what to do"},
    "session_id": {
        "type": "string",
        "description": "another session of this user, by its key; this conversation if left out",
    },
}


def recall_tools() -> list[Tool]:
    return [
        Tool(
            name="schedule_recall",
            description=_SCHEDULE,
            parameters=flat(_SCHEDULE_PROPERTIES, required=("call_type", "additional_context_message")),
            run=_schedule,
        ),
        Tool(
            name="manage_recall",
            description=_MANAGE,
            parameters=flat(_MANAGE_PROPERTIES, required=("action",)),
            run=_manage,
        ),
    ]


async def _schedule(
    context: ToolContext, *, call_type: str, additional_context_message: str, **given: Any
) -> str:
    if not additional_context_message.strip():
        raise ToolRefused(f"`additional_context_message` is empty. {RULE}")
    if lazy(additional_context_message):
        raise ToolRefused(f"nothing was set: that instruction gives you nothing to do. {RULE}")
    # Models fill unused arguments with empty strings.
    given = {name: value for name, value in given.items() if value != ""}
    recall = await context.kernel.recalls.add(
        context.here.key,
        additional_context_message,
        call_type=call_type,
        when=given.get("when"),
        timezone_offset=given.get("timezone_offset"),
        interval_seconds=given.get("interval_seconds"),
        comment=given.get("internal_comment"),
        set_in=context.source,
        owner=context.owner,
    )
    return f"Set. {_describe(recall, context)}"


async def _manage(context: ToolContext, *, action: str, session_id: str = "") -> str:
    return await _ACTIONS[action](context, session_id or context.here.key)


async def _cancel(context: ToolContext, key: str) -> str:
    await context.kernel.recalls.cancel(key, owner=context.owner)
    return f"Cancelled. No recall is pending in {key} now."


async def _skip(context: ToolContext, key: str) -> str:
    return f"Skipped. {_describe(await context.kernel.recalls.skip(key, owner=context.owner), context)}"


async def _list(context: ToolContext, key: str) -> str:
    recalls = await context.kernel.recalls.list(key, owner=context.owner, limit=_MOST_LISTED)
    if not recalls:
        return f"No recall was ever set in {key}."
    return "\n".join(_describe(recall, context) for recall in recalls)


_ACTIONS: Mapping[str, Callable[[ToolContext, str], Awaitable[str]]] = {
    "cancel": _cancel,
    "skip": _skip,
    "list": _list,
}


def _describe(recall: Recall, context: ToolContext) -> str:
    """Describe the recall: id, type, status, time with offset, interval and comment."""
    at = to_moment(recall.trigger_at)
    moment = at.isoformat(timespec="seconds")
    if recall.status in (RecallStatus.PENDING, RecallStatus.RUNNING):
        moment = f"{moment}, {explain(local(at, context.zone), to_moment(context.kernel.clock.ms()))}"
    repeats = f", then every {recall.interval_seconds:g} s" if recall.interval_seconds else ""
    about = recall.comment or recall.instruction
    return f"Recall {recall.id} ({recall.call_type}, {recall.status}): {moment}{repeats}. {quoted(about)}"
