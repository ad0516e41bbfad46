"""LangGraph wire, results of runs: the values of a thread at a run's end, and the stream of a run."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from urllib.parse import quote

from fastapi.responses import Response
from sse_starlette import ServerSentEvent

from segue.server.request_context import AuthenticatedRequest
from segue.server.schemas.common import Problem
from segue.server.wires.conversation import Exchange, name_of, result_of, sse, stream
from segue.server.wires.langgraph_shapes import Json, RunEvents, interrupt_out
from segue.server.wires.langgraph_threads import thread_now
from segue.server.wires.turn_steps import TurnBegan, TurnOver, steps_of


def run_headers(exchange: Exchange) -> dict[str, str]:
    location = f"/threads/{quote(name_of(exchange.key), safe='')}/runs/{exchange.turn.turn_id}"
    return exchange.headers | {"Content-Location": location}


async def values_at_end(request: AuthenticatedRequest, exchange: Exchange, on_disconnect: str) -> Json:
    _, over = await result_of(request, exchange, on_disconnect)
    return await _values(request, exchange, over)


async def _values(request: AuthenticatedRequest, exchange: Exchange, over: TurnOver | None = None) -> Json:
    run = await request.kernel.turns.load(exchange.turn.turn_id, owner=request.owner)
    values = (await thread_now(request.kernel, run.chat)).values
    if over is not None and over.failed:
        return values | {"__error__": _error(over)}
    if over is not None and over.asked is not None:
        asked = interrupt_out(over.asked.question, over.asked.choices, over.turn_id)
        return values | {"__interrupt__": [asked]}
    return values


def _error(over: TurnOver) -> Json:
    return {"error": "TurnFailed", "message": over.notice}


def run_stream(
    request: AuthenticatedRequest, exchange: Exchange, modes: list[str], on_disconnect: str
) -> Response:
    events = RunEvents(exchange.turn.turn_id, modes)

    async def frames() -> AsyncIterator[ServerSentEvent]:
        yield sse({"run_id": exchange.turn.turn_id, "attempt": 1}, "metadata")
        async with aclosing(steps_of(request.kernel, exchange.turn)) as steps:
            async for step in steps:
                for kind, data in events.take(step):
                    yield sse(data, kind)
                if isinstance(step, TurnOver) and step.failed:
                    yield sse(_error(step), "error")
                elif isinstance(step, TurnBegan | TurnOver) and "values" in modes:
                    over = step if isinstance(step, TurnOver) else None
                    yield sse(await _values(request, exchange, over), "values")
        yield sse(None, "end")

    return stream(request, exchange, frames(), on_disconnect, failure=_failure, headers=run_headers(exchange))


def _failure(problem: Problem) -> ServerSentEvent:
    return sse({"error": problem.code, "message": problem.detail}, "error")
