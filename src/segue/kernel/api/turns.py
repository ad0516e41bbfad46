"""Turns: admits users' messages as turns, waits for turns, stops and cancels them."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, TypeAlias

from segue.errors import BadSetting, NotFound
from segue.kernel.api.context import OPERATOR, ApiContext, SessionRef
from segue.kernel.api.files import FileRef, FilesApi
from segue.kernel.api.log import LogApi
from segue.kernel.live.hub import HubItem, LiveText
from segue.kernel.transactions import lane, replies
from segue.kernel.transactions.idempotency import Request
from segue.kernel.transactions.lane import Admission, QueuedTurn
from segue.kernel.transactions.replies import Quoted
from segue.kernel.transactions.result import Name, Result
from segue.model.records import Asker, Event, Session, Turn
from segue.model.states import TurnState, WhenBusy
from segue.model.text_checks import check_key, check_text
from segue.model.written_message import message_text
from segue.record import positional
from segue.store.database import Transaction

_ENDED = (TurnState.DONE, TurnState.FAILED, TurnState.CANCELLED)
_BEFORE_THE_END = frozenset({"stream_start", "tool_started", "tool_call"})


@positional
class OwnedTurn:
    """A turn and the chat that it came through. Pass it on instead of the id: the owner was checked."""

    turn: Turn
    chat: Session
    """The session that the turn runs in, if the chat was deleted."""


TurnRef: TypeAlias = str | OwnedTurn
"""A turn's id, or a turn that the caller has loaded."""


