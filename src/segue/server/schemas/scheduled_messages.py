"""Schemas of scheduled messages and deliveries, and conversions from records."""

from typing import Literal, cast

from pydantic import BaseModel, ConfigDict, Field

from segue.kernel.api.scheduled_messages import MessageScheduled
from segue.model.records import Delivery, ScheduledMessage
from segue.model.text_checks import MAX_NAME, MAX_TEXT
from segue.server.schemas.body import Body
from segue.server.schemas.common import Moment, TimesZone
from segue.server.schemas.views import maybe_moment, moment

Status = Literal["pending", "sent", "cancelled", "failed"]


class ScheduleMessage(Body):
    send_at: str = Field(
        max_length=MAX_NAME, description="RFC 3339, or words: `tomorrow at 08:00`, `in 2 hours`."
    )
    message_text: str = Field(max_length=MAX_TEXT, description="Sent word for word.")
    timezone: TimesZone = None
    replace_existing: bool = Field(
        False, strict=True, description="Cancel all pending messages of this session."
    )

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"send_at": "tomorrow at 08:00", "message_text": "Your flight leaves at noon."}]
        },
    )


class MessageScheduledOut(BaseModel):
    task_id: str
    session_id: str = Field(description="The session's key.", examples=["websocket:3f2a"])
    send_at: Moment
    message_text: str
    replace_existing: bool
    cancelled: list[str] = Field(description="The ids of the messages that this one replaced.")


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
        description="The channel's id of the message; without a channel, Segue's id of the message."
    )
    sent_at: Moment | None
    last_error: str | None
    replace_existing: bool


class ScheduledMessagesOut(BaseModel):
    messages: list[ScheduledMessageOut]
    next_cursor: str | None


class DeliveryOut(BaseModel):
    id: str
    run_id: str | None = Field(description="The run, if a job sent the message.")
    turn_id: str | None = Field(description="The turn, if it is the answer of a turn.")
    content: str
    state: Status
    attempt: int = Field(description="Number of attempts.")
    created_at: Moment
    not_before: Moment = Field(description="When a pending delivery is tried next.")
    sent_at: Moment | None
    sent_message_id: str | None = Field(
        description="The channel's id of the message; without a channel, Segue's id of the message."
    )
    error: str | None
    held_until: Moment | None = Field(description="Set while it collects answers: when it is sent.")
    joins: str | None = Field(description="The delivery that carries it: answers that are sent together.")


class DeliveriesOut(BaseModel):
    deliveries: list[DeliveryOut]


def delivery(record: Delivery) -> DeliveryOut:
    return DeliveryOut(
        id=record.id,
        run_id=record.run_id,
        turn_id=record.turn_id,
        content=record.content,
        state=cast(Status, str(record.state)),
        attempt=record.attempt,
        created_at=moment(record.created_at),
        not_before=moment(record.not_before),
        sent_at=maybe_moment(record.sent_at),
        sent_message_id=record.sent_message_id,
        error=record.error,
        held_until=maybe_moment(record.held_until),
        joins=record.joins,
    )


def message_scheduled(record: MessageScheduled, session_key: str) -> MessageScheduledOut:
    return MessageScheduledOut(
        task_id=record.message.id,
        session_id=session_key,
        send_at=moment(record.message.send_at),
        message_text=record.message.text,
        replace_existing=record.message.replace_existing,
        cancelled=list(record.cancelled),
    )


def scheduled_message(record: ScheduledMessage, session_key: str) -> ScheduledMessageOut:
    return ScheduledMessageOut(
        task_id=record.id,
        session_id=session_key,
        chat_type=cast(Literal["private", "group"], record.chat_type),
        message_text=record.text,
        send_at=moment(record.send_at),
        status=cast(Status, str(record.status)),
        created_at=moment(record.created_at),
        updated_at=moment(record.updated_at),
        created_by_tool_call_id=record.created_by_tool_call_id,
        cancelled_by_tool_call_id=record.cancelled_by_tool_call_id,
        sent_message_id=record.sent_message_id,
        sent_at=maybe_moment(record.sent_at),
        last_error=record.last_error,
        replace_existing=record.replace_existing,
    )
