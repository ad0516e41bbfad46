"""Runs the agent for one turn: publishes its text live, stores its tool calls, returns the closure."""

import asyncio
import logging
import traceback
from collections.abc import AsyncGenerator
from dataclasses import asdict, replace
from functools import partial

from segue.errors import AgentFailed, LeaseLost, NotJson, StoreError, TurnEnded, UnknownModel
from segue.kernel.live.hub import LiveText
from segue.kernel.live.running import LONGEST_ANSWER, CancelReason, RunningTurn
from segue.kernel.transactions import lease
from segue.kernel.workers.open_turn import open_turn
from segue.kernel.workers.worker_context import WorkerContext
from segue.model import closure
from segue.model.agent import (
    Attach,
    Delta,
    OpenTurn,
    Text,
    Thinking,
    ToolCalled,
    ToolStarted,
    Usage,
    Waiting,
    enter_turn,
    json_text,
    open_question,
)
from segue.model.closure import Closure, OpenQuestion
from segue.model.cost.usage import normalised
from segue.model.evaluation import says_nothing
from segue.model.files import File, text_of
from segue.model.prompts import Mode
from segue.model.records import Event, Turn
from segue.model.states import EVALUATED
from segue.model.text_checks import clean

_log = logging.getLogger(__name__)


class AgentOutput:
    """Handles what an agent yields or tells: text, thoughts, tool calls, usage, files, a question.

    Deltas are taken one after the other, also if several tasks tell them. The agent's end and a `Waiting`
    close it; a later one raises `TurnEnded`.
    """

    def __init__(self, context: WorkerContext, running: RunningTurn) -> None:
        self._context = context
        self._running = running
        self._one_at_a_time = asyncio.Lock()
        self._closed = False
        self.waiting: OpenQuestion | None = None
        self.files: tuple[File, ...] = ()
        self.tools_called = 0

    async def take(self, piece: Delta | str) -> None:
        async with self._one_at_a_time:
            if self._closed:
                raise TurnEnded(
                    f"turn {self._running.held.turn.id} has ended; tell it before its agent returns, and "
                    "await the tasks that tell"
                )
            await self._take(piece)

    async def close(self) -> None:
        """Wait for a delta that is being stored, and take no more."""
        async with self._one_at_a_time:
            self._closed = True

    async def stop_over_budget(self) -> None:
        """Called when another model step is about to begin, or has begun."""
        if self._running.is_over_budget:
            self._running.cancel(CancelReason.OVER_BUDGET, self._context.clock.steady_ms())
            if asyncio.current_task() is self._running.task:
                await asyncio.Event().wait()  # the cancellation is raised here

    async def _take(self, piece: Delta | str) -> None:
        if self._running.usage and isinstance(piece, str | Text | Thinking | Usage):
            await self.stop_over_budget()  # what a further model step yields
        match piece:
            case str() | Text():
                self._add_text(piece if isinstance(piece, str) else piece.text)
            case Thinking(text):
                self._add_thought(text)
            case ToolStarted():
                self.tools_called += 1
                # Committed before the agent continues: after a crash the turn counts as one that acted.
                await self._store_event("tool_started", piece, acted=True)
                self._context.observers.tell(lambda each: each.tool_started(self._running, piece))
            case ToolCalled():
                self._context.observers.tell(lambda each: each.tool_called(self._running, piece))
                await self._store_event("tool_call", piece, acted=False)
            case Usage(figures):
                self._running.usage = normalised(figures)
            case Attach(file):
                turn = self._running.held.turn
                self.files = await self._context.files_of_answer(turn, (*self.files, file))
            case Waiting():
                said, turn_id = self._running.text_length, self._running.held.turn.id
                self.waiting = open_question(piece, turn_id, self._context.clock.ms(), said=said)
                self._add_text(f"\n\n{self.waiting.words}" if said else self.waiting.words)
                self._closed = True
            case _:
                raise AgentFailed(f"an agent yields strings and deltas, got {type(piece).__name__}")

    def _add_text(self, text: str) -> None:
        text = clean(text)
        if self._running.text_length + len(text) > LONGEST_ANSWER:
            raise AgentFailed(f"the answer grew beyond {LONGEST_ANSWER:,} characters")
        self._publish("stream_delta", self._running.text_length, text)
        self._running.add_text(text)

    def _add_thought(self, text: str) -> None:
        text = clean(text)
        if self._running.thought_length + len(text) > LONGEST_ANSWER:
            raise AgentFailed(f"the thoughts grew beyond {LONGEST_ANSWER:,} characters")
        self._publish("thinking_delta", self._running.thought_length, text)
        self._running.add_thought(text)

    def _publish(self, kind: str, offset: int, text: str) -> None:
        turn = self._running.held.turn
        self._context.hub.live(
            LiveText(
                session_id=turn.session_id,
                via_id=turn.chat_id,
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
    output = AgentOutput(context, running)
    try:
        turn = await open_turn(context, running, output.take, output.stop_over_budget)
        enter_turn(turn)
        if running.held.turn.call is not None:
            return await _call(context, running, turn)
        _check_models(context, turn)
        await _drive(context, turn, output, _said(running.held.turn))
        if output.waiting is not None:
            ending = closure.asked(running.text, running.usage, output.waiting)
        else:
            text = running.text if running.text.strip() else text_of(output.files)
            answered = closure.answered(text, running.usage)
            ending = await _evaluate(context, running, turn, answered, tools_called=output.tools_called)
        if output.files and ending.reply is not None and not ending.quiet:
            ending = replace(ending, parts=output.files)
        saved = json_text(turn.saved, "turn.saved") if turn.saved else "{}"
        return ending if saved == running.held.saved else replace(ending, saved=saved)
    except (LeaseLost, StoreError):
        raise
    except asyncio.CancelledError:
        if running.task.cancelling():
            raise
        return closure.failed("the agent cancelled itself", usage=running.usage)
    except AgentFailed as failure:
        return closure.failed(str(failure), shown=failure.shown, code=failure.code, usage=running.usage)
    except NotJson as error:
        return closure.failed(str(error), usage=running.usage)
    except (Exception, SystemExit) as error:
        return closure.failed(_short_traceback(error), usage=running.usage)
    finally:
        running.agent_running = False
        running.stopping.set()


async def _drive(context: WorkerContext, turn: OpenTurn, output: AgentOutput, said: str | None) -> None:
    """Run the agent to its end, or until it waits for a person. `said`: the answer, without the agent."""
    if said is not None:
        await output.take(said)
        await output.close()
        return
    pieces = context.agent.answer(turn)
    try:
        async for piece in pieces:
            if output.waiting is not None:
                break
            await output.take(piece)
    finally:
        # A cancelled agent must release its resources now, not at garbage collection.
        if isinstance(pieces, AsyncGenerator):
            await pieces.aclose()
        await output.close()


def _said(turn: Turn) -> str | None:
    """The text that a turn says word for word; None for a turn of the agent."""
    return turn.prompt if turn.brief is not None and turn.brief.mode == Mode.SAY else None


def _short_traceback(error: BaseException) -> str:
    return "".join(traceback.format_exception(error, limit=-8))


def _check_models(context: WorkerContext, turn: OpenTurn) -> None:
    """Raises `AgentFailed` if the settings no longer have a model that the job names."""
    try:
        context.settings.check_model(turn.model)
        context.settings.check_model(turn.look)
    except UnknownModel as error:
        missing = turn.look if turn.model in (None, *(context.settings.models or ())) else turn.model
        shown = f"The model “{missing}” of this job is no longer in the settings. Choose another one for it."
        raise AgentFailed(str(error), shown=shown, code=error.code) from error


async def _evaluate(
    context: WorkerContext, running: RunningTurn, opened: OpenTurn, ending: Closure, *, tools_called: int
) -> Closure:
    """Hold the answer back if it says that there is nothing to report, or if its evaluation says so."""
    turn = running.held.turn
    if turn.source is None or turn.brief is None:
        return ending
    if turn.brief.mode == Mode.CHECK and says_nothing(ending.reply or ""):
        return closure.nothing_to_report(ending, tools_called=tools_called)
    if turn.source.kind not in EVALUATED or ending.reply is None:
        return ending
    try:
        passes = await context.evaluate_response(opened, ending.reply)
    except Exception as error:
        _log.warning("evaluation failed, answer held back: turn %s", turn.id, exc_info=error)
        return closure.not_evaluated(ending, repr(error))
    return ending if passes is True else closure.held_back(ending)


async def _call(context: WorkerContext, running: RunningTurn, opened: OpenTurn) -> Closure:
    call = running.held.turn.call or {}
    function = context.functions.get(call["function"])
    if function is None:
        return closure.failed(f"no function is registered as {call['function']!r} in this process")
    try:
        result = await function(opened, **call.get("arguments", {}))
    except (LeaseLost, StoreError) as error:
        # Raised by the function's own use of Segue: this turn's lane is still held and can be settled.
        return closure.failed(_short_traceback(error))
    return closure.answered("" if result is None else str(result), {})
