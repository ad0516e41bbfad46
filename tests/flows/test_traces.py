"""One trace for each run: due, wait, turn, delivery."""

import json
import subprocess
import sys

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from segue import Ask, At, Kernel, Say
from segue.model.records import Run
from segue.telemetry.tracing import traced
from segue.testing import ManualClock, RecordingChannel, ScriptedAgent, quiet
from tests.eventually import eventually

SECRET = "the code is 4711"


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


def provider(exporter: InMemorySpanExporter) -> TracerProvider:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider


async def told(exporter: InMemorySpanExporter, count: int) -> dict[str, ReadableSpan]:
    """The spans by their names, when there are so many."""
    await eventually(lambda: len(exporter.get_finished_spans()) >= count, f"{count} spans")
    return {span.name: span for span in exporter.get_finished_spans()}


def lasted(span: ReadableSpan) -> tuple[int, int]:
    return (span.start_time or 0) // 1_000_000, (span.end_time or 0) // 1_000_000


async def played(
    url: str, action: Ask | Say, exporter: InMemorySpanExporter, spans: int
) -> tuple[Run, dict[str, ReadableSpan]]:
    clock, agent = ManualClock(), ScriptedAgent()
    agent.script(f"It is done: {SECRET}")
    async with (
        Kernel(url, agent=agent, channels=[RecordingChannel("telegram")], clock=clock) as kernel,
        traced(kernel, provider(exporter)),
    ):
        job = await kernel.schedule("telegram:42", At(clock.now()), action, name=SECRET)
        await quiet(kernel)
        (run,) = await kernel.runs.list(job=job.id)
        return run, await told(exporter, spans)


async def test_a_run_is_one_trace_from_its_slot_to_its_delivery(
    database_url: str, exporter: InMemorySpanExporter
) -> None:
    """CONTRACT §3, Operations: due, wait, turn, delivery."""
    run, spans = await played(database_url, Ask(SECRET), exporter, 4)
    assert sorted(spans) == ["delivery", "due", "turn", "wait"]
    assert len({span.context.trace_id for span in spans.values() if span.context}) == 1
    assert lasted(spans["due"]) == (run.slot, run.queued_at)
    assert lasted(spans["wait"]) == (run.queued_at, run.started_at)
    assert lasted(spans["turn"]) == (run.started_at, run.finished_at)
    attributes = spans["turn"].attributes or {}
    assert (attributes["segue.run_id"], attributes["segue.outcome"]) == (run.id, "ok")


async def test_a_written_message_has_no_turn(database_url: str, exporter: InMemorySpanExporter) -> None:
    run, spans = await played(database_url, Say(SECRET), exporter, 2)
    assert sorted(spans) == ["delivery", "due"]
    assert lasted(spans["delivery"]) == (run.queued_at, run.finished_at)


async def test_no_message_text_is_in_a_trace(database_url: str, exporter: InMemorySpanExporter) -> None:
    _, spans = await played(database_url, Ask(SECRET), exporter, 4)
    everything = json.dumps([span.to_json() for span in spans.values()])
    assert "4711" not in everything
    assert "telegram:42" not in everything


def test_without_it_nothing_of_it_is_loaded() -> None:
    code = "import sys, segue.cli.support.open_kernel; assert not [n for n in sys.modules if 'opentel' in n]"
    subprocess.run([sys.executable, "-c", code], check=True)
