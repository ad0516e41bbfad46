"""Traces with OpenTelemetry: one for each run, from the moment it was due to its delivery.

    async with Kernel(...) as kernel, traced(kernel):
        await kernel.run()

A trace is told when its run has ended, from what is stored of it: nothing is measured on the way, and without
this nothing is loaded. The number of a trace is made of its run's id, so that what one process did and what
another one delivered stand in one trace. Attributes hold ids, numbers and our own words; never a text, a name
or a key that somebody chose.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, TypeAlias

from segue import __version__
from segue.errors import BadSetting, SegueError
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
    """Trace what this kernel runs and delivers, with the provider that is given or the process's own."""
    from opentelemetry import trace

    tracer = (provider or trace.get_tracer_provider()).get_tracer("segue", __version__)
    tasks = await asyncio.TaskGroup().__aenter__()
    watching = tasks.create_task(_watch(kernel, tracer))
    try:
        yield
    finally:
        watching.cancel()
        await tasks.__aexit__(None, None, None)  # what the caller raises stays as it is


@asynccontextmanager
async def exporting() -> AsyncIterator["TracerProvider"]:
    """A provider that sends traces where the usual variables say, `OTEL_EXPORTER_OTLP_ENDPOINT` and so on."""
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as missing:
        raise BadSetting(f"traces need {missing.name}: pip install 'segue[traces]'") from missing
    provider = TracerProvider(resource=Resource.create({"service.name": "segue"}), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    try:
        yield provider
    finally:
        await asyncio.to_thread(provider.shutdown)  # what is still to be sent takes its time


async def _watch(kernel: Kernel, tracer: "Tracer") -> None:
    with kernel.hub.listen(EVERYTHING) as listener:
        while True:
            heard = await listener.next()
            run_id = _ended(heard) if isinstance(heard, Event) else None
            try:
                if run_id is not None:
                    _tell_run(tracer, await kernel.store.run(run_id))
                elif isinstance(heard, DeliverySent) and heard.delivery.turn_id and heard.delivery.source:
                    _tell_delivery(tracer, heard, heard.delivery.source.run_id)
            except SegueError as error:  # deleted meanwhile, or the database is away
                _log.warning("a run could not be traced: %s", error)


def _ended(event: Event) -> str | None:
    """The run that ended with this event: with its turn, or as a written message that was sent."""
    if event.source is None or event.type not in ("stream_end", "message"):
        return None
    return event.source.run_id if event.type == "stream_end" or "delivery_id" in event.body else None


def _tell_run(tracer: "Tracer", run: Run) -> None:
    if run.outcome is None or run.finished_at is None:  # it will be tried again
        return
    told: dict[str, Value] = {
        "segue.run_id": run.id,
        "segue.job_id": run.job_id,
        "segue.outcome": str(run.outcome),
        "segue.attempt": run.attempt,
        "segue.lateness_ms": run.lateness_ms,
        "segue.missed": run.missed_count,
    }
    trace = _trace_of(run.id)
    _span(tracer, trace, "due", run.slot, run.queued_at, told)
    if run.started_at is None:
        _span(tracer, trace, "delivery", run.queued_at, run.finished_at, told)
    else:
        _span(tracer, trace, "wait", run.queued_at, run.started_at, told)
        _span(tracer, trace, "turn", run.started_at, run.finished_at, told)


def _tell_delivery(tracer: "Tracer", sent: DeliverySent, run_id: str) -> None:
    """Of an answer; a written message is delivered when its run ends."""
    delivery = sent.delivery
    told: dict[str, Value] = {
        "segue.run_id": run_id,
        "segue.delivery_id": delivery.id,
        "segue.model.channel": delivery.channel,
        "segue.attempt": delivery.attempt,
    }
    _span(tracer, _trace_of(run_id), "delivery", delivery.created_at, sent.at, told)


def _trace_of(run_id: str) -> "Context":
    """The same in every process that has a part in the run."""
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
    tracer: "Tracer", trace: "Context", name: str, start: int, end: int, told: dict[str, Value]
) -> None:
    span = tracer.start_span(name, context=trace, attributes=told, start_time=start * _NANOSECONDS)
    span.end(max(start, end) * _NANOSECONDS)
