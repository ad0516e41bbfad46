"""Log: reads and follows a session's events and messages, and stores messages without a turn."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from segue.errors import BadText
from segue.kernel.api.context import OPERATOR, ApiContext, SessionRef
from segue.kernel.api.export import ExportFormat, exported, heading
from segue.kernel.api.files import FileRef, FilesApi
from segue.kernel.api.import_messages import ImportedMessages, MessageImport
from segue.kernel.live.follow import follow
from segue.kernel.live.hub import LiveText
from segue.kernel.transactions import deliveries, sessions
from segue.kernel.transactions.idempotency import Request
from segue.kernel.transactions.result import Name, Result
from segue.kernel.transactions.sessions import UNSET, MaybePolicy, StoredMessages
from segue.memory.message_search import LAST_POSITION, FoundMessage, search_messages
from segue.model.records import Asker, Delivery, Event, Session, Source
from segue.model.text_checks import check_key, check_text
from segue.model.transcript import Message, message_of
from segue.model.written_message import GivenMessage, SaidAt, WrittenMessage, written_message
from segue.store.database import Transaction

MOST_AT_ONCE = 100
"""Messages in one write."""

MessageWithFiles: TypeAlias = tuple[str, str, SaidAt, Sequence[FileRef]]
"""A role, a text, when it was said, and its files."""


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
        """Returns the newest messages of the transcript, oldest first, without those of replaced turns.

        Raises `NotFound`.
        """
        session = await self._context.session(key, owner)
        store = self._context.store
        # Twice as many, because they include the events for the start and the end of turns.
        events = await store.newest_events(session.id, before=session.last_seq + 1, limit=2 * limit)
        seqs = [message.seq for message in _messages_in(events) if message.replaced_by is None][-limit:]
        if not seqs:
            return []
        found = _messages_in(await store.messages(session.id, after=seqs[0] - 1, limit=2 * limit))
        return [message for message in found if message.replaced_by is None][-limit:]

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

        These are messages, tool calls, questions and waiting turns, oldest first. Raises `NotFound`.
        """
        session = await self._context.session(key, owner)
        return await self._context.store.told(session.id, before=before, limit=limit)

    async def search(
        self,
        query: str,
        *,
        owner: Asker = OPERATOR,
        session: SessionRef | None = None,
        before: int = LAST_POSITION,
        limit: int = 20,
    ) -> list[FoundMessage]:
        """Returns the messages that have all words of the query, newest first, archived ones too.

        A word of three or more letters is found at the beginning of longer ones too. Searches one session, or
        all sessions that the owner reaches. `before`: the `position` after which the next page begins.
        Messages are indexed by a worker, soon after the turn that they belong to has ended. Raises `BadText`
        for a query without a word or with more than 1,000 characters, and `NotFound`.
        """
        context = self._context
        within = None if session is None else await context.session(session, owner)
        database = context.store.database
        return await search_messages(database, query, owner, within, before=before, limit=limit)

    async def export(
        self, key: SessionRef, *, owner: Asker = OPERATOR, format: ExportFormat = ExportFormat.MARKDOWN
    ) -> AsyncGenerator[str]:
        """Yields the whole conversation as pieces of text, oldest message first, archived ones too.

        `markdown` is for readers, and leaves out messages that were replaced; `json` has a line for each
        message, those included, which `segue sessions import` reads. Files are named, not included. Use it
        with `async for`. Raises `NotFound`.
        """
        session = await self._context.session(key, owner)
        yield heading(session, format)
        after = 0
        while messages := await self.messages(session, after=after):
            yield "".join(exported(message, session, format) for message in messages)
            after = messages[-1].seq

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
        created_at: SaidAt = None,
        auto_commit_policy: MaybePolicy = UNSET,
    ) -> Message:
        """Stores a message without running the agent, and returns it as a `Message`.

        `role` is `user`, `assistant` or `system`; `parts` as for `receive`. `created_at` is when it was said,
        a datetime with a zone or RFC 3339; by default now. It does not change the message's place in the log,
        nor that the message counts as activity now for `Idle` triggers. Raises `BadKey`, `BadText`,
        `BadSetting`, `BadFile`, `NotFound`, and `BadTime` for a time in the future.
        """
        written = await self._write(key, [(role, text, created_at, parts)], owner, auto_commit_policy)
        message = message_of(written.events[0])
        assert message is not None  # it was written as one
        return message

    async def write_all(
        self,
        key: str,
        messages: Sequence[GivenMessage | MessageWithFiles],
        *,
        owner: Asker = OPERATOR,
        auto_commit_policy: MaybePolicy = UNSET,
        request: Request | None = None,
    ) -> StoredMessages:
        """Stores up to 100 messages in one transaction and in their order.

        A message is a role and a text, and perhaps when it was said and a list of its files. Returns `added`,
        the number of the last one (`last_seq`), and the session's `message_count` and `pending_tokens`
        afterwards. Raises what `write` raises.
        """
        return (await self._write(key, messages, owner, auto_commit_policy, request)).value

    async def import_all(
        self,
        key: str,
        messages: Sequence[GivenMessage],
        *,
        owner: Asker = OPERATOR,
        progress: Callable[[int], object] | None = None,
    ) -> ImportedMessages:
        """Stores a conversation that was held elsewhere, of any length, without running the agent.

        Messages are as for `write_all`, by users and assistants only. Those that the session has already, by
        role, text and time, are not stored again: an import may be repeated, or go on after a crash.
        `progress` is called with the number of messages that are stored. Returns `added` and `present`.
        Raises as `write` does.
        """
        check_key(key)

        async def write(batch: Sequence[GivenMessage], after: int) -> int:
            return (await self._write(key, batch, owner, UNSET, after=after)).value.last_seq

        return await MessageImport(self._context, key, messages, owner, write).run(progress)

    async def _write(
        self,
        key: str,
        messages: Sequence[GivenMessage | MessageWithFiles],
        owner: Asker,
        auto_commit_policy: MaybePolicy,
        request: Request | None = None,
        after: int | None = None,
    ) -> Result[StoredMessages]:
        context = self._context
        check_key(key)
        if not 1 <= len(messages) <= MOST_AT_ONCE:
            raise BadText(f"from 1 to {MOST_AT_ONCE} messages are stored at once, got {len(messages)}")
        now = context.clock.ms()
        checked = [await self._checked(key, owner, now, *message) for message in messages]
        address = context.address(key, owner, now)
        work = partial(sessions.write, address, checked, now, policy=auto_commit_policy, after=after)
        written = await context.commit_once(
            request, work, now, keep=_written_to_json, again=_written_from_json
        )
        context.announce(written)
        return written

    async def _checked(
        self,
        key: str,
        owner: Asker,
        now: int,
        role: str,
        text: str,
        created_at: SaidAt = None,
        parts: Sequence[FileRef] = (),
    ) -> WrittenMessage:
        files = await self._files.of_message(key, parts, owner) if parts else ()
        return written_message(role, text, created_at, now=now, files=files)

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


# The result as it is stored under an idempotency key, and read back for a repeated request.


def _written_to_json(written: Result[StoredMessages]) -> Mapping[str, Any]:
    stored = written.value
    return {
        "added": stored.added,
        "last_seq": stored.last_seq,
        "message_count": stored.message_count,
        "pending_tokens": stored.pending_tokens,
    }


def _written_from_json(data: Mapping[str, Any]) -> Transaction[Result[StoredMessages]]:
    yield from ()
    return Result(value=StoredMessages(**data))
