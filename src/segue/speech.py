"""What an agent says, piece by piece: live to the listeners, and into the log where it is a fact."""

from dataclasses import asdict

from segue import leasing
from segue.agent import Delta, Text, Thinking, ToolCalled, ToolStarted, Usage
from segue.clock import Clock
from segue.errors import AgentFailed
from segue.hub import Hub, LiveText
from segue.insisting import insist
from segue.live import LONGEST_ANSWER, Live
from segue.model import Event
from segue.store.store import Store
from segue.text import clean


class Speech:
    def __init__(self, live: Live, store: Store, hub: Hub, clock: Clock) -> None:
        self._live = live
        self._store = store
        self._hub = hub
        self._clock = clock

    async def take(self, piece: Delta | str) -> None:
        match piece:
            case str() | Text():
                self._say(piece if isinstance(piece, str) else piece.text)
            case Thinking(text):
                self._tell("thinking_delta", self._live.thought, text)
                self._live.think(text)
            case ToolStarted():
                # Committed before the agent goes on: after a crash we know that it may have acted.
                await self._write("tool_started", piece, acted=True)
            case ToolCalled():
                await self._write("tool_call", piece, acted=False)
            case Usage(figures):
                self._live.usage = figures
            case _:
                raise AgentFailed(f"an agent yields strings and deltas, got {type(piece).__name__}")

    def _say(self, text: str) -> None:
        text = clean(text)
        if self._live.length + len(text) > LONGEST_ANSWER:
            raise AgentFailed(f"the answer grew beyond {LONGEST_ANSWER:,} characters")
        self._tell("stream_delta", self._live.length, text)
        self._live.say(text)

    def _tell(self, kind: str, offset: int, text: str) -> None:
        turn = self._live.held.turn
        self._hub.live(
            LiveText(
                session_id=turn.session_id,
                via_id=self._live.held.via_id,
                turn_id=turn.id,
                attempt=turn.attempt,
                type=kind,
                seq=self._live.last_seq,
                offset=offset,
                text=text,
            )
        )

    async def _write(self, kind: str, piece: ToolStarted | ToolCalled, *, acted: bool) -> None:
        held = self._live.held
        fact = Event(
            session_id=held.session.id,
            seq=0,
            type=kind,
            at=self._clock.ms(),
            turn_id=held.turn.id,
            body=asdict(piece),
        )
        events = await insist(
            f"turn {held.turn.id}",
            self._clock,
            lambda: self._store.commit(leasing.append, held, [fact], acted=acted),
        )
        self._live.last_seq = events[0].seq
        self._hub.publish(events)
