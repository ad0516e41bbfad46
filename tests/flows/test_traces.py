"""One trace for each run and each user's turn, with the spans of the agent's framework in it."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager
from datetime import timedelta

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic_ai import Agent
from pydantic_ai.capabilities import Instrumentation
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_ai.models.instrumented import InstrumentationSettings

from segue import Ask, At, Kernel, Policy, Say, ToolCalled, ToolStarted, Usage
from segue.adapters.pydantic_ai import adapt
from segue.errors import AgentFailed
from segue.kernel.live.observers import Observer
from segue.kernel.live.running import RunningTurn
from segue.model.records import Run
from segue.model.states import JobKind
from segue.telemetry.tracing import provider_with_roots, traced
from segue.testing import ManualClock, RecordingChannel, ScriptedAgent, quiet
from tests.eventually import eventually

SECRET = "the code is 4711"


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


def provider(exporter: InMemorySpanExporter) -> TracerProvider:
    provider = provider_with_roots(shutdown_on_exit=False)
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


def parent(span: ReadableSpan, spans: dict[str, ReadableSpan]) -> str | None:
    """The name of the span's parent."""
    if span.parent is None:
        return None
    return {each.context.span_id: name for name, each in spans.items() if each.context}[span.parent.span_id]


def tree(spans: dict[str, ReadableSpan]) -> dict[str, str | None]:
    """The name of each span's parent; all are of one trace."""
    assert len({span.context.trace_id for span in spans.values() if span.context}) == 1
    return {name: parent(span, spans) for name, span in spans.items()}


RUN = {
    "run": None,
    "due": "run",
    "wait": "run",
    "turn": "run",
    "invoke_agent": "turn",
    "delivery": "run",
}


async def test_a_run_is_one_trace_from_its_slot_to_its_delivery(
    database_url: str, exporter: InMemorySpanExporter
) -> None:
    """CONTRACT §3, Operations: due, wait, turn, delivery."""
    run, spans = await played(database_url, Ask(SECRET), exporter, len(RUN))
    assert tree(spans) == RUN
    assert lasted(spans["due"]) == (run.slot, run.queued_at)
    assert lasted(spans["wait"]) == (run.queued_at, run.started_at)
    assert lasted(spans["turn"]) == (run.started_at, run.finished_at)
    assert lasted(spans["run"]) == (run.slot, run.finished_at)
    attributes = spans["run"].attributes or {}
    assert (attributes["segue.run_id"], attributes["segue.outcome"]) == (run.id, "ok")


async def test_a_users_turn_is_one_trace_with_the_tokens_and_the_tools_of_its_agent(
    database_url: str, exporter: InMemorySpanExporter
) -> None:
    agent = ScriptedAgent()
    used = Usage({"input_tokens": 12, "output_tokens": 3, "model": "scripted"})
    started = ToolStarted(call_id="1", name="look", arguments={"at": SECRET})
    called = ToolCalled(call_id="1", name="look", result=SECRET, arguments={"at": SECRET})
    agent.script([started, called, "It is nine.", used])
    async with (
        Kernel(database_url, agent=agent, channels=[RecordingChannel("telegram")]) as kernel,
        traced(kernel, provider(exporter)),
    ):
        queued = await kernel.receive("telegram:42", SECRET)
        await quiet(kernel)
        spans = await told(exporter, 6)
        session = await kernel.sessions.get("telegram:42")
    assert tree(spans) == {
        "message": None,
        "wait": "message",
        "turn": "message",
        "invoke_agent": "turn",
        "execute_tool look": "invoke_agent",
        "delivery": "message",
    }
    attributes = dict(spans["invoke_agent"].attributes or {})
    assert attributes == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.conversation.id": session.id,
        "gen_ai.usage.input_tokens": 12,
        "gen_ai.usage.output_tokens": 3,
        "gen_ai.response.model": "scripted",
        "segue.outcome": "ok",
    }
    assert (spans["turn"].attributes or {})["segue.turn_id"] == queued.turn_id
    assert "4711" not in json.dumps([span.to_json() for span in spans.values()])


