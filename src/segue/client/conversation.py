"""Sessions, turns and the log of a client, with the verbs of the kernel's parts of these names."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Unpack

from segue.client import parse
from segue.client.following import EventCursor
from segue.client.records import (
    BlockingAutomation,
    RemoteDelivery,
    RemoteOverview,
    RemoteQueuedTurn,
    RemoteSession,
    RemoteSessionOpened,
    RemoteTurn,
)
from segue.client.transport import Transport
from segue.errors import NotFound, ServerUnreachable, SessionHasJobs, StoreUnavailable
from segue.kernel.api.sessions import About
from segue.kernel.api.turns import check_when_busy
from segue.kernel.live.hub import LiveText
from segue.kernel.transactions.sessions import UNSET, MaybePolicy, StoredMessages
from segue.model.auto_commit import AutoCommitPolicy
from segue.model.records import Event
from segue.model.states import TurnState, WhenBusy
from segue.model.text_checks import check_key, check_text
from segue.model.transcript import Message

_WAIT_SECONDS = 60.0
"""How long one request waits for the end of a turn."""
_PAUSES_MS = (0, 100, 300, 1000, 2000)
"""Before each new connection to a stream; the last one is repeated."""
_ENDED = (TurnState.DONE, TurnState.FAILED, TurnState.CANCELLED)


class ClientSessions:
    """Conversations, by their key: `client.sessions`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def open(
        self,
        key: str,
        *,
        chat_type: str = "private",
        auto_commit_policy: MaybePolicy = UNSET,
        idempotency_key: str | None = None,
        **about: Unpack[About],
    ) -> RemoteSessionOpened:
        """Returns the session of a key, and makes it if it is missing, as `kernel.sessions.open` does."""
        body = {"key": check_key(key), "chat_type": chat_type, **about, **_policy(auto_commit_policy)}
        answer = await self._transport.create("sessions", body=body, idempotency_key=idempotency_key)
        return RemoteSessionOpened(answer.read(parse.session), answer.status == 201)

    async def get(self, key: str) -> RemoteSession:
        """Returns the session of a key. Raises `NotFound`; `AmbiguousKey` when several users have one."""
        return (await self._transport.get("sessions", check_key(key))).read(parse.session)

    async def find(self, key: str) -> RemoteSession | None:
        """Returns the session of a key, or None if there is none."""
        try:
            return await self.get(key)
        except NotFound:
            return None

    async def overview(self, key: str) -> RemoteOverview:
        """Returns a session with its counts. Raises `NotFound`."""
        return (await self._transport.get("sessions", check_key(key))).read(parse.overview)

    async def overviews(self, *, limit: int = 100, pending_recall: bool = False) -> list[RemoteOverview]:
        """Returns the caller's sessions with their counts, the one with the newest message first."""
        return await self._transport.pages(
            "sessions", "sessions", limit=limit, read=parse.overview, pending_recall=pending_recall or None
        )

    async def list(self, *, limit: int = 100) -> list[RemoteSession]:
        """Returns the caller's sessions, the one with the newest message first."""
        return [overview.session for overview in await self.overviews(limit=limit)]

    async def update(
        self,
        key: str,
        *,
        auto_commit_policy: MaybePolicy | Mapping[str, Any] = UNSET,
        **about: Unpack[About],
    ) -> RemoteSession:
        """Changes a session's `title`, `timezone`, `when_busy` or `metadata`; None clears a field."""
        body = {**about, **_policy(auto_commit_policy)}
        return (await self._transport.patch("sessions", check_key(key), body=body)).read(parse.session)

    async def delete(self, key: str, *, with_jobs: bool = False) -> None:
        """Deletes a session with everything in it. Raises `SessionHasJobs` unless `with_jobs` is set."""
        answer = await self._transport.delete(
            "sessions", check_key(key), delete_automations=with_jobs or None
        )
        if not answer.data["deleted"]:
            jobs = [BlockingAutomation(**each) for each in answer.data["automations"]]
            names = ", ".join(job.name for job in jobs)
            raise SessionHasJobs(f"{key} still has {len(jobs)} automations: {names}", jobs)


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

    async def write_all(
        self,
        key: str,
        messages: Sequence[tuple[str, str]],
        *,
        auto_commit_policy: MaybePolicy = UNSET,
        idempotency_key: str | None = None,
    ) -> StoredMessages:
        """Stores up to 100 messages, each a role and a text, in their order, without running the agent."""
        for _, text in messages:
            check_text(text, "a message")
        body = {
            "messages": [{"role": role, "content": text} for role, text in messages],
            **_policy(auto_commit_policy),
        }
        answer = await self._transport.create(
            *("sessions", check_key(key), "messages", "batch"), body=body, idempotency_key=idempotency_key
        )
        return answer.read(_stored)


