"""OpenTelemetry traces: one for each run and each user's turn, from the time it was due to its delivery.

    async with Kernel(...) as kernel, traced(kernel):
        await kernel.run()

    run                          a scheduled run, from its slot; `message` for a user's turn
    ├── due                      from its slot until a worker took it
    ├── wait                     in the queue of its session
    ├── turn                     one for each attempt
    │   └── invoke_agent         current while the agent runs: a framework's own spans are inside it
    │       ├── chat …           made by the framework
    │       └── execute_tool …   made here if the framework makes none
    └── delivery                 of the answer, or of a written message

Names and attributes of `invoke_agent` and `execute_tool` are those of OpenTelemetry's conventions for
generative AI. Attributes hold ids, numbers and fixed words; never a text, a name or a session key. Without
`traced`, OpenTelemetry is not loaded.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from segue import __version__
from segue.extras import needed_for
from segue.kernel.kernel import Kernel
from segue.kernel.live.observers import Observer
from segue.kernel.live.running import RunningTurn
from segue.model.agent import ToolCalled, ToolStarted
from segue.model.records import Delivery, Event, Turn, slot_of

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider as SdkProvider
    from opentelemetry.trace import Span, TracerProvider

_NANOSECONDS = 1_000_000
Value: TypeAlias = str | int | float


@asynccontextmanager
async def traced(kernel: Kernel, provider: "TracerProvider | None" = None) -> AsyncIterator[None]:
    """Trace what this kernel runs and delivers, with the given provider or the process's own.

    `provider_with_roots` makes a provider whose traces have a root span. In traces of any other, the spans
    have a parent that is not there.
    """
    from opentelemetry import trace

    with kernel.observers.added(_Tracing(kernel, provider or trace.get_tracer_provider())):
        yield


def provider_with_roots(**options: Any) -> "SdkProvider":
    """Return a `TracerProvider` with these arguments that can give a root span the id that it must have."""
    with needed_for("`traces = true`"):
        from opentelemetry.sdk.trace import TracerProvider

    from segue.telemetry.trace_ids import DerivedIds

    return TracerProvider(id_generator=DerivedIds(), **options)


@asynccontextmanager
async def exporting() -> AsyncIterator["TracerProvider"]:
    """Yield a provider that exports as `OTEL_EXPORTER_OTLP_ENDPOINT` etc. say. Raises `MissingPackage`."""
    with needed_for("`traces = true`"):
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    provider = provider_with_roots(
        resource=Resource.create({"service.name": "segue"}), shutdown_on_exit=False
    )
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    try:
        yield provider
    finally:
        await asyncio.to_thread(provider.shutdown)  # it blocks until pending spans are sent


class _Tracing(Observer):
    def __init__(self, kernel: Kernel, provider: "TracerProvider") -> None:
        from opentelemetry import trace

        from segue.telemetry import trace_ids

        self._clock = kernel.clock
        self._tracer = provider.get_tracer("segue", __version__)
        self._has_roots = isinstance(getattr(provider, "id_generator", None), trace_ids.DerivedIds)
        self._ids = trace_ids
        self._trace = trace
        self._agents: dict[RunningTurn, Span] = {}
        self._tools: dict[tuple[RunningTurn, str], int] = {}

    @contextmanager
    def turn(self, running: RunningTurn) -> Iterator[None]:
        turn = running.held.turn
        started = turn.started_at or self._clock.ms()
        subject, attributes = _subject(turn), _attributes(turn)
        if turn.run_id is not None and turn.attempt == 1:
            self._past(subject, "due", slot_of(turn.run_id), turn.queued_at, attributes)
        waited_from = turn.queued_at if turn.attempt == 1 else min(turn.not_before, started)
        self._past(subject, "wait", waited_from, started, attributes)
        with self._open("turn", started, attributes, below=subject) as span:
            yield
            _set_end(span, running)
        ending = running.ending
        if ending is not None and not running.retried:
            self._root(turn.run_id, turn.queued_at, subject, {**attributes, **_outcome(ending.outcome)})

    @contextmanager
    def agent(self, running: RunningTurn) -> Iterator[None]:
        attributes: dict[str, Value] = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.conversation.id": running.held.session.id,
        }
        with self._open("invoke_agent", self._clock.ms(), attributes) as span:
            self._agents[running] = span
            try:
                yield
            finally:
                del self._agents[running]
                span.set_attributes(_usage(running))
                _set_end(span, running)

    def tool_started(self, running: RunningTurn, call: ToolStarted) -> None:
        # A framework that makes spans has one open now, and makes one for its tool too.
        if self._trace.get_current_span() is self._agents.get(running):
            self._tools[running, call.call_id] = self._clock.ms()

    def tool_called(self, running: RunningTurn, call: ToolCalled) -> None:
        started = self._tools.pop((running, call.call_id), None)
        agent = self._agents.get(running)
        if started is None or agent is None:
            return
        attributes: dict[str, Value] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.name,
            "gen_ai.tool.call.id": call.call_id,
        }
        span = self._tracer.start_span(
            f"execute_tool {call.name}",
            context=self._trace.set_span_in_context(agent),
            attributes=attributes,
            start_time=started * _NANOSECONDS,
        )
        if call.error is not None:
            _set_error(span, "tool_error")
        span.end(self._now())

    def turn_reclaimed(self, end: Event) -> None:
        outcome = end.body.get("outcome")
        if outcome is not None and end.turn_id is not None:
            run_id = end.source.run_id if end.source else None
            attributes = {"segue.turn_id": end.turn_id, "segue.session_id": end.session_id}
            self._root(run_id, end.at, run_id or end.turn_id, {**attributes, **_outcome(outcome)})

    def delivery_ended(self, delivery: Delivery, result: str, at: int) -> None:
        run_id = delivery.source.run_id if delivery.source else delivery.run_id
        subject = run_id or delivery.turn_id
        if subject is None:
            return
        attributes: dict[str, Value] = {
            "segue.delivery_id": delivery.id,
            "segue.session_id": delivery.session_id,
            "segue.channel": delivery.channel,
            "segue.result": result,
            "segue.attempt": delivery.attempt,
        }
        if run_id is not None and delivery.turn_id is None and delivery.attempt == 1:  # a written message
            self._past(subject, "due", slot_of(run_id), delivery.created_at, attributes)
        self._past(subject, "delivery", delivery.created_at, at, attributes)
        if run_id is not None and delivery.turn_id is None and result != "retried":
            self._root(run_id, delivery.created_at, subject, attributes)

    def _root(self, run_id: str | None, queued_at: int, subject: str, attributes: dict[str, Value]) -> None:
        """Make the root span, now that its end is known."""
        name, start = ("message", queued_at) if run_id is None else ("run", slot_of(run_id))
        if run_id is not None:
            attributes = {**attributes, "segue.lateness_ms": max(0, queued_at - start)}
        root = self._ids.root_of(subject)
        if not self._has_roots:
            self._past(subject, name, start, self._clock.ms(), attributes)
            return
        with self._ids.next_root(root) as context:
            span = self._tracer.start_span(
                name, context=context, attributes=attributes, start_time=start * _NANOSECONDS
            )
        span.end(self._now())

    def _past(self, subject: str, name: str, start: int, end: int, attributes: dict[str, Value]) -> None:
        """Make the span of something that has ended."""
        context = self._ids.below(self._ids.root_of(subject))
        start_time = min(start, end) * _NANOSECONDS
        span = self._tracer.start_span(name, context=context, attributes=attributes, start_time=start_time)
        span.end(end * _NANOSECONDS)

    @contextmanager
    def _open(
        self, name: str, start: int, attributes: dict[str, Value], *, below: str | None = None
    ) -> Iterator["Span"]:
        """A span that is current inside."""
        context = None if below is None else self._ids.below(self._ids.root_of(below))
        start_time = start * _NANOSECONDS
        span = self._tracer.start_span(name, context=context, attributes=attributes, start_time=start_time)
        with self._trace.use_span(span, record_exception=False, set_status_on_exception=False):
            try:
                yield span
            finally:
                span.end(self._now())

    def _now(self) -> int:
        """The end of this millisecond, so that no span inside of one ends after it."""
        return self._clock.ms() * _NANOSECONDS + _NANOSECONDS - 1


def _subject(turn: Turn) -> str:
    return turn.run_id or turn.id


def _attributes(turn: Turn) -> dict[str, Value]:
    found: dict[str, Value] = {
        "segue.turn_id": turn.id,
        "segue.session_id": turn.session_id,
        "segue.attempt": turn.attempt,
    }
    if turn.run_id is not None and turn.source is not None:
        found |= {"segue.run_id": turn.run_id, "segue.job_id": turn.source.job_id}
        found["segue.missed"] = turn.brief.missed if turn.brief else 0
    return found


def _outcome(outcome: str) -> dict[str, Value]:
    return {"segue.outcome": str(outcome)}


def _usage(running: RunningTurn) -> dict[str, Value]:
    """Tokens and the model, as the agent reported them."""
    figures = running.usage
    found: dict[str, Value] = {
        f"gen_ai.usage.{name}": figures[name]
        for name in ("input_tokens", "output_tokens")
        if isinstance(figures.get(name), int)
    }
    if isinstance(model := figures.get("model"), str):
        found["gen_ai.response.model"] = model
    return found


def _set_end(span: "Span", running: RunningTurn) -> None:
    if running.ending is None:
        return
    span.set_attributes(_outcome(running.ending.outcome))
    if running.ending.error is not None:
        _set_error(span, str(running.ending.outcome))


def _set_error(span: "Span", kind: str) -> None:
    from opentelemetry.trace import Status, StatusCode

    span.set_attribute("error.type", kind)
    span.set_status(Status(StatusCode.ERROR))
