"""Runs the agent for one turn: publishes its text live, stores its tool calls, returns the closure."""

import asyncio
import logging
import traceback
from collections.abc import AsyncGenerator
from dataclasses import asdict
from functools import partial

from segue.errors import AgentFailed, LeaseLost, NotFound, StoreError
from segue.kernel.live.hub import LiveText
from segue.kernel.live.running import LONGEST_ANSWER, RunningTurn
from segue.kernel.transactions import lease
from segue.kernel.transactions.lease import HeldLane
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

_log = logging.getLogger(__name__)


class AgentOutput:
    """Handles what an agent yields: text, thoughts, tool calls and usage."""

    def __init__(self, context: WorkerContext, running: RunningTurn) -> None:
        self._context = context
        self._running = running

    async def take(self, piece: Delta | str) -> None:
        match piece:
            case str() | Text():
                self._add_text(piece if isinstance(piece, str) else piece.text)
            case Thinking(text):
                self._publish("thinking_delta", self._running.thought_length, text)
                self._running.add_thought(text)
            case ToolStarted():
                # Committed before the agent continues: after a crash the turn counts as one that acted.
                await self._store_event("tool_started", piece, acted=True)
            case ToolCalled():
                await self._store_event("tool_call", piece, acted=False)
            case Usage(figures):
                self._running.usage = figures
            case _:
                raise AgentFailed(f"an agent yields strings and deltas, got {type(piece).__name__}")

    def _add_text(self, text: str) -> None:
        text = clean(text)
        if self._running.text_length + len(text) > LONGEST_ANSWER:
            raise AgentFailed(f"the answer grew beyond {LONGEST_ANSWER:,} characters")
        self._publish("stream_delta", self._running.text_length, text)
        self._running.add_text(text)

    def _publish(self, kind: str, offset: int, text: str) -> None:
        turn = self._running.held.turn
        self._context.hub.live(
            LiveText(
                session_id=turn.session_id,
                via_id=self._running.held.via_id,
                turn_id=turn.id,
                attempt=turn.attempt,
                type=kind,
                seq=self._running.last_seq,
                offset=offset,
                text=text,
            )
        )

    async def _store_event(self, kind: str, piece: ToolStarted | ToolCalled, *, acted: bool) -> None:
        held = self._running.held
        event = Event(
            session_id=held.session.id,
            seq=0,
            type=kind,
            at=self._context.clock.ms(),
            turn_id=held.turn.id,
            body=asdict(piece),
        )
        events = await self._context.commit_until_stored(
            f"turn {held.turn.id}", partial(lease.append, held, [event], acted=acted)
        )
        self._running.last_seq = events[0].seq
        self._context.hub.publish(events)


async def run_agent(context: WorkerContext, running: RunningTurn) -> Closure:
    """Run the agent, or the function of a `Call`. Returns the closure, also for an agent that fails.

    Raises `LeaseLost` and `StoreError`, and `CancelledError` if the turn was cancelled from outside.
    """
    try:
        if running.held.turn.call is not None:
            return await _call(context, running)
        output = AgentOutput(context, running)
        pieces = context.agent.answer(await _open(context, running.held))
        try:
            async for piece in pieces:
                await output.take(piece)
        finally:
            # A cancelled agent must release its resources now, not at garbage collection.
            if isinstance(pieces, AsyncGenerator):
                await pieces.aclose()
        return await _evaluate(context, running, closure.answered(running.text, running.usage))
    except (LeaseLost, StoreError):
        raise
    except asyncio.CancelledError:
        if running.task.cancelling():
            raise
        return closure.failed("the agent cancelled itself", usage=running.usage)
    except AgentFailed as failure:
        return closure.failed(str(failure), shown=failure.shown, usage=running.usage)
    except (Exception, SystemExit) as error:
        return closure.failed(_short_traceback(error), usage=running.usage)
    finally:
        running.agent_running = False


def _short_traceback(error: BaseException) -> str:
    return "".join(traceback.format_exception(error, limit=-8))


async def _evaluate(context: WorkerContext, running: RunningTurn, ending: Closure) -> Closure:
    """Hold the answer back if it says that there is nothing to report, or if its evaluation says so."""
    turn = running.held.turn
    if turn.source is None or turn.brief is None:
        return ending
    if turn.brief.mode == Mode.CHECK and says_nothing(ending.reply or ""):
        return closure.nothing_to_report(ending)
    if turn.source.kind not in EVALUATED or ending.reply is None:
        return ending
    try:
        passes = await context.evaluate_response(await _open(context, running.held), ending.reply)
    except Exception as error:
        _log.warning("evaluation failed, answer held back: turn %s", turn.id, exc_info=error)
        return closure.not_evaluated(ending, repr(error))
    return ending if passes is True else closure.held_back(ending)


async def _call(context: WorkerContext, running: RunningTurn) -> Closure:
    call = running.held.turn.call or {}
    function = context.functions.get(call["function"])
    if function is None:
        return closure.failed(f"no function is registered as {call['function']!r} in this process")
    opened = await _open(context, running.held)
    try:
        result = await function(opened, **call.get("arguments", {}))
    except (LeaseLost, StoreError) as error:
        # Raised by the function's own use of Segue: this turn's lane is still held and can be settled.
        return closure.failed(_short_traceback(error))
    return closure.answered("" if result is None else str(result), {})


async def _open(context: WorkerContext, held: HeldLane) -> OpenTurn:
    async def history(limit: int) -> list[Message]:
        source = held.turn.source
        given = await assemble(
            MemoryReader(context.store),
            held.session,
            asked=text,
            view=await _view(context, source),
            limit=limit,
            before=held.opened.seq,
            turn_id=held.turn.id,
            job_id=source.job_id if source else None,
        )
        return given.as_messages()

    async def joined() -> list[Message]:
        events = await context.store.commit(lease.join, held, context.clock.ms())
        context.hub.publish(events)
        own = [event for event in events if event.session_id == held.session.id]
        return [message for event in own if (message := message_of(event))]

    turn = held.turn
    text = turn.content if turn.prompt is None else turn.prompt
    prompt = turn.rendered()
    return OpenTurn(
        id=turn.id,
        session=held.session,
        via=await _via(context, held),
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


async def _via(context: WorkerContext, held: HeldLane) -> Session:
    if held.via_id is None:
        return held.session
    try:
        return await context.store.session_by_id(held.via_id)
    except NotFound:  # the chat was deleted
        return held.session


async def _view(context: WorkerContext, source: Source | None) -> View:
    """How much history the job's agent sees. A user's turn sees all."""
    if source is None:
        return View.FULL
    try:
        action = (await context.store.job(source.job_id)).action
    except NotFound:  # the job was pruned
        return View.FULL
    return action.view if isinstance(action, Ask) else View.FULL