class TurnsApi:
    """Questions to the agent and their answers: `kernel.turns`."""

    def __init__(self, context: ApiContext, log: LogApi, files: FilesApi) -> None:
        self._context = context
        self._log = log
        self._files = files

    async def receive(
        self,
        key: str,
        text: str,
        *,
        parts: Sequence[FileRef] = (),
        reply_to: str | None = None,
        owner: Asker = OPERATOR,
        when_busy: WhenBusy | str | None = None,
        metadata: Mapping[str, Any] | None = None,
        replaces: str | None = None,
        request: Request | None = None,
    ) -> QueuedTurn:
        """Admits a user's message as a turn of its session, and makes a missing session.

        Returns at once, with `turn_id`, `session_id` and `position`, the number of turns before it. `parts`
        are files of the session (`files.add`) or their ids; with them the text may be empty, and the message
        then has their names as its text. `reply_to` is the id of the message that it answers: if a job said
        that, the agent is told which. `metadata` says where in the chat the message was written, such as a
        topic: the channel gets it with the answer, and the session keeps it (None as a value removes a name).
        `replaces` is the id of a user's turn of the session that has ended: from the start of the new turn,
        no model is given its messages. With it, an empty text without parts repeats what the user wrote in
        that turn. Raises `BadKey`, `BadText`, `BadSetting`, `BadFile`, `UnknownMessage`; `NotFound` for a
        file or a turn of another session; `CannotReplace`; `SessionBusy` with `when_busy="reject"`.
        """
        context = self._context
        admission = await admission_of(
            context,
            self._files,
            key,
            text,
            parts=parts,
            owner=owner,
            when_busy=when_busy,
            metadata=metadata,
            replaces=replaces,
        )
        now = admission.rank
        given = (context.address(key, owner, now), admission, now)
        mode = None if when_busy is None else WhenBusy(when_busy)
        default = context.settings.when_busy
        if reply_to is None:
            work = partial(lane.receive, *given, when_busy=mode, default=default)
        else:
            work = partial(replies.admit, *given, Quoted(reply_to), when_busy=mode, default=default)
        return context.announce(
            await context.commit_once(request, work, now, keep=queued_to_json, again=_queued_from_json)
        )

    async def ask(
        self,
        key: str,
        text: str,
        *,
        parts: Sequence[FileRef] = (),
        reply_to: str | None = None,
        owner: Asker = OPERATOR,
        when_busy: WhenBusy | str | None = None,
        metadata: Mapping[str, Any] | None = None,
        replaces: str | None = None,
        request: Request | None = None,
    ) -> AsyncGenerator[Event | LiveText]:
        """Sends a user's message and yields the events and the live text of its turn, until the turn ends.

        The last event is the turn's `session_sync`. A turn that is cancelled before it starts yields nothing.
        A turn that joined another yields the events of that one. In unified mode the events are those of the
        common session. If the caller stops reading, the turn goes on. Raises what `receive` raises, and
        `NotFound` when the session is deleted.
        """
        admitted = await self.receive(
            key,
            text,
            parts=parts,
            reply_to=reply_to,
            owner=owner,
            when_busy=when_busy,
            metadata=metadata,
            replaces=replaces,
            request=request,
        )
        async with aclosing(self.follow(admitted)) as following:
            async for item in following:
                yield item

    async def follow(
        self, turn: str | QueuedTurn, *, owner: Asker = OPERATOR
    ) -> AsyncGenerator[Event | LiveText]:
        """Yields the events and the live text of one turn from its start until its end, as `ask` does.

        `turn` is an id, or the result of `receive`, which saves the owner check. The turn may run, wait, or
        have ended; of a turn whose log was pruned nothing is yielded. Raises `NotFound`.
        """
        store = self._context.store
        if isinstance(turn, str):
            found = await self.get(turn, owner=owner)
            turn = QueuedTurn(turn_id=found.id, session_id=found.session_id)
        # The session is read first: whatever happens to the turn after that has a number after `last_seq`.
        session = await store.session_by_id(turn.session_id)
        stored = await store.turn(turn.turn_id)
        turn_id = stored.joined_into or stored.id
        start = await store.start_of_turn(session.id, turn_id)
        if start is None and stored.state in _ENDED:
            return
        after = session.last_seq if start is None else start - 1
        async with aclosing(self._log.follow(session, after=after, came_at=after)) as following:
            async for item in self._of_turn(turn_id, following):
                yield item

    async def _of_turn(
        self, turn_id: str, following: AsyncIterator[Event | LiveText]
    ) -> AsyncIterator[Event | LiveText]:
        """The items of one turn, until its end."""
        ended = False
        async for item in following:
            if isinstance(item, Event) and item.body.get("joined_turn_id") == turn_id:
                turn_id = item.turn_id or turn_id
            if item.turn_id == turn_id:
                yield item
                ended |= isinstance(item, Event) and _is_end(item)
            if ended and item.type in ("session_sync", "queue_update"):
                return
            if item.type == "queue_update" and _never_started(await self._context.store.turn(turn_id)):
                return

    async def wait(self, turn: str | QueuedTurn, *, owner: Asker = OPERATOR) -> Turn:
        """Waits until a turn has ended, and returns it.

        `turn` is an id, or the result of `receive`, which saves the owner check. A turn that joined another
        ends with that one. The turn may run in another process. Raises `NotFound`.
        """
        if isinstance(turn, str):
            stored = await self.get(turn, owner=owner)
            return await self._end_of(stored.id, stored.session_id)
        return await self._end_of(turn.turn_id, turn.session_id)

    async def _end_of(self, turn_id: str, session_id: str) -> Turn:
        with self._context.hub.listen(session_id) as listener:
            while True:
                turn = await self._context.store.turn(turn_id)
                if turn.joined_into is not None:
                    turn_id = turn.joined_into
                elif turn.state in _ENDED:
                    return turn
                else:
                    while _ends_no_turn(await listener.next()):
                        pass

    async def get(self, turn_id: str, *, owner: Asker = OPERATOR) -> Turn:
        """Returns the `Turn` of an id. Raises `NotFound`."""
        turn, _ = await self._found(turn_id, owner)
        return turn

    async def load(self, turn_id: str, *, owner: Asker = OPERATOR) -> OwnedTurn:
        """Returns a turn with its `chat`, the session that it came through. Raises `NotFound`.

        In unified mode a turn outlives its chat. If that was deleted, `chat` is the session that it runs in.
        """
        turn, session = await self._found(turn_id, owner)
        if turn.chat_id is None:
            return OwnedTurn(turn, session)
        try:
            return OwnedTurn(turn, await self._context.store.session_by_id(turn.chat_id))
        except NotFound:
            return OwnedTurn(turn, session)

    async def _found(self, turn_id: str, owner: Asker) -> tuple[Turn, Session]:
        """A turn and the session that it runs in."""
        turn = await self._context.store.turn(turn_id)
        return turn, await self._context.session_of(turn.session_id, owner, f"turn {turn_id}")

    async def replaced_by(self, turn: TurnRef, *, owner: Asker = OPERATOR) -> str | None:
        """Returns the id of the turn that has replaced a turn, or None. Raises `NotFound`."""
        found = await self.get(turn, owner=owner) if isinstance(turn, str) else turn.turn
        return await self._context.store.replaced_by(found.id)

    async def running(self, key: SessionRef, *, owner: Asker = OPERATOR) -> Turn | None:
        """Returns the turn that came through a session and runs now, or None. Raises `NotFound`."""
        context = self._context
        session = await context.session(key, owner)
        turn = await context.store.running_turn((await context.lane_of(session)).id)
        return turn if turn is not None and session.id in (turn.session_id, turn.via_id) else None

    async def list(
        self, key: SessionRef, *, owner: Asker = OPERATOR, limit: int = 100, before: str | None = None
    ) -> list[Turn]:
        """Returns the turns that came through a session, newest first, queued and running ones included.

        `before` is the id of the last turn of the previous page. Raises `NotFound`.
        """
        context = self._context
        session = await context.session(key, owner)
        lane_session = await context.lane_of(session)
        return await context.store.turns(lane_session.id, via_id=session.id, limit=limit, before=before)

    async def stop(self, key: SessionRef, *, owner: Asker = OPERATOR) -> str | None:
        """Asks the session's running turn to stop, in whichever process it runs.

        Returns the turn's id, or None when no turn runs. The text so far stays, marked as stopped. Raises
        `NotFound`.
        """
        context = self._context
        lane_session = await context.lane_of(await context.session(key, owner))
        stopped = await context.store.commit(lane.stop, lane_session.id)
        context.bell.ring(Name.KEEPER)
        return stopped

    async def stop_turn(self, turn_id: str, *, owner: Asker = OPERATOR) -> bool:
        """Stops one turn: asks it to stop if it runs, and cancels it if it waits.

        Returns False if it has ended. A turn that joined another is stopped with that one. Raises `NotFound`.
        """
        context = self._context
        turn = await self.get(turn_id, owner=owner)
        stopped = await context.store.commit(
            lane.stop_turn, turn.joined_into or turn.id, "cancelled by request", context.clock.ms()
        )
        return context.announce(stopped)

    async def cancel(self, turn_id: str, *, owner: Asker = OPERATOR) -> None:
        """Cancels a waiting turn. Raises `AlreadyStarted` when the turn has started or ended, `NotFound`."""
        context = self._context
        await self.get(turn_id, owner=owner)
        now = context.clock.ms()
        cancelled = await context.store.commit(lane.cancel, turn_id, "cancelled by request", now)
        context.announce(cancelled)


