"""Log: reads and follows a session's events and messages, and stores messages without a turn."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from segue.errors import BadSetting, BadText
from segue.kernel.api.context import OPERATOR, ApiContext, SessionRef
from segue.kernel.api.files import FileRef, FilesApi
from segue.kernel.live.follow import follow
from segue.kernel.live.hub import LiveText
from segue.kernel.transactions import deliveries, sessions
from segue.kernel.transactions.idempotency import Request
from segue.kernel.transactions.result import Name, Result
from segue.kernel.transactions.sessions import UNSET, MaybePolicy, StoredMessages, WrittenMessage
from segue.model.files import File, text_of
from segue.model.records import Asker, Delivery, Event, Session, Source
from segue.model.text_checks import check_key, check_text
from segue.model.transcript import Message, message_of
from segue.store.database import Transaction

_ROLES = ("user", "assistant", "system")

MOST_AT_ONCE = 100
"""Messages in one write."""

MessageFields: TypeAlias = tuple[str, str] | tuple[str, str, Sequence[FileRef]]
"""A role, a text, and the files that belong to it."""


class LogApi:
    """What happened in a session, and what was said: `kernel.log`."""

    def __init__(self, context: ApiContext, files: FilesApi) -> None:
        self._context = context
        self._files = files

    async def messages(
        self, key: SessionRef, *, owner: Asker = OPERATOR, after: int = 0, limit: int = 100
    ) -> list[Message]:
        """Returns the messages of the transcript after the event number `after`, oldest first.

        Raises `NotFound`.
        """
        session = await self._context.session(key, owner)
        return _messages_in(await self._context.store.messages(session.id, after=after, limit=limit))

    async def newest(self, key: SessionRef, *, owner: Asker = OPERATOR, limit: int = 100) -> list[Message]:
        """Returns the newest messages of the transcript, oldest first. Raises `NotFound`."""
        session = await self._context.session(key, owner)
        store = self._context.store
        # Twice as many, because they include the events for the start and the end of turns.
        events = await store.newest_events(session.id, before=session.last_seq + 1, limit=2 * limit)
        seqs = [message.seq for message in _messages_in(events)][-limit:]
        if not seqs:
            return []
        return _messages_in(await store.messages(session.id, after=seqs[0] - 1, limit=limit))

    async def events(
        self, key: SessionRef, *, owner: Asker = OPERATOR, after: int = 0, limit: int = 100
    ) -> list[Event]:
        """Returns the events of the log after the event number `after`, oldest first. Raises `NotFound`."""
        session = await self._context.session(key, owner)
        return await self._context.store.events(session.id, after=after, limit=limit)

    async def page(
        self, key: SessionRef, *, owner: Asker = OPERATOR, before: int, limit: int = 100
    ) -> list[Event]:
        """Returns the events that a chat view shows: the newest `limit` before the event number `before`.

        These are messages, tool calls and waiting turns, oldest first. Raises `NotFound`.
        """
        session = await self._context.session(key, owner)
        return await self._context.store.told(session.id, before=before, limit=limit)

    async def follow(
        self,
        key: SessionRef,
        *,
        owner: Asker = OPERATOR,
        after: int | None = 0,
        came_at: int | None = None,
    ) -> AsyncGenerator[Event | LiveText]:
        """Yields the events after a number, each once and in order, then new events and live text.

        Use it with `async for`; it does not end by itself. With `after=None` it begins at the start of the
        running turn, or now. `came_at` is the moment when the follower connected: for a turn that ended
        after it, the full text is sent before the end of the turn. Raises `NotFound`.
        """
        context = self._context
        session = await context.session(key, owner)
        lane = await context.lane_of(session)
        if after is None:
            after = await self._start_of_running_turn(session, lane)
        async for item in follow(
            context.store, context.hub, context.turns, session.id, after, lane_id=lane.id, came_at=came_at
        ):
            yield item

    async def _start_of_running_turn(self, session: Session, lane: Session) -> int:
        """The event number before the running turn's start; the newest number if no turn runs."""
        running = await self._context.store.running_turn(lane.id)
        start = await self._context.store.start_of_turn(session.id, running.id) if running else None
        return session.last_seq if start is None else start - 1

    async def deliveries(
        self, key: SessionRef, *, owner: Asker = OPERATOR, limit: int = 100
    ) -> list[Delivery]:
        """Returns the session's deliveries, newest first. Raises `NotFound`."""
        session = await self._context.session(key, owner)
        return await self._context.store.deliveries(session.id, limit)

    async def write(
        self,
        key: str,
        role: str,
        text: str,
        *,
        parts: Sequence[FileRef] = (),
        owner: Asker = OPERATOR,
        auto_commit_policy: MaybePolicy = UNSET,
    ) -> Message:
        """Stores a message without running the agent, and returns it as a `Message`.

        `role` is `user`, `assistant` or `system`; `parts` as for `receive`. The message counts as activity
        for `Idle` triggers. Raises `BadKey`, `BadText`, `BadSetting`, `BadFile`, `NotFound`.
        """
        written = await self._write(key, [(role, text, parts)], owner, auto_commit_policy)
        message = message_of(written.events[0])
        assert message is not None  # it was written as one
        return message

    async def write_all(
        self,
        key: str,
        messages: Sequence[MessageFields],
        *,
        owner: Asker = OPERATOR,
        auto_commit_policy: MaybePolicy = UNSET,
        request: Request | None = None,
    ) -> StoredMessages:
        """Stores up to 100 messages in one transaction and in their order.

        Each is a role and a text, or these and a list of files. Returns `added`, and the session's
        `message_count` and `pending_tokens` afterwards. Raises what `write` raises.
        """
        return (await self._write(key, messages, owner, auto_commit_policy, request)).value

    async def _write(
        self,
        key: str,
        messages: Sequence[MessageFields],
        owner: Asker,
        auto_commit_policy: MaybePolicy,
        request: Request | None = None,
    ) -> Result[StoredMessages]:
        context = self._context
        check_key(key)
        if not 1 <= len(messages) <= MOST_AT_ONCE:
            raise BadText(f"from 1 to {MOST_AT_ONCE} messages are stored at once, got {len(messages)}")
        checked = [await self._checked(key, owner, *message) for message in messages]
        now = context.clock.ms()
        address = context.address(key, owner, now)
        work = partial(sessions.write, address, checked, now, policy=auto_commit_policy)
        written = await context.commit_once(
            request, work, now, keep=_written_to_json, again=_written_from_json
        )
        context.announce(written)
        return written

    async def _checked(
        self, key: str, owner: Asker, role: str, text: str, parts: Sequence[FileRef] = ()
    ) -> WrittenMessage:
        if role not in _ROLES:
            raise BadSetting(f"a role is user, assistant or system, got {role!r}")
        files = await self._files.of_message(key, parts, owner)
        return WrittenMessage(role, checked_message(text, files), files)

    async def say(self, key: str, text: str, *, source: Source, owner: Asker = OPERATOR) -> None:
        """Sends a message through the session's channel now, outside of any turn.

        `source` is the job that the message comes from. Returns nothing; the message is queued for delivery.
        Raises `BadKey`, `BadText`.
        """
        context = self._context
        check_key(key)
        check_text(text, "a message")
        now = context.clock.ms()
        lookup = owner.lookup(key, context.networks)
        await context.store.commit(
            deliveries.say, lookup, key, text, source, now, delivery_id=context.ids(now)
        )
        context.bell.ring(Name.COURIER)


def _messages_in(events: Sequence[Event]) -> list[Message]:
    return [message for event in events if (message := message_of(event))]


def checked_message(text: str, files: Sequence[File]) -> str:
    """The text of a message; without words, the names of its files. Raises `BadText`."""
    return text_of(files) if files and not str(text).strip() else check_text(text, "a message")


# The result as it is stored under an idempotency key, and read back for a repeated request.


def _written_to_json(written: Result[StoredMessages]) -> Mapping[str, Any]:
    stored = written.value
    return {
        "added": stored.added,
        "message_count": stored.message_count,
        "pending_tokens": stored.pending_tokens,
    }


def _written_from_json(data: Mapping[str, Any]) -> Transaction[Result[StoredMessages]]:
    yield from ()
    return Result(value=StoredMessages(**data))
