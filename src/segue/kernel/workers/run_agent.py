"""Runs the agent for one turn: publishes its output live, stores its facts, and returns the closure."""

import asyncio
import logging
import traceback
from collections.abc import AsyncGenerator
from dataclasses import asdict

from segue.errors import AgentFailed, LeaseLost, NotFound, StoreError
from segue.kernel.live.hub import Hub, LiveText
from segue.kernel.live.running import LONGEST_ANSWER, RunningTurn
from segue.kernel.transactions import lease
from segue.kernel.transactions.lease import HeldLane
from segue.kernel.workers.retry import retry_until_stored
from segue.kernel.workers.worker_context import WorkerContext
from segue.memory.model_context import assemble
from segue.memory.reader import MemoryReader
from segue.model import closure
from segue.model.action import Ask, View
from segue.model.agent import Delta, OpenTurn, Text, Thinking, ToolCalled, ToolStarted, Usage
from segue.model.closure import Closure
from segue.model.evaluation import says_nothing
from segue.model.prompts import Mode
from segue.model.records import Event, Session, Source
from segue.model.states import EVALUATED, JobKind
from segue.model.text_checks import clean
from segue.model.transcript import Message, message_of
from segue.store.store import Store
from segue.times.clock import Clock


class AgentOutput:
    def __init__(self, live: RunningTurn, store: Store, hub: Hub, clock: Clock) -> None:
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
        events = await retry_until_stored(
            f"turn {held.turn.id}",
            self._clock,
            lambda: self._store.commit(lease.append, held, [fact], acted=acted),
        )
        self._live.last_seq = events[0].seq
        self._hub.publish(events)


_log = logging.getLogger(__name__)


async def run_agent(crew: WorkerContext, live: RunningTurn) -> Closure:
    """The agent's words, until it ends; however it ends."""
    try:
        if live.held.turn.call is not None:
            return await _call(crew, live)
        speech = AgentOutput(live, crew.store, crew.hub, crew.clock)
        pieces = crew.agent.answer(await _open(crew, live.held))
        try:
            async for piece in pieces:
                await speech.take(piece)
        finally:
            # One that is let go between two pieces closes what it holds now, not when memory is tidied.
            if isinstance(pieces, AsyncGenerator):
                await pieces.aclose()
        return await _evaluated(crew, live, closure.answered(live.text, live.usage))
    except (LeaseLost, StoreError):
        raise
    except asyncio.CancelledError:
        if live.task.cancelling():
            raise
        return closure.failed("the agent cancelled itself", usage=live.usage)
    except AgentFailed as failure:
        return closure.failed(str(failure), shown=failure.shown, usage=live.usage)
    except (Exception, SystemExit) as error:
        return closure.failed(_traced(error), usage=live.usage)
    finally:
        live.listening = False


def _traced(error: BaseException) -> str:
    return "".join(traceback.format_exception(error, limit=-8))


async def _evaluated(crew: WorkerContext, live: RunningTurn, ending: Closure) -> Closure:
    """What becomes of an answer that may be nothing to say, or may not go out unasked."""
    turn = live.held.turn
    if turn.source is None or turn.brief is None:
        return ending
    if turn.brief.mode == Mode.CHECK and says_nothing(ending.reply or ""):
        return closure.nothing_to_report(ending)
    if turn.source.kind not in EVALUATED or ending.reply is None:
        return ending
    try:
        passes = await crew.evaluate_response(await _open(crew, live.held), ending.reply)
    except Exception as error:
        _log.warning("the answer of turn %s could not be evaluated", turn.id, exc_info=error)
        return closure.not_evaluated(ending, repr(error))
    return ending if passes is True else closure.held_back(ending)


async def _call(crew: WorkerContext, live: RunningTurn) -> Closure:
    call = live.held.turn.call or {}
    function = crew.functions.get(call["function"])
    if function is None:
        return closure.failed(f"no function is registered as {call['function']!r} in this process")
    opened = await _open(crew, live.held)
    try:
        result = await function(opened, **call.get("arguments", {}))
    except (LeaseLost, StoreError) as error:
        # It comes from the function's own work: the lane is still ours, and the turn can be settled.
        return closure.failed(_traced(error))
    return closure.answered("" if result is None else str(result), {})


async def _open(crew: WorkerContext, held: HeldLane) -> OpenTurn:
    async def history(limit: int) -> list[Message]:
        source = held.turn.source
        given = await assemble(
            MemoryReader(crew.store),
            held.session,
            asked=text,
            view=await _view(crew, source),
            limit=limit,
            before=held.opened.seq,
            turn_id=held.turn.id,
            job_id=source.job_id if source else None,
        )
        return given.as_messages()

    async def joined() -> list[Message]:
        events = await crew.store.commit(lease.join, held, crew.clock.ms())
        crew.hub.publish(events)
        own = [event for event in events if event.session_id == held.session.id]
        return [message for event in own if (message := message_of(event))]

    turn = held.turn
    text = turn.content if turn.prompt is None else turn.prompt
    prompt = turn.rendered()
    return OpenTurn(
        id=turn.id,
        session=held.session,
        via=await _via(crew, held),
        text=text,
        prompt=prompt.text if prompt else text,
        role="system" if turn.source and turn.source.kind == JobKind.RECALL else "user",
        prompt_ref=prompt.ref if prompt else None,
        source=turn.source,
        attempt=turn.attempt,
        started_at=turn.started_at or 0,
        _history=history,
        _joined=joined,
    )


async def _via(crew: WorkerContext, held: HeldLane) -> Session:
    if held.via_id is None:
        return held.session
    try:
        return await crew.store.session_by_id(held.via_id)
    except NotFound:  # the chat was deleted since
        return held.session


async def _view(crew: WorkerContext, source: Source | None) -> View:
    """What the job says of it. A user's turn is given everything."""
    if source is None:
        return View.FULL
    try:
        action = (await crew.store.job(source.job_id)).action
    except NotFound:  # pruned since
        return View.FULL
    return action.view if isinstance(action, Ask) else View.FULL
