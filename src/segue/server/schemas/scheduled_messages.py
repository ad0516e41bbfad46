"""Scheduled messages at the edge: their shapes, and how the kernel's records become them."""

from typing import Literal, cast

from pydantic import BaseModel, ConfigDict, Field

from segue.kernel.api.scheduled_messages import MessageScheduled
from segue.model.records import Delivery, ScheduledMessage
from segue.model.text_checks import MAX_NAME, MAX_TEXT
from segue.server.schemas.common import Body, Moment, TimesZone
from segue.server.schemas.views import maybe_moment, moment

Status = Literal["pending", "sent", "cancelled", "failed"]


class ScheduleMessage(Body):
    send_at: str = Field(
        max_length=MAX_NAME, description="RFC 3339, or words: `tomorrow at 08:00`, `in 2 hours`."
    )
    message_text: str = Field(max_length=MAX_TEXT, description="Sent word for word.")
    timezone: TimesZone = None
    replace_existing: bool = Field(False, strict=True, description="Cancels all that wait in this session.")

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"send_at": "tomorrow at 08:00", "message_text": "Your flight leaves at noon."}]
        },
    )


class PromisedOut(BaseModel):
    task_id: str
    session_id: str = Field(description="The session's key.", examples=["websocket:3f2a"])
    send_at: Moment
    message_text: str
    replace_existing: bool
    cancelled: list[str] = Field(description="The messages that were cancelled for this one.")


class ScheduledMessageOut(BaseModel):
    task_id: str
    session_id: str = Field(description="The session's key.", examples=["websocket:3f2a"])
    chat_type: Literal["private", "group"]
    message_text: str
    send_at: Moment
    status: Status
    created_at: Moment
    updated_at: Moment
    created_by_tool_call_id: str | None
    cancelled_by_tool_call_id: str | None
    sent_message_id: str | None = Field(
        description="The channel's own id for it; in a chat that is read here, the id of the message."
    )
    sent_at: Moment | None
    last_error: str | None
    replace_existing: bool


class ScheduledMessagesOut(BaseModel):
    messages: list[ScheduledMessageOut]
    next_cursor: str | None


class DeliveryOut(BaseModel):
    id: str
    run_id: str | None = Field(description="Of a message that a job said.")
    turn_id: str | None = Field(description="Of a turn's answer.")
    content: str
    state: Status
    attempt: int = Field(description="How often it was tried.")
    created_at: Moment
    not_before: Moment = Field(description="When it is tried next, while it is pending.")
    sent_at: Moment | None
    sent_message_id: str | None = Field(
        description="The channel's own id for it; in a chat that is read here, the id of the message."
    )
    error: str | None


class DeliveriesOut(BaseModel):
    deliveries: list[DeliveryOut]


def delivery(there: Delivery) -> DeliveryOut:
    return DeliveryOut(
        id=there.id,
        run_id=there.run_id,
        turn_id=there.turn_id,
        content=there.content,
        state=cast(Status, str(there.state)),
        attempt=there.attempt,
        created_at=moment(there.created_at),
        not_before=moment(there.not_before),
        sent_at=maybe_moment(there.sent_at),
        sent_message_id=there.sent_message_id,
        error=there.error,
    )


def promised(there: MessageScheduled, session_key: str) -> PromisedOut:
    return PromisedOut(
        task_id=there.message.id,
        session_id=session_key,
        send_at=moment(there.message.send_at),
        message_text=there.message.text,
        replace_existing=there.message.replace_existing,
        cancelled=list(there.cancelled),
    )


def scheduled_message(there: ScheduledMessage, session_key: str) -> ScheduledMessageOut:
    return ScheduledMessageOut(
        task_id=there.id,
        session_id=session_key,
        chat_type=cast(Literal["private", "group"], there.chat_type),
        message_text=there.text,
        send_at=moment(there.send_at),
        status=cast(Status, str(there.status)),
        created_at=moment(there.created_at),
        updated_at=moment(there.updated_at),
        created_by_tool_call_id=there.created_by_tool_call_id,
        cancelled_by_tool_call_id=there.cancelled_by_tool_call_id,
        sent_message_id=there.sent_message_id,
        sent_at=maybe_moment(there.sent_at),
        last_error=there.last_error,
        replace_existing=there.replace_existing,
    )
