"""Scheduled messages: texts that are written now and sent later."""

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any

from segue.errors import BadTime, EmptyText, NotPrivateChat, NotStored, StoreError, Undecided
from segue.kernel.api.context import OPERATOR, ApiContext, SessionRef
from segue.kernel.transactions import jobs, scheduled_messages
from segue.kernel.transactions.idempotency import Request, run_once
from segue.kernel.transactions.result import Result
from segue.kernel.transactions.scheduled_messages import NewMessage, ScheduledMessageFields
from segue.model.action import Say
from segue.model.records import NEWEST, Asker, PageStart, ScheduledMessage
from segue.model.states import JobKind, MessageStatus
from segue.model.text_checks import check_text
from segue.record import record
from segue.store.database import Transaction
from segue.times.clock import to_moment
from segue.times.trigger import At


@record
class MessageScheduled:
    """A scheduled message, and the ids of the messages that it replaced."""

    message: ScheduledMessage
    cancelled: tuple[str, ...] = ()


class ScheduledMessagesApi:
    """Texts that are written now and sent later: `kernel.scheduled_messages`."""

    def __init__(self, context: ApiContext) -> None:
        self._context = context

    async def add(
        self,
        key: SessionRef,
        send_at: str,
        text: str,
        *,
        timezone: str | None = None,
        replace_existing: bool = False,
        tool_call_id: str | None = None,
        owner: Asker = OPERATOR,
        request: Request | None = None,
    ) -> MessageScheduled:
        """Schedules a text to be sent in a private chat.

        `timezone` is for a `send_at` that names no zone. Returns the `message`, and in `cancelled` the ids of
        the messages that it replaced. Raises `NotPrivateChat`, `BadTime`, `ZoneNeeded`, `EmptyText`,
        `BadText`, `NotStored`, `NotFound`.
        """
        context = self._context
        session = await context.session(key, owner)
        if session.chat_type != "private":
            raise NotPrivateChat(
                f"{session.key} is a group; messages are scheduled in chats with one person only. Say it "
                "there now, or schedule it in a private chat"
            )
        if not text.strip():
            raise EmptyText("the message is empty; write the words that are to be sent")
        check_text(text, "the message")
        now = context.clock.ms()
        job = context.draft(
            session,
            At(_moment(send_at, now, context.zone_in(session, timezone))),
            Say(text),
            now,
            policy=scheduled_messages.POLICY,
            kind=JobKind.MESSAGE,
            owner=session.owner,
        )
        message_fields = ScheduledMessageFields(
            chat_type=session.chat_type, replace_existing=replace_existing, tool_call_id=tool_call_id
        )
        work = partial(
            scheduled_messages.create,
            session.owner,
            session.key,
            job,
            message_fields,
            new_session_id=session.id,
        )
        try:
            created = await context.store.commit(
                run_once, request, work, now, keep=_to_json, again=_from_json
            )
        except Undecided:
            raise
        except StoreError as error:
            raise NotStored(f"the message was not stored, so it will not be sent: {error}") from error
        new = context.announce(created)
        return MessageScheduled(
            message=await context.store.scheduled_message(new.job.id), cancelled=tuple(new.replaced)
        )

    async def get(self, message_id: str, *, owner: Asker = OPERATOR) -> ScheduledMessage:
        """Returns the `ScheduledMessage` of an id. Raises `NotFound`."""
        message = await self._context.store.scheduled_message(message_id)
        await self._context.session_of(message.session_id, owner, f"scheduled message {message_id}")
        return message

    async def cancel(
        self, message_id: str, *, tool_call_id: str | None = None, owner: Asker = OPERATOR
    ) -> ScheduledMessage:
        """Cancels a scheduled message: it is not sent after this returns. Returns the `ScheduledMessage`.

        Raises `AlreadyStarted` when it is being sent or was sent, failed or cancelled before; `NotFound`.
        """
        context = self._context
        message = await self.get(message_id, owner=owner)
        cancelled = await context.store.commit(
            scheduled_messages.cancel, message.session_id, message_id, tool_call_id, context.clock.ms()
        )
        context.announce(cancelled)
        return await context.store.scheduled_message(message_id)

    async def list(
        self,
        key: SessionRef,
        *,
        status: MessageStatus | None = None,
        owner: Asker = OPERATOR,
        limit: int = 100,
        before: PageStart = NEWEST,
    ) -> list[ScheduledMessage]:
        """Returns a session's scheduled messages, newest first, of any status or of one. Raises `NotFound`.

        `before` is the `page_start` of the last one of the previous page.
        """
        session = await self._context.session(key, owner)
        return await self._context.store.scheduled_messages(
            session.id, status=status, limit=limit, before=before
        )


def _moment(send_at: str, now: int, zone: str | None) -> datetime:
    from segue.times.reader import read  # the grammar is large, and most processes never need it

    moment = read(send_at, now=to_moment(now), zone=zone)
    if moment <= to_moment(now):
        raise BadTime(f"{send_at!r} has passed; a message is sent in the future")
    return moment


def _to_json(created: Result[NewMessage]) -> Mapping[str, Any]:
    return {"job_id": created.value.job.id}


def _from_json(data: Mapping[str, Any]) -> Transaction[Result[NewMessage]]:
    job = yield from jobs.load(data["job_id"])
    return Result(value=NewMessage(job, (yield from scheduled_messages.replaced(job))))