async def test_the_spans_of_a_framework_are_inside_the_agents_span(
    database_url: str, exporter: InMemorySpanExporter
) -> None:
    """With pydantic-ai's own instrumentation: its run, its model request and its tool."""
    spans_of = provider(exporter)
    model = FunctionModel(stream_function=calls_a_tool)
    settings = InstrumentationSettings(tracer_provider=spans_of, include_content=False)
    framework = Agent(model, capabilities=[Instrumentation(settings=settings)], name="clockwork")

    @framework.tool_plain
    def look() -> str:
        return "nine"

    clock = ManualClock()
    async with (
        Kernel(database_url, agent=adapt(framework, tools=()), clock=clock) as kernel,
        traced(kernel, spans_of),
    ):
        job = await kernel.schedule("web:1", At(clock.now()), Ask("What time is it?"))
        await kernel.drain()
        (run,) = await kernel.runs.list(job=job.id)
    assert run.outcome == "ok", run.error
    spans = {span.name: span for span in exporter.get_finished_spans()}
    names = tree(spans)
    (own,) = [name for name, above in names.items() if above == "invoke_agent"]
    assert own.startswith("invoke_agent ")
    assert {names[name] for name in names if name.startswith("chat ")} == {own}
    (tool,) = [name for name in names if "look" in name]
    assert names[tool] in (own, "running tools")


async def calls_a_tool(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
    if len(messages) == 1:
        yield {0: DeltaToolCall(name="look", json_args="{}", tool_call_id="1")}
    else:
        yield "It is nine."


async def test_an_agent_that_fails_and_is_tried_again_has_two_turns_in_one_trace(
    database_url: str, exporter: InMemorySpanExporter
) -> None:
    clock, agent = ManualClock(), ScriptedAgent()
    agent.script(AgentFailed("no network"), "It is nine.")
    async with (
        Kernel(database_url, agent=agent, clock=clock) as kernel,
        traced(kernel, provider(exporter)),
    ):
        await kernel.schedule("web:1", At(clock.now()), Ask("x"), policy=Policy(retries=1))
        await quiet(kernel)
        clock.advance(timedelta(minutes=10))
        await quiet(kernel)
    turns = [span for span in exporter.get_finished_spans() if span.name == "turn"]
    assert [(span.attributes or {})["segue.outcome"] for span in turns] == ["error", "ok"]
    assert [span.status.status_code.name for span in turns] == ["ERROR", "UNSET"]
    assert [span.name for span in exporter.get_finished_spans()].count("run") == 1
    assert len({span.context.trace_id for span in exporter.get_finished_spans() if span.context}) == 1


async def test_a_foreign_provider_gets_one_trace_too(
    database_url: str, exporter: InMemorySpanExporter
) -> None:
    own = TracerProvider(shutdown_on_exit=False)
    own.add_span_processor(SimpleSpanProcessor(exporter))
    async with Kernel(database_url, agent=ScriptedAgent()) as kernel, traced(kernel, own):
        await kernel.receive("web:1", "What time is it?")
        await kernel.drain()
    spans = exporter.get_finished_spans()
    assert sorted(span.name for span in spans) == ["invoke_agent", "message", "turn", "wait"]
    assert len({span.context.trace_id for span in spans if span.context}) == 1


async def test_a_written_message_has_no_turn(database_url: str, exporter: InMemorySpanExporter) -> None:
    run, spans = await played(database_url, Say(SECRET), exporter, 3)
    assert tree(spans) == {"run": None, "due": "run", "delivery": "run"}
    assert lasted(spans["delivery"]) == (run.queued_at, run.finished_at)


async def test_no_message_text_is_in_a_trace(database_url: str, exporter: InMemorySpanExporter) -> None:
    _, spans = await played(database_url, Ask(SECRET), exporter, len(RUN))
    everything = json.dumps([span.to_json() for span in spans.values()])
    assert "4711" not in everything
    assert "telegram:42" not in everything


async def test_an_observer_that_fails_disturbs_no_turn(
    database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(Observer):
        def turn(self, running: RunningTurn) -> AbstractContextManager[None]:
            raise RuntimeError("no collector")

        def run_fired(self, kind: JobKind, lateness_ms: int) -> None:
            raise RuntimeError("no collector")

    clock = ManualClock()
    async with Kernel(database_url, agent=ScriptedAgent(), clock=clock) as kernel:
        with kernel.observers.added(Broken()):
            await kernel.schedule("web:1", At(clock.now()), Ask("x"))
            await kernel.drain()
        assert [run.outcome for run in await kernel.runs.list("web:1")] == ["ok"]
    assert caplog.text.count("observer failed") == 2


def test_without_it_nothing_of_it_is_loaded() -> None:
    code = "import sys, segue.cli.support.open_kernel; assert not [n for n in sys.modules if 'opentel' in n]"
    subprocess.run([sys.executable, "-c", code], check=True)