class ClientTurns:
    """Questions to the agent and their answers: `client.turns`."""

    def __init__(self, transport: Transport, sessions: ClientSessions, log: ClientLog) -> None:
        self._transport = transport
        self._sessions = sessions
        self._log = log

    async def receive(
        self,
        key: str,
        text: str,
        *,
        when_busy: WhenBusy | str | None = None,
        replaces: str | None = None,
        idempotency_key: str | None = None,
    ) -> RemoteQueuedTurn:
        """Sends a user's message, which becomes a turn of its session; a missing session is made.

        `replaces` is the id of a turn whose place it takes; with it, an empty text repeats what the user
        wrote there. Raises `BadKey`, `BadText`, `BadSetting`; `CannotReplace`; `SessionBusy` with
        `when_busy="reject"`.
        """
        if text or replaces is None:
            check_text(text, "a message")
        check_when_busy(when_busy)
        body = {"content": text} | ({} if when_busy is None else {"when_busy": str(when_busy)})
        body |= {} if replaces is None else {"replaces": replaces}
        answer = await self._transport.create(
            "sessions", check_key(key), "turns", body=body, idempotency_key=idempotency_key
        )
        return RemoteQueuedTurn(answer.data["turn_id"], key, answer.data["position"])

    async def ask(
        self,
        key: str,
        text: str,
        *,
        when_busy: WhenBusy | str | None = None,
        replaces: str | None = None,
        idempotency_key: str | None = None,
    ) -> AsyncGenerator[Event | LiveText]:
        """Sends a user's message and yields the events and the live text of its turn, until the turn ends.

        The last event is the turn's `session_sync`. It follows as `follow` does.
        """
        session = await self._sessions.find(check_key(key))
        queued = await self.receive(
            key, text, when_busy=when_busy, replaces=replaces, idempotency_key=idempotency_key
        )
        turn = await self.get(queued.turn_id)
        if _never_started(turn):
            return
        after = 0 if session is None else session.last_seq
        async with aclosing(self._log.follow(key, after=after)) as following:
            async for item in self._of_turn(turn.joined_into or turn.id, following):
                yield item

    async def _of_turn(
        self, turn_id: str, following: AsyncIterator[Event | LiveText]
    ) -> AsyncIterator[Event | LiveText]:
        ended = heard = False
        async for item in following:
            if isinstance(item, Event) and item.body.get("joined_turn_id") == turn_id:
                turn_id = item.turn_id or turn_id
            if item.turn_id == turn_id:
                heard |= item.type == "stream_delta"
                if isinstance(item, Event) and item.type == "stream_end" and item.content and not heard:
                    yield _text_of(item)
                yield item
                ended |= item.type == "stream_end" and isinstance(item, Event) and bool(item.body["outcome"])
            if ended and item.type in ("session_sync", "queue_update"):
                return
            if item.type == "queue_update" and _never_started(await self.get(turn_id)):
                return

    async def wait(self, turn: str | RemoteQueuedTurn) -> RemoteTurn:
        """Waits until a turn has ended, and returns it. A turn that joined another ends with that one."""
        turn_id = turn if isinstance(turn, str) else turn.turn_id
        while True:
            answer = await self._transport.get("turns", turn_id, wait=_WAIT_SECONDS)
            found = answer.read(parse.turn)
            if found.state in _ENDED and found.joined_into is None:
                return found

    async def get(self, turn_id: str) -> RemoteTurn:
        """Returns a turn. Raises `NotFound`."""
        return (await self._transport.get("turns", turn_id)).read(parse.turn)

    async def stop(self, key: str) -> str | None:
        """Asks the session's running turn to stop. Returns its id, or None when no turn runs."""
        stopped: str | None = (await self._transport.post("sessions", check_key(key), "stop")).data["turn_id"]
        return stopped

    async def cancel(self, turn_id: str) -> None:
        """Cancels a waiting turn. Raises `AlreadyStarted` when it has started or ended, `NotFound`."""
        await self._transport.post("turns", turn_id, "cancel")


def _never_started(turn: RemoteTurn) -> bool:
    return turn.state is TurnState.CANCELLED and turn.attempt == 0


def _policy(given: MaybePolicy | Mapping[str, Any]) -> dict[str, Any]:
    if given is UNSET:
        return {}
    return {"auto_commit_policy": given.to_json() if isinstance(given, AutoCommitPolicy) else given}


def _stored(data: parse.JSON) -> StoredMessages:
    return StoredMessages(
        added=data["added"], message_count=data["message_count"], pending_tokens=data["pending_tokens"]
    )


def _text_of(end: Event) -> LiveText:
    """The text of a turn that had ended before it could be followed, as one piece."""
    return LiveText(
        session_id=end.session_id,
        turn_id=end.turn_id or "",
        attempt=0,
        type="stream_delta",
        seq=end.seq,
        offset=0,
        text=end.content or "",
        replay=True,
    )
