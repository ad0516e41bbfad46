"""Graphs of your own in LangGraph: interrupts, lost checkpoints, tools of synchronous nodes."""

from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from segue import Kernel, Outcome, Turn
from segue.adapters.langgraph import Graph, adapt
from segue.testing import quiet


def ask_colour(state: MessagesState) -> dict[str, Any]:
    return {"messages": [AIMessage(f"Painted {interrupt('Which colour?')}.")]}


def paint(state: MessagesState) -> dict[str, Any]:
    return {"messages": [AIMessage(f"Painted after {len(state['messages'])} messages.")]}


def graph(node: Any, saver: InMemorySaver, **compiled: Any) -> Graph:
    made = StateGraph(MessagesState).add_node("paint", node).add_edge(START, "paint")
    return made.compile(checkpointer=saver, **compiled)


async def ask(kernel: Kernel, text: str, replaces: str | None = None) -> Turn:
    admitted = await kernel.receive("web:anna", text, replaces=replaces)
    await quiet(kernel)
    return await kernel.turns.get(admitted.turn_id)


async def test_a_question_of_a_node_is_answered_by_the_next_message() -> None:
    agent = adapt(graph(ask_colour, InMemorySaver()), tools=())
    async with Kernel("sqlite://:memory:", agent=agent) as kernel:
        asked = await ask(kernel, "Paint it.")
        answered = await ask(kernel, "blue")
    assert (asked.outcome, asked.reply) == (Outcome.ASKED, "Which colour?")
    assert (answered.outcome, answered.reply) == (Outcome.OK, "Painted blue.")


async def test_a_replaced_turn_leaves_the_thread() -> None:
    agent = adapt(graph(paint, InMemorySaver()), tools=())
    async with Kernel("sqlite://:memory:", agent=agent) as kernel:
        first = await ask(kernel, "Paint it.")
        again = await ask(kernel, "Paint it blue.", replaces=first.id)
        last = await ask(kernel, "And once more.")
    assert again.reply == "Painted after 1 messages."
    assert last.reply == "Painted after 3 messages."


async def test_a_replaced_question_is_not_answered() -> None:
    agent = adapt(graph(ask_colour, InMemorySaver()), tools=())
    async with Kernel("sqlite://:memory:", agent=agent) as kernel:
        first = await ask(kernel, "Paint it.")
        again = await ask(kernel, "Paint the door.", replaces=first.id)
    assert (again.outcome, again.reply) == (Outcome.ASKED, "Which colour?")


async def test_a_breakpoint_asks_whether_to_continue() -> None:
    agent = adapt(graph(paint, InMemorySaver(), interrupt_before=["paint"]), tools=())
    async with Kernel("sqlite://:memory:", agent=agent) as kernel:
        asked = await ask(kernel, "Paint it.")
        answered = await ask(kernel, "yes")
    assert asked.reply == "The graph stopped before paint. May it continue? (yes / no)"
    assert answered.reply == "Painted after 1 messages."


async def test_an_answer_without_its_checkpoint_fails_and_says_what_to_do() -> None:
    saver = InMemorySaver()
    async with Kernel("sqlite://:memory:", agent=adapt(graph(ask_colour, saver), tools=())) as kernel:
        asked = await ask(kernel, "Paint it.")
        await saver.adelete_thread(asked.session_id)
        answered = await ask(kernel, "blue")
    assert answered.outcome is Outcome.ERROR
    assert "use one that outlives the process" in (answered.error or "")


async def test_a_lost_thread_is_made_again_from_the_history() -> None:
    saver = InMemorySaver()
    async with Kernel("sqlite://:memory:", agent=adapt(graph(paint, saver), tools=())) as kernel:
        first = await ask(kernel, "Paint it.")
        kept = await ask(kernel, "Again.")
        await saver.adelete_thread(first.session_id)
        lost = await ask(kernel, "Again.")
    assert [first.reply, kept.reply, lost.reply] == [
        "Painted after 1 messages.",
        "Painted after 3 messages.",
        "Painted after 5 messages.",
    ]


@tool
def ring(times: int) -> str:
    """Ring the bell."""
    return f"It rang {times} times."


def ring_here(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
    call = {"type": "tool_call", "name": "ring", "args": {"times": 2}, "id": "call_1"}
    return {"messages": [AIMessage(ring.invoke(call, config).text)]}


async def test_a_tool_of_a_synchronous_node_is_reported() -> None:
    made = StateGraph(MessagesState).add_node("ring", ring_here).add_edge(START, "ring").compile()
    async with Kernel("sqlite://:memory:", agent=adapt(made, tools=())) as kernel:
        turn = await ask(kernel, "Ring.")
        events = await kernel.log.events("web:anna")
    assert turn.reply == "It rang 2 times."
    assert [event.type for event in events if "tool" in event.type] == ["tool_started", "tool_call"]
