"""Scheduled message tools: write a message now that is sent in this private chat at a later time.

Invariants
  - a message is for the conversation that the tool is called in; no argument can name another one
  - nothing is sent when the tool is called, and no model is asked when the message is due
  - a refused call changes nothing, and its error names one of the codes `not_private_chat`,
    `invalid_time`, `empty_text`, `storage_failure`
"""

import json
from collections.abc import Mapping
from typing import Any

from segue.agents.tools.arguments import flat
from segue.agents.tools.registry import Tool, ToolContext, ToolRefused
from segue.errors import NotFound, SegueError, StoreError
from segue.model.records import ScheduledMessage
from segue.model.schedule import local
from segue.model.states import MessageStatus
from segue.times.clock import to_moment
from segue.times.format import quoted

_MOST_LISTED = 50

_SCHEDULE = (
    "Write a message now that is sent to the user in this private chat at a time to come, word for word. You "
    "are not asked again then, so write it as it is to be read. The answer names its `task_id`. To move one, "
    "cancel it and write a new one, or use `replace_existing`. For work that you are to do later, use "
    "schedule_recall or cron instead."
)
_LIST = "The messages scheduled in this chat, newest first: what waits, was sent, failed or was cancelled."
_CANCEL = "Cancel a scheduled message of this chat that was not sent yet."

_SCHEDULE_PROPERTIES: Mapping[str, Mapping[str, Any]] = {
    "send_at": {
        "type": "string",
        "description": "when: '2027-03-03T18:00:00+01:00', 'tomorrow at 08:00', 'in 2 hours'. A time without "
        "a zone is the user's",
    },
    "message_text": {"type": "string", "description": "the words that are sent then"},
    "replace_existing": {
        "type": "boolean",
        "default": False,
        "description": "cancel every message that still waits in this chat; by default they stay",
    },
}
_LIST_PROPERTIES: Mapping[str, Mapping[str, Any]] = {
    "status": {"type": "string", "enum": [*MessageStatus], "description": "only these; all if left out"},
}
_CANCEL_PROPERTIES: Mapping[str, Mapping[str, Any]] = {
    "task_id": {"type": "string", "description": "which one, as list_scheduled_private_messages shows it"},
}


def message_tools() -> list[Tool]:
    return [
        Tool(
            name="schedule_private_message",
            description=_SCHEDULE,
            parameters=flat(_SCHEDULE_PROPERTIES, required=("send_at", "message_text")),
            run=_schedule,
            private=True,
        ),
        Tool(
            name="list_scheduled_private_messages",
            description=_LIST,
            parameters=flat(_LIST_PROPERTIES),
            run=_list,
            private=True,
        ),
        Tool(
            name="cancel_scheduled_private_message",
            description=_CANCEL,
            parameters=flat(_CANCEL_PROPERTIES, required=("task_id",)),
            run=_cancel,
            private=True,
        ),
    ]


async def _schedule(
    context: ToolContext, *, send_at: str, message_text: str, replace_existing: bool = False
) -> str:
    try:
        scheduled = await context.kernel.scheduled_messages.add(
            context.here.key,
            send_at,
            message_text,
            replace_existing=replace_existing,
            tool_call_id=context.call_id,
            owner=context.owner,
        )
    except StoreError as error:
        # The message of a StoreError may name files and servers, which the model must not see.
        raise ToolRefused(
            f"{error.code}: the message was not stored, so it will not be sent; try again, or tell the user"
        ) from error
    except SegueError as error:
        raise ToolRefused(f"{error.code}: {error}") from error
    result = _fields(scheduled.message, context) | {"replace_existing": replace_existing}
    if scheduled.cancelled:
        result["cancelled"] = list(scheduled.cancelled)
    return _text(result)


async def _list(context: ToolContext, *, status: str | None = None) -> str:
    messages = await context.kernel.scheduled_messages.list(
        context.here.key,
        status=None if status is None else MessageStatus(status),
        owner=context.owner,
        limit=_MOST_LISTED,
    )
    if not messages:
        return "No message is scheduled here." if status is None else f"No message here is {status}."
    return "\n".join(_text(_fields(one, context) | _outcome(one, context)) for one in messages)


async def _cancel(context: ToolContext, *, task_id: str) -> str:
    session = await context.kernel.sessions.get(context.here.key, owner=context.owner)
    try:
        message = await context.kernel.scheduled_messages.get(task_id, owner=context.owner)
    except NotFound:
        message = None
    if message is None or message.session_id != session.id:
        raise ToolRefused(
            f"message {quoted(task_id)} is not found here; "
            "list_scheduled_private_messages shows what there is"
        )
    cancelled = await context.kernel.scheduled_messages.cancel(
        task_id, tool_call_id=context.call_id, owner=context.owner
    )
    return _text(_fields(cancelled, context) | _outcome(cancelled, context))


def _fields(message: ScheduledMessage, context: ToolContext) -> dict[str, Any]:
    return {
        "task_id": message.id,
        "session_id": context.here.key,
        "send_at": _moment(message.send_at, context),
        "message_text": message.text,
    }


def _outcome(message: ScheduledMessage, context: ToolContext) -> dict[str, Any]:
    fields: dict[str, Any] = {"status": str(message.status)}
    if message.sent_at is not None:
        fields["sent_at"] = _moment(message.sent_at, context)
    if message.status is MessageStatus.FAILED:
        fields["last_error"] = message.last_error
    return fields


def _moment(ms: int, context: ToolContext) -> str:
    return local(to_moment(ms), context.zone).isoformat()


def _text(fields: Mapping[str, Any]) -> str:
    return json.dumps(fields, ensure_ascii=False)
