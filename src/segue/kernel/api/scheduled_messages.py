"""Scheduled messages: texts that are written now and sent later."""

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any

from segue.errors import BadTime, EmptyText, NotFound, NotPrivateChat, NotStored, StoreError, Undecided
from segue.kernel.api.base import OPERATOR
from segue.kernel.api.job_changes import JobsBase
from segue.kernel.transactions import jobs, scheduled_messages
from segue.kernel.transactions.idempotency import Request, run_once
from segue.kernel.transactions.result import Result
from segue.kernel.transactions.scheduled_messages import NewMessage, ScheduledMessageFields
from segue.model.action import Say
from segue.model.records import NEWEST, Asker, Place, ScheduledMessage
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


class ScheduledMessagesApi(JobsBase):
    async def schedule_message(
        self,
        key: str,
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
        session = await self.session(key, owner=owner)
        if session.chat_type != "private":
            raise NotPrivateChat(
                f"{key} is a group; messages are scheduled in chats with one person only. Say it there now, "
                "or schedule it in a private chat"
            )
        if not text.strip():
            raise EmptyText("the message is empty; write the words that are to be sent")
        check_text(text, "the message")
        now = self.clock.ms()
        job = self._draft(
            session,
            At(_moment(send_at, now, self.zone_in(session, timezone))),
            Say(text),
            now,
            policy=scheduled_messages.POLICY,
            kind=JobKind.MESSAGE,
            account=session.owner.account,
        )
        message_fields = ScheduledMessageFields(
            chat_type=session.chat_type, replace_existing=replace_existing, tool_call_id=tool_call_id
        )
        work = partial(
            scheduled_messages.create, session.owner, key, job, message_fields, new_session_id=session.id
        )
        try:
            created = await self.store.commit(run_once, request, work, now, keep=_to_json, again=_from_json)
        except Undecided:
            raise
        except StoreError as error:
            raise NotStored(f"the message was not stored, so it will not be sent: {error}") from error
        new = self.workers.context.announce(created)
        return MessageScheduled(
            message=await self.store.scheduled_message(new.job.id), cancelled=tuple(new.replaced)
        )

    async def scheduled_message(self, message_id: str, *, owner: Asker = OPERATOR) -> ScheduledMessage:
        """Returns the `ScheduledMessage` of an id. Raises `NotFound`."""
        message = await self.store.scheduled_message(message_id)
        if not owner.reaches((await self.store.session_by_id(message.session_id)).owner):
            raise NotFound(f"there is no scheduled message {message_id}")
        return message

    async def scheduled_messages(
        self,
        key: str,
        *,
        status: MessageStatus | None = None,
        owner: Asker = OPERATOR,
        limit: int = 100,
        before: Place = NEWEST,
    ) -> list[ScheduledMessage]:
        """Returns a session's scheduled messages, newest first, of any status or of one. Raises `NotFound`.

        `before` is the `place` of the last one of the previous page.
        """
        session = await self.session(key, owner=owner)
        return await self.store.scheduled_messages(session.id, status=status, limit=limit, before=before)

    async def cancel_message(
        self, message_id: str, *, tool_call_id: str | None = None, owner: Asker = OPERATOR
    ) -> ScheduledMessage:
        """Cancels a scheduled message: it is not sent after this returns. Returns the `ScheduledMessage`.

        Raises `AlreadyStarted` when it is being sent or was sent, failed or cancelled before; `NotFound`.
        """
        message = await self.scheduled_message(message_id, owner=owner)
        cancelled = await self.store.commit(
            scheduled_messages.cancel, message.session_id, message_id, tool_call_id, self.clock.ms()
        )
        self.workers.context.announce(cancelled)
        return await self.store.scheduled_message(message_id)


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
