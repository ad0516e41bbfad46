"""Turns of a client, with the verbs of `kernel.turns`."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing

from segue.client import parse
from segue.client.log import ClientLog
from segue.client.records import RemoteQueuedTurn, RemoteTurn
from segue.client.replies import turn_body
from segue.client.sessions import ClientSessions
from segue.client.transport import Transport
from segue.kernel.api.files import FileRef
from segue.kernel.live.hub import LiveText
from segue.model.records import Event
from segue.model.states import TurnState, WhenBusy
from segue.model.text_checks import check_key

_WAIT_SECONDS = 60.0
"""How long one request waits for the end of a turn."""
_ENDED = (TurnState.DONE, TurnState.FAILED, TurnState.CANCELLED)


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
        parts: Sequence[FileRef] = (),
        reply_to: str | None = None,
        when_busy: WhenBusy | str | None = None,
        replaces: str | None = None,
        idempotency_key: str | None = None,
    ) -> RemoteQueuedTurn:
        """Sends a user's message, which becomes a turn of its session; a missing session is made.

        `parts` are files of the session (`files.add`) or their ids. `reply_to` is the id of the message that
        it answers. `replaces` is the id of a turn whose place it takes; with it, an empty text repeats what
        the user wrote there. Raises `BadKey`, `BadText`, `BadSetting`, `UnknownMessage`; `CannotReplace`;
        `NotFound` for a file of another session; `SessionBusy` with `when_busy="reject"`.
        """
        body = turn_body(text, parts, reply_to, when_busy, replaces) | {"as_turn": True}
        answer = await self._transport.create(
            "sessions", check_key(key), "turns", body=body, idempotency_key=idempotency_key
        )
        return RemoteQueuedTurn(answer.data["turn_id"], key, answer.data["position"])

    async def ask(
        self,
        key: str,
        text: str,
        *,
        parts: Sequence[FileRef] = (),
        reply_to: str | None = None,
        when_busy: WhenBusy | str | None = None,
        replaces: str | None = None,
        idempotency_key: str | None = None,
    ) -> AsyncGenerator[Event | LiveText]:
        """Sends a user's message and yields the events and the live text of its turn, until the turn ends.

        The last event is the turn's `session_sync`. It follows as `follow` does.
        """
        session = await self._sessions.find(check_key(key))
        queued = await self.receive(
            key,
            text,
            parts=parts,
            reply_to=reply_to,
            when_busy=when_busy,
            replaces=replaces,
            idempotency_key=idempotency_key,
        )
        turn = await self.get(queued.turn_id)
        if _never_started(turn):
            return
        after = 0 if session is None else session.last_seq
        async with aclosing(self._log.follow(key, after=after)) as following:
            async for item in self._of_turn(turn.joined_into or turn.id, following):
                yield item

    async def follow(self, turn: str | RemoteQueuedTurn) -> AsyncGenerator[Event | LiveText]:
        """Yields the events and the live text of one turn from its start until its end, as `ask` does.

        The turn may run, wait, or have ended. Raises `NotFound`.
        """
        found = await self.get(turn if isinstance(turn, str) else turn.turn_id)
        # The session is read first: whatever happens to the turn after that has a number after `last_seq`.
        session = await self._sessions.get(found.session_key)
        found = await self.get(found.id)
        turn_id = found.joined_into or found.id
        after: int | None = session.last_seq
        if found.state is not TurnState.QUEUED:
            after = await self._log.before_turn(session.key, turn_id)
        if after is None:
            return
        async with aclosing(self._log.follow(session.key, after=after)) as following:
            async for item in self._of_turn(turn_id, following):
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

    async def running(self, key: str) -> RemoteTurn | None:
        """Returns the turn that came through a session and runs now, or None. Raises `NotFound`."""
        answer = await self._transport.get("sessions", check_key(key), "turns", running=True)
        found = [each.read(parse.turn) for each in answer.items("turns")]
        return found[0] if found else None

    async def list(self, key: str, *, limit: int = 100) -> list[RemoteTurn]:
        """Returns the turns that came through a session, newest first, queued and running ones included."""
        return await self._transport.pages(
            "turns", "sessions", check_key(key), "turns", limit=limit, read=parse.turn
        )

    async def stop(self, key: str) -> str | None:
        """Asks the session's running turn to stop. Returns its id, or None when no turn runs."""
        stopped: str | None = (await self._transport.post("sessions", check_key(key), "stop")).data["turn_id"]
        return stopped

    async def cancel(self, turn_id: str) -> None:
        """Cancels a waiting turn. Raises `AlreadyStarted` when it has started or ended, `NotFound`."""
        await self._transport.post("turns", turn_id, "cancel")

    async def stop_turn(self, turn_id: str) -> bool:
        """Stops one turn: asks it to stop if it runs, cancels it if it waits. False if it has ended."""
        return bool((await self._transport.post("turns", turn_id, "stop")).data["stopped"])


def _never_started(turn: RemoteTurn) -> bool:
    return turn.state is TurnState.CANCELLED and turn.attempt == 0


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
