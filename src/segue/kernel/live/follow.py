"""Following a session: yields its log, then live events and text, without a gap or a repeat.

Invariants
  - events of the log come in the order of their numbers, each once
  - the pieces of a running turn's text join without a gap: if one was dropped, or the turn runs in another
    process, the next piece begins where the last one ended
  - no text of a turn comes after its end
  - thoughts are not in the log: they come from the process that runs the turn, or not at all
"""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from functools import partial

from segue.kernel.live.hub import Hub, Lagged, LiveText
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
) -> AsyncIterator[Event | LiveText]:
    """Yield events after number `after`, and live text. `NotFound`: the session was deleted.

    A follower that connects during a turn first gets the text so far, as one piece.
    `lane_id`: the session that its turns run in, if that is another one.
    `came_at`: the newest number when the follower connected. If a turn ended after that, its full text and
    thoughts are sent too.
    """
    with hub.listen(session_id) as listener:
        reader = _Reader(store, turns, session_id, after, lane_id or session_id, came_at)
        async for old in reader.begin():
            yield old
        while True:
            item = await listener.next()
            match item:
                case Lagged(look=None):
                    async for new in reader.read_on():
                        yield new
                case Lagged(look=look):
                    # One query for all followers of the session.
                    session = await hub.shared.once(
                        (look, session_id), partial(store.session_by_id, session_id)
                    )
                    if session.last_seq > reader.after or reader.mid_turn:
                        async for new in reader.read_on():
                            yield new
                case LiveText():
                    async for piece in reader.take_text(item):
                        yield piece
                case Event() if item.session_id == session_id and item.seq == reader.after + 1:
                    for new in reader.take_event(item):
                        yield new
                case Event() if item.session_id != session_id or item.seq > reader.after:
                    async for new in reader.read_on():
                        yield new


class _Reader:
    """Cursor of one follower: in the log, and in the text of the running turn."""

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
        self._boundary_seq = 0
        self._sent = {_TEXT: 0, _THOUGHT: 0}
        """Characters of the running turn that were yielded, by type."""

    @property
    def mid_turn(self) -> bool:
        """A turn is running: there may be new text, of which the log shows nothing."""
        return self._turn_id is not None

    async def begin(self) -> AsyncIterator[Event | LiveText]:
        # Read before the log, so that the log's events about this turn are newer.
        running = await self._store.running_turn(self._lane_id)
        if running is not None and self._session_id in (running.session_id, running.via_id):
            self._turn_id, self._attempt = running.id, running.attempt
        async for old in self._replay_log():
            yield old
        missed = await self._missed_text()
        for piece in missed:
            yield replace(piece, replay=True)
        if not missed and self.mid_turn and not self._boundary_seq:
            # No text yet, or the turn ended after the log was read. Then its end is in the log now, and its
            # text is a replay to a follower that had left during the turn.
            async for old in self._replay_log():
                yield old

    async def read_on(self) -> AsyncIterator[Event | LiveText]:
        async for event in self._log():
            for item in self.take_event(event):
                yield item
        for piece in await self._missed_text():
            yield piece

    def take_event(self, event: Event) -> Iterator[Event | LiveText]:
        """Yield the event, after the remaining text of the turn that it ends."""
        yield from self._remaining_text(event)
        self._advance(event)
        yield event

    async def take_text(self, piece: LiveText) -> AsyncIterator[LiveText]:
        # An agent whose worker lost its lease may still produce text, older than the turn's new attempt.
        if (piece.turn_id, piece.attempt) != (self._turn_id, self._attempt):
            return
        if piece.offset > self._sent[piece.type]:
            for missed in await self._missed_text():
                yield missed
        known = self._sent[piece.type] - piece.offset
        if not 0 <= known < len(piece.text):
            return
        if known:
            piece = replace(piece, offset=self._sent[piece.type], text=piece.text[known:])
        self._sent[piece.type] += len(piece.text)
        yield piece if piece.seq == self.after else replace(piece, seq=self.after)

    async def _replay_log(self) -> AsyncIterator[Event | LiveText]:
        """Yield the log as it is, for a follower that connects."""
        async for event in self._log():
            for whole in self._replayed_text(event):
                yield replace(whole, replay=True)
            self._advance(event)
            yield event

    async def _log(self) -> AsyncIterator[Event]:
        while page := await self._store.events(self._session_id, after=self.after, limit=_PAGE):
            for event in page:
                yield event

    def _advance(self, event: Event) -> None:
        self.after = event.seq
        if event.type == "stream_start":
            self._turn_id, self._attempt = event.turn_id, event.body["attempt"]
            self._boundary_seq, self._sent = event.seq, {_TEXT: 0, _THOUGHT: 0}
        elif event.type == "stream_end":
            self._turn_id, self._boundary_seq = None, event.seq

    def _replayed_text(self, event: Event) -> list[LiveText]:
        if event.type == "stream_end" and not self._boundary_seq:  # the follower had left during this turn
            self._turn_id = event.turn_id
        elif self._came_at is None or event.seq <= self._came_at:
            return []
        return self._remaining_text(event)

    def _remaining_text(self, event: Event) -> list[LiveText]:
        if event.type != "stream_end" or event.turn_id != self._turn_id or event.body["outcome"] != "ok":
            return []
        return self._unsent(event.content or "")

    async def _missed_text(self) -> list[LiveText]:
        """Text since the last piece: all of it if the turn runs here, else up to its newest draft."""
        if self._turn_id is None:
            return []
        local = self._turns.get(self._turn_id)
        if local is not None and local.held.turn.attempt == self._attempt:
            return self._unsent(local.text)
        running = await self._store.running_turn(self._lane_id)
        if running is None or (running.id, running.attempt) != (self._turn_id, self._attempt):
            return []
        self._store.database.follow_turn(running.id)
        return self._unsent(running.draft or "")

    def _unsent(self, text: str) -> list[LiveText]:
        """The thoughts and the text that were not yielded yet, as one piece each."""
        if self._turn_id is None:
            return []
        thoughts = self._turns.thoughts_of(self._turn_id, self._attempt)
        return [
            self._piece(self._turn_id, kind, whole)
            for kind, whole in ((_THOUGHT, thoughts), (_TEXT, text))
            if len(whole) > self._sent[kind]
        ]

    def _piece(self, turn_id: str, kind: str, whole: str) -> LiveText:
        offset, self._sent[kind] = self._sent[kind], len(whole)
        return LiveText(
            session_id=self._session_id,
            turn_id=turn_id,
            attempt=self._attempt,
            type=kind,
            seq=self.after,
            offset=offset,
            text=whole[offset:],
        )
