"""Following a session: first its log, then what happens, without a gap and without a repeat.

Invariants
  - durable events come in the order of their numbers, each once
  - the pieces of a running turn's text join without a gap: where one was dropped, or is said in another
    process, the next piece begins where the last one ended
  - nothing of a turn's text comes after its end
  - thoughts are in no log: they come from the process that runs the turn, or not at all
"""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from functools import partial

from segue.kernel.live.hub import Heard, Hub, Lagged, LiveText
from segue.kernel.live.running import RunningTurns
from segue.model.records import Event
from segue.store.store import Store

_PAGE = 500
_TEXT = "stream_delta"
_THOUGHT = "thinking_delta"


async def follow(
    store: Store,
    hub: Hub,
    turns: RunningTurns,
    session_id: str,
    after: int,
    *,
    lane_id: str | None = None,
    came_at: int | None = None,
) -> AsyncIterator[Heard]:
    """Whoever comes in the middle of a turn is first given what was said so far, as one piece.

    `lane_id`: the session that its turns run in, if that is another one.
    `came_at`: the newest number when its follower came. Of a turn that ended since, the text is given too: to
    whom its end is news, what was said and thought is.
    """
    with hub.listen(session_id) as listener:
        reader = _Reader(store, turns, session_id, after, lane_id or session_id, came_at)
        async for old in reader.begin():
            yield old
        while True:
            heard = await listener.next()
            match heard:
                case Lagged(look=None):
                    async for new in reader.read_on():
                        yield new
                case Lagged(look=look):
                    # One look for all who follow the session. NotFound: it was deleted, and this is the end.
                    there = await hub.shared.once(
                        (look, session_id), partial(store.session_by_id, session_id)
                    )
                    if there.last_seq > reader.after or reader.mid_turn:
                        async for new in reader.read_on():
                            yield new
                case LiveText():
                    async for piece in reader.hear(heard):
                        yield piece
                case Event() if heard.session_id == session_id and heard.seq == reader.after + 1:
                    for new in reader.take(heard):
                        yield new
                case Event() if heard.session_id != session_id or heard.seq > reader.after:
                    async for new in reader.read_on():
                        yield new


class _Reader:
    """Where one listener is: in the log, and in the text of the turn under way."""

    def __init__(
        self,
        store: Store,
        turns: RunningTurns,
        session_id: str,
        after: int,
        lane_id: str,
        came_at: int | None,
    ) -> None:
        self._store = store
        self._turns = turns
        self._session_id = session_id
        self._lane_id = lane_id
        self.after = after
        self._came_at = came_at
        self._turn_id: str | None = None
        self._attempt = 0
        self._since = 0
        self._told = {_TEXT: 0, _THOUGHT: 0}
        """Characters of the turn under way that were given."""

    @property
    def mid_turn(self) -> bool:
        """There may be more of its text, which leaves no mark in the log."""
        return self._turn_id is not None

    async def begin(self) -> AsyncIterator[Heard]:
        # Asked for before the log is read: what the log says of it since then is newer.
        running = await self._store.running_turn(self._lane_id)
        if running is not None and self._session_id in (running.session_id, running.via_id):
            self._turn_id, self._attempt = running.id, running.attempt
        async for old in self._read_up():
            yield old
        so_far = await self._so_far()
        for piece in so_far:
            yield replace(piece, replay=True)
        if not so_far and self.mid_turn and not self._since:
            # Nothing was said yet, or the turn ended behind what was read of the log. Then its end is there
            # by now, and its text is no news to a follower who left in the middle of it.
            async for old in self._read_up():
                yield old

    async def read_on(self) -> AsyncIterator[Heard]:
        async for event in self._log():
            for heard in self.take(event):
                yield heard
        for piece in await self._so_far():
            yield piece

    def take(self, event: Event) -> Iterator[Heard]:
        """The event, behind the last of the text that it ends."""
        yield from self._rest_before(event)
        self._pass(event)
        yield event

    async def hear(self, piece: LiveText) -> AsyncIterator[LiveText]:
        # A worker that lost its lease may still be talking; its words are older than the turn's new start.
        if (piece.turn_id, piece.attempt) != (self._turn_id, self._attempt):
            return
        if piece.offset > self._told[piece.type]:
            for missed in await self._so_far():
                yield missed
        known = self._told[piece.type] - piece.offset
        if not 0 <= known < len(piece.text):
            return
        if known:
            piece = replace(piece, offset=self._told[piece.type], text=piece.text[known:])
        self._told[piece.type] += len(piece.text)
        yield piece if piece.seq == self.after else replace(piece, seq=self.after)

    async def _read_up(self) -> AsyncIterator[Heard]:
        """The log as it stands, to one who comes."""
        async for event in self._log():
            for whole in self._missed_before(event):
                yield replace(whole, replay=True)
            self._pass(event)
            yield event

    async def _log(self) -> AsyncIterator[Event]:
        while page := await self._store.events(self._session_id, after=self.after, limit=_PAGE):
            for event in page:
                yield event

    def _pass(self, event: Event) -> None:
        self.after = event.seq
        if event.type == "stream_start":
            self._turn_id, self._attempt = event.turn_id, event.body["attempt"]
            self._since, self._told = event.seq, {_TEXT: 0, _THOUGHT: 0}
        elif event.type == "stream_end":
            self._turn_id, self._since = None, event.seq

    def _missed_before(self, event: Event) -> list[LiveText]:
        if event.type == "stream_end" and not self._since:  # it left in the middle of this turn
            self._turn_id = event.turn_id
        elif self._came_at is None or event.seq <= self._came_at:
            return []
        return self._rest_before(event)

    def _rest_before(self, event: Event) -> list[LiveText]:
        if event.type != "stream_end" or event.turn_id != self._turn_id or event.body["outcome"] != "ok":
            return []
        return self._grown(event.content or "")

    async def _so_far(self) -> list[LiveText]:
        """What was said since the last piece: here to the letter, elsewhere up to its newest draft."""
        if self._turn_id is None:
            return []
        live = self._turns.get(self._turn_id)
        if live is not None and live.held.turn.attempt == self._attempt:
            return self._grown(live.text)
        running = await self._store.running_turn(self._lane_id)
        if running is None or (running.id, running.attempt) != (self._turn_id, self._attempt):
            return []
        return self._grown(running.draft or "")

    def _grown(self, text: str) -> list[LiveText]:
        """What is new of the thoughts and of the text."""
        if self._turn_id is None:
            return []
        thoughts = self._turns.thoughts_of(self._turn_id, self._attempt)
        return [
            self._piece(self._turn_id, kind, whole)
            for kind, whole in ((_THOUGHT, thoughts), (_TEXT, text))
            if len(whole) > self._told[kind]
        ]

    def _piece(self, turn_id: str, kind: str, whole: str) -> LiveText:
        offset, self._told[kind] = self._told[kind], len(whole)
        return LiveText(
            session_id=self._session_id,
            turn_id=turn_id,
            attempt=self._attempt,
            type=kind,
            seq=self.after,
            offset=offset,
            text=whole[offset:],
        )
