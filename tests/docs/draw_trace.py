"""Draws a trace as a picture: one run of a pydantic-ai agent, exported in memory, with all of its spans.

python -m tests.docs.draw_trace > docs/images/trace.svg
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from html import escape

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic_ai import Agent
from pydantic_ai.capabilities import Instrumentation
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_ai.models.instrumented import InstrumentationSettings

from segue import Ask, At, Kernel, Receipt
from segue.adapters.pydantic_ai import adapt
from segue.telemetry.tracing import provider_with_roots, traced
from segue.testing import RecordingChannel
from tests.eventually import eventually

ROW, LEFT, WIDTH = 30, 300, 620
OURS, THEIRS = "#3b6fb6", "#c2662d"


async def model(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
    await asyncio.sleep(0.25)
    if messages[-1].parts[-1].part_kind != "tool-return":
        yield {0: DeltaToolCall(name="read_build_log", json_args="{}", tool_call_id="1")}
    else:
        yield "The build is green."


class SlowChannel(RecordingChannel):
    async def send(self, delivery: object) -> Receipt:
        await asyncio.sleep(0.1)
        return Receipt("1")


async def trace() -> Sequence[ReadableSpan]:
    exporter = InMemorySpanExporter()
    provider = provider_with_roots(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    settings = InstrumentationSettings(tracer_provider=provider, include_content=False)
    agent = Agent(
        FunctionModel(stream_function=model, model_name="scripted"),
        capabilities=[Instrumentation(settings=settings)],
        name="builder",
    )

    @agent.tool_plain
    async def read_build_log() -> str:
        await asyncio.sleep(0.15)
        return "green"

    channel = SlowChannel("telegram")
    async with (
        Kernel("sqlite://:memory:", agent=adapt(agent, tools=()), channels=[channel]) as kernel,
        traced(kernel, provider),
        asyncio.TaskGroup() as tasks,
    ):
        workers = tasks.create_task(kernel.run())
        # A user's turn is running when the job comes due, so its own turn waits.
        await kernel.schedule("telegram:42", At("in 1 second"), Ask("Is the build green?"))
        await asyncio.sleep(0.8)
        await kernel.receive("telegram:42", "What is new?")
        await eventually(lambda: _count("delivery", exporter.get_finished_spans()) == 2, "both are delivered")
        workers.cancel()
    spans = exporter.get_finished_spans()
    (run,) = [span for span in spans if span.name == "run"]
    return [span for span in spans if span.context.trace_id == run.context.trace_id]


def _count(name: str, spans: Sequence[ReadableSpan]) -> int:
    return sum(span.name == name for span in spans)


def in_order(
    spans: Sequence[ReadableSpan], above: int | None = None, depth: int = 0
) -> Iterator[tuple[int, ReadableSpan]]:
    below = [span for span in spans if (span.parent.span_id if span.parent else None) == above]
    for span in sorted(below, key=lambda span: span.start_time or 0):
        yield depth, span
        yield from in_order(spans, span.context.span_id, depth + 1)


def draw(spans: Sequence[ReadableSpan]) -> Iterator[str]:
    rows = list(in_order(spans))
    start = min(span.start_time or 0 for _, span in rows)
    length = max(span.end_time or 0 for _, span in rows) - start
    height = ROW * (len(rows) + 2)
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 100} {height}" '
    yield 'font-family="system-ui, sans-serif" font-size="14" role="img">'
    yield "<title>One trace of a scheduled run</title>"
    yield f'<rect width="100%" height="{height}" fill="#fff"/>'
    for number, (depth, span) in enumerate(rows):
        y = ROW * number + 12
        begin, end = (span.start_time or 0) - start, (span.end_time or 0) - start
        x, width = LEFT + WIDTH * begin / length, max(2, WIDTH * (end - begin) / length)
        scope = span.instrumentation_scope.name if span.instrumentation_scope else ""
        colour = OURS if scope == "segue" else THEIRS
        yield f'<text x="{12 + 16 * depth}" y="{y + 15}" fill="#222">{escape(span.name)}</text>'
        yield f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="20" rx="3" fill="{colour}"/>'
        label = f"{(end - begin) / 1e6:,.0f} ms"
        yield f'<text x="{x + width + 6:.1f}" y="{y + 15}" fill="#555" font-size="12">{label}</text>'
    y = ROW * len(rows) + 24
    yield f'<rect x="12" y="{y}" width="14" height="14" fill="{OURS}"/>'
    yield f'<text x="32" y="{y + 12}" fill="#222">made by Segue</text>'
    yield f'<rect x="150" y="{y}" width="14" height="14" fill="{THEIRS}"/>'
    yield f'<text x="170" y="{y + 12}" fill="#222">made by the agent\'s framework (pydantic-ai)</text>'
    yield "</svg>"


if __name__ == "__main__":
    sys.stdout.write("\n".join(draw(asyncio.run(trace()))) + "\n")
