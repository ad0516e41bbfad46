"""The log of a client: reads, follows, searches and exports what was said, with the verbs of `kernel.log`."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import Any

from segue.client import parse
from segue.client.files import part_bodies
from segue.client.following import EventCursor
from segue.client.records import RemoteDelivery, RemoteFoundMessage
from segue.client.sessions import ClientSessions, policy_body
from segue.client.transport import ServerAnswer, Transport
from segue.errors import BadSetting, BadText, ServerUnreachable, StoreUnavailable
from segue.kernel.api.export import ExportFormat
from segue.kernel.api.files import FileRef
from segue.kernel.api.log import MOST_AT_ONCE, MessageWithFiles
from segue.kernel.live.hub import LiveText
from segue.kernel.transactions.sessions import UNSET, MaybePolicy, StoredMessages
from segue.model.records import Event
from segue.model.text_checks import check_key, check_text
from segue.model.transcript import Message
from segue.model.written_message import ROLES, GivenMessage, SaidAt

_PAUSES_MS = (0, 100, 300, 1000, 2000)
"""Before each new connection to a stream; the last one is repeated."""


class ClientLog:
    """What happened in a session, and what was said: `client.log`."""

    def __init__(self, transport: Transport, sessions: ClientSessions) -> None:
        self._transport = transport
        self._sessions = sessions

    async def messages(self, key: str, *, after: int = 0, limit: int = 100) -> list[Message]:
        """Returns the messages of the transcript after the event number `after`, oldest first."""
        return await self._transport.pages(
            "messages",
            *("sessions", check_key(key), "messages"),
            limit=limit,
            read=parse.message,
            after=after or None,
        )

    async def newest(self, key: str, *, limit: int = 100) -> list[Message]:
        """Returns the newest messages of the transcript, oldest first. Raises `NotFound`."""
        found: list[Message] = []
        async with aclosing(self._backwards(key)) as events:
            async for event in events:
                if event.data.get("message"):
                    found.append(event.read(_message))
                    if len(found) == limit:
                        break
        return found[::-1]

    async def events(self, key: str, *, after: int = 0, limit: int = 100) -> list[Event]:
        """Returns the events of the log after the event number `after`, oldest first. Raises `NotFound`.

        `body` is as in `follow`.
        """
        session = await self._sessions.get(key)
        found: list[Event] = []
        if after >= session.last_seq:
            return found
        async with aclosing(self.follow(key, after=after)) as following:
            async for item in following:
                if isinstance(item, Event):
                    found.append(item)
                    if len(found) == limit or item.seq >= session.last_seq:
                        break
        return found

    async def search(
        self, query: str, *, session: str | None = None, limit: int = 20
    ) -> list[RemoteFoundMessage]:
        """Returns the messages that have all words of the query, newest first, archived ones too.

        Searches one session, or all sessions that the key reaches, as `kernel.log.search` does. Raises
        `BadText`, `NotFound`.
        """
        return await self._transport.pages(
            "messages",
            *("messages", "search"),
            limit=limit,
            read=parse.found_message,
            query=query,
            session=None if session is None else check_key(session),
        )

    async def export(
        self, key: str, *, format: ExportFormat | str = ExportFormat.MARKDOWN
    ) -> AsyncGenerator[str]:
        """Yields the whole conversation as pieces of text, as `kernel.log.export` does. Raises `NotFound`."""
        pieces = self._transport.text("sessions", check_key(key), "export", format=str(format))
        async with aclosing(pieces):
            async for piece in pieces:
                yield piece

    async def before_turn(self, key: str, turn_id: str) -> int | None:
        """Returns the event number before the start of a turn, or None if the log does not have it."""
        async with aclosing(self._backwards(key)) as events:
            async for event in events:
                if event.data["type"] == "stream_start" and event.data["turn_id"] == turn_id:
                    return int(event.data["seq"]) - 1
        return None

    async def _backwards(self, key: str) -> AsyncGenerator[ServerAnswer]:
        """The events that a chat view shows, newest first."""
        cursor = None
        while True:
            page = await self._transport.get("sessions", check_key(key), "log", cursor=cursor)
            for event in reversed(page.items("events")):
                yield event
            cursor = page.data["next_cursor"]
            if cursor is None:
                return

    async def follow(self, key: str, *, after: int | None = 0) -> AsyncGenerator[Event | LiveText]:
        """Yields the events after a number, each once and in order, then new events and live text.

        It connects again when the connection is lost, also while the server restarts, and goes on where it
        was. It does not end by itself. With `after=None` it begins at the start of the running turn, or now.
        `body` has the fields of `docs/reference/events.md`. Raises `NotFound`, also when the session is
        deleted later.
        """
        session = await self._sessions.get(key)
        cursor = EventCursor(session.id, after, session.last_seq)
        failures = 0
        while True:
            try:
                async with self._transport.events("sessions", key, "events", after=cursor.after) as events:
                    async for wire_event in events:
                        failures = 0
                        if (item := cursor.take(wire_event)) is not None:
                            yield item
            except (ServerUnreachable, StoreUnavailable):
                pass
            cursor.reconnect()
            await self._transport.pause(_PAUSES_MS[min(failures, len(_PAUSES_MS) - 1)])
            failures += 1

    async def deliveries(self, key: str, *, limit: int = 100) -> list[RemoteDelivery]:
        """Returns the session's deliveries, newest first. Raises `NotFound`."""
        return await self._transport.pages(
            "deliveries", "sessions", check_key(key), "deliveries", limit=limit, read=parse.delivery
        )

    async def write(
        self,
        key: str,
        role: str,
        text: str,
        *,
        parts: Sequence[FileRef] = (),
        created_at: SaidAt = None,
        auto_commit_policy: MaybePolicy = UNSET,
        idempotency_key: str | None = None,
    ) -> Message:
        """Stores a message without running the agent, and returns it, as `kernel.log.write` does."""
        stored = await self.write_all(
            key,
            [(role, text, created_at, parts)],
            auto_commit_policy=auto_commit_policy,
            idempotency_key=idempotency_key,
        )
        return (await self.messages(key, after=stored.last_seq - 1, limit=1))[0]

    async def write_all(
        self,
        key: str,
        messages: Sequence[GivenMessage | MessageWithFiles],
        *,
        auto_commit_policy: MaybePolicy = UNSET,
        idempotency_key: str | None = None,
    ) -> StoredMessages:
        """Stores up to 100 messages in their order, without running the agent.

        A message is a role and a text, and perhaps when it was said and a list of its files.
        """
        if not 1 <= len(messages) <= MOST_AT_ONCE:
            raise BadText(f"from 1 to {MOST_AT_ONCE} messages are stored at once, got {len(messages)}")
        body = {"messages": [_written(*each) for each in messages], **policy_body(auto_commit_policy)}
        answer = await self._transport.create(
            *("sessions", check_key(key), "messages", "batch"), body=body, idempotency_key=idempotency_key
        )
        return answer.read(_stored)


def _message(wire_event: parse.JSON) -> Message:
    return parse.message(wire_event["message"])


def _written(
    role: str, text: str, created_at: SaidAt = None, parts: Sequence[FileRef] = ()
) -> dict[str, Any]:
    if role not in ROLES:
        raise BadSetting(f"a role is user, assistant or system, got {role!r}")
    if not parts:
        check_text(text, "a message")
    said = created_at.isoformat() if isinstance(created_at, datetime) else created_at
    body = {"role": role, "content": text, "parts": part_bodies(parts)}
    return body if said is None else body | {"created_at": said}


def _stored(data: parse.JSON) -> StoredMessages:
    return StoredMessages(
        added=data["added"],
        last_seq=data["seq"],
        message_count=data["message_count"],
        pending_tokens=data["pending_tokens"],
    )
