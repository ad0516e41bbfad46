"""OpenTelemetry traces: one for each run, from the time it was due to its delivery.

    async with Kernel(...) as kernel, traced(kernel):
        await kernel.run()

Spans are made when a run has ended, from what is stored of it: nothing is measured while it runs, and without
`traced` OpenTelemetry is not loaded. The trace id is derived from the run's id, so that spans of several
processes form one trace. Attributes hold ids, numbers and fixed words; never a text, a name or a session key.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, TypeAlias

from segue import __version__
from segue.errors import SegueError
from segue.extras import needed_for
from segue.kernel.kernel import Kernel
from segue.kernel.live.hub import EVERYTHING, DeliverySent
from segue.model.records import Event, Run

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Tracer, TracerProvider

_log = logging.getLogger(__name__)

_NANOSECONDS = 1_000_000
Value: TypeAlias = str | int


@asynccontextmanager
async def traced(kernel: Kernel, provider: "TracerProvider | None" = None) -> AsyncIterator[None]:
    """Trace what this kernel runs and delivers, with the given provider or the process's own."""
    from opentelemetry import trace

    tracer = (provider or trace.get_tracer_provider()).get_tracer("segue", __version__)
    tasks = await asyncio.TaskGroup().__aenter__()
    watching = tasks.create_task(_watch(kernel, tracer))
    try:
        yield
    finally:
        watching.cancel()
        await tasks.__aexit__(None, None, None)  # an exception of the caller is not wrapped in a group


@asynccontextmanager
async def exporting() -> AsyncIterator["TracerProvider"]:
    """Yield a provider that exports as `OTEL_EXPORTER_OTLP_ENDPOINT` etc. say. Raises `MissingPackage`."""
    with needed_for("`traces = true`"):
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    provider = TracerProvider(resource=Resource.create({"service.name": "segue"}), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    try:
        yield provider
    finally:
        await asyncio.to_thread(provider.shutdown)  # it blocks until pending spans are sent


async def _watch(kernel: Kernel, tracer: "Tracer") -> None:
    with kernel.hub.listen(EVERYTHING) as listener:
        while True:
            notice = await listener.next()
            try:
                if isinstance(notice, Event) and (run_id := _ended_run(notice)) is not None:
                    session = await kernel.sessions.by_id(notice.session_id)
                    _trace_run(tracer, await kernel.runs.get(run_id, owner=session.owner))
                elif isinstance(notice, DeliverySent) and notice.delivery.turn_id and notice.delivery.source:
                    _trace_delivery(tracer, notice, notice.delivery.source.run_id)
            except SegueError as error:  # the run was deleted, or the database is unreachable
                _log.warning("run not traced: %s", error)


def _ended_run(event: Event) -> str | None:
    """Return the run that ended with this event: by its turn's end, or by a scheduled message sent."""
    if event.source is None or event.type not in ("stream_end", "message"):
        return None
    return event.source.run_id if event.type == "stream_end" or "delivery_id" in event.body else None


def _trace_run(tracer: "Tracer", run: Run) -> None:
    if run.outcome is None or run.finished_at is None:  # it will be retried
        return
    attributes: dict[str, Value] = {
        "segue.run_id": run.id,
        "segue.job_id": run.job_id,
        "segue.outcome": str(run.outcome),
        "segue.attempt": run.attempt,
        "segue.lateness_ms": run.lateness_ms,
        "segue.missed": run.missed_count,
    }
    trace = _context_of(run.id)
    _span(tracer, trace, "due", run.slot, run.queued_at, attributes)
    if run.started_at is None:
        _span(tracer, trace, "delivery", run.queued_at, run.finished_at, attributes)
    else:
        _span(tracer, trace, "wait", run.queued_at, run.started_at, attributes)
        _span(tracer, trace, "turn", run.started_at, run.finished_at, attributes)


def _trace_delivery(tracer: "Tracer", sent: DeliverySent, run_id: str) -> None:
    """Make the span of an answer's delivery. That of a scheduled message is made with its run."""
    delivery = sent.delivery
    attributes: dict[str, Value] = {
        "segue.run_id": run_id,
        "segue.delivery_id": delivery.id,
        "segue.channel": delivery.channel,
        "segue.attempt": delivery.attempt,
    }
    _span(tracer, _context_of(run_id), "delivery", delivery.created_at, sent.at, attributes)


def _context_of(run_id: str) -> "Context":
    """Return the trace context of a run, which is the same in every process."""
    from opentelemetry import trace

    digest = sha256(run_id.encode()).digest()
    root = trace.SpanContext(
        trace_id=int.from_bytes(digest[:16]),
        span_id=int.from_bytes(digest[16:24]),
        is_remote=True,
        trace_flags=trace.TraceFlags(trace.TraceFlags.SAMPLED),
    )
    return trace.set_span_in_context(trace.NonRecordingSpan(root))


def _span(
    tracer: "Tracer", trace: "Context", name: str, start: int, end: int, attributes: dict[str, Value]
) -> None:
    span = tracer.start_span(name, context=trace, attributes=attributes, start_time=start * _NANOSECONDS)
    span.end(max(start, end) * _NANOSECONDS)