async def admission_of(
    context: ApiContext,
    files: FilesApi,
    key: str,
    text: str,
    *,
    parts: Sequence[FileRef],
    owner: Asker,
    when_busy: WhenBusy | str | None,
    metadata: Mapping[str, Any] | None,
    replaces: str | None,
) -> Admission:
    """The checked turn of a user's message that arrives now, not stored yet."""
    check_key(key)
    check_when_busy(when_busy)
    if replaces is not None and not text and not parts:
        text, parts = await _written_in(context, replaces, owner)
    attached = await files.of_message(key, parts, owner) if parts else ()
    now = context.clock.ms()
    return Admission(
        turn_id=context.ids(now),
        content=message_text(text, attached) if attached else check_text(text, "a message"),
        rank=now,
        not_before=now,
        timeout_ms=round(context.settings.turn_timeout_seconds * 1000),
        metadata=metadata,
        parts=attached,
        replaces=replaces,
    )


async def _written_in(context: ApiContext, turn_id: str, owner: Asker) -> tuple[str, Sequence[FileRef]]:
    """The text and the files that the user wrote in a turn, those that joined it included."""
    turn = await context.store.turn(turn_id)
    await context.session_of(turn.session_id, owner, f"turn {turn_id}")
    written = await context.store.written_in_turn(turn)
    if not written:  # it was cancelled before it started
        return turn.content, turn.parts
    texts = [event.content for event in written if event.content]
    return "\n\n".join(texts), [file for event in written for file in event.parts]


def check_when_busy(rule: WhenBusy | str | None) -> None:
    if rule is not None and rule not in list(WhenBusy):
        raise BadSetting(f"when_busy is one of {', '.join(WhenBusy)}, got {rule!r}")


def _never_started(turn: Turn) -> bool:
    """Whether it was cancelled while it waited; its log then has no event of it."""
    return turn.state is TurnState.CANCELLED and turn.attempt == 0


def _is_end(event: Event) -> bool:
    """Whether it ends its turn. After a failed attempt the outcome is None, as the turn will be retried."""
    return event.type == "stream_end" and event.body["outcome"] is not None


def _ends_no_turn(item: HubItem) -> bool:
    """True for what a running turn produces before its end: a waiting caller need not read the turn again."""
    return isinstance(item, LiveText) or (isinstance(item, Event) and item.type in _BEFORE_THE_END)


# The result as it is stored under an idempotency key, and read back for a repeated request.


def queued_to_json(queued: Result[QueuedTurn]) -> Mapping[str, Any]:
    turn = queued.value
    return {"turn_id": turn.turn_id, "session_id": turn.session_id, "position": turn.position}


def _queued_from_json(data: Mapping[str, Any]) -> Transaction[Result[QueuedTurn]]:
    yield from ()
    return Result(value=QueuedTurn(**data))
