"""Graphs of your own in LangGraph: interrupts, lost checkpoints, tools of synchronous nodes."""

from segue import Kernel, Outcome, Turn
from segue.testing import quiet


async def ask(kernel: Kernel, text: str, replaces: str | None = None) -> Turn:
    admitted = await kernel.receive("web:anna", text, replaces=replaces)
    await quiet(kernel)
    return await kernel.turns.get(admitted.turn_id)


async def test_a_question_of_a_node_is_answered_by_the_next_message() -> None:
    from tests.adapters.frameworks.own_graphs import InMemorySaver, adapt, ask_colour, graph

    agent = adapt(graph(ask_colour, InMemorySaver()), tools=())
    async with Kernel("sqlite://:memory:", agent=agent) as kernel:
        asked = await ask(kernel, "Paint it.")
        answered = await ask(kernel, "blue")
    assert (asked.outcome, asked.reply) == (Outcome.ASKED, "Which colour?")
    assert (answered.outcome, answered.reply) == (Outcome.OK, "Painted blue.")


async def test_a_replaced_turn_leaves_the_thread() -> None:
    from tests.adapters.frameworks.own_graphs import InMemorySaver, adapt, graph, paint

    agent = adapt(graph(paint, InMemorySaver()), tools=())
    async with Kernel("sqlite://:memory:", agent=agent) as kernel:
        first = await ask(kernel, "Paint it.")
        again = await ask(kernel, "Paint it blue.", replaces=first.id)
        last = await ask(kernel, "And once more.")
    assert again.reply == "Painted after 1 messages."
    assert last.reply == "Painted after 3 messages."


async def test_a_replaced_question_is_not_answered() -> None:
    from tests.adapters.frameworks.own_graphs import InMemorySaver, adapt, ask_colour, graph

    agent = adapt(graph(ask_colour, InMemorySaver()), tools=())
    async with Kernel("sqlite://:memory:", agent=agent) as kernel:
        first = await ask(kernel, "Paint it.")
        again = await ask(kernel, "Paint the door.", replaces=first.id)
    assert (again.outcome, again.reply) == (Outcome.ASKED, "Which colour?")


async def test_a_breakpoint_asks_whether_to_continue() -> None:
    from tests.adapters.frameworks.own_graphs import InMemorySaver, adapt, graph, paint

    agent = adapt(graph(paint, InMemorySaver(), interrupt_before=["paint"]), tools=())
    async with Kernel("sqlite://:memory:", agent=agent) as kernel:
        asked = await ask(kernel, "Paint it.")
        answered = await ask(kernel, "yes")
    assert asked.reply == "The graph stopped before paint. May it continue? (yes / no)"
    assert answered.reply == "Painted after 1 messages."


async def test_an_answer_without_its_checkpoint_fails_and_says_what_to_do() -> None:
    from tests.adapters.frameworks.own_graphs import InMemorySaver, adapt, ask_colour, graph

    saver = InMemorySaver()
    async with Kernel("sqlite://:memory:", agent=adapt(graph(ask_colour, saver), tools=())) as kernel:
        asked = await ask(kernel, "Paint it.")
        await saver.adelete_thread(asked.session_id)
        answered = await ask(kernel, "blue")
    assert answered.outcome is Outcome.ERROR
    assert "use one that outlives the process" in (answered.error or "")


async def test_a_lost_thread_is_made_again_from_the_history() -> None:
    from tests.adapters.frameworks.own_graphs import InMemorySaver, adapt, graph, paint

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


async def test_a_tool_of_a_synchronous_node_is_reported() -> None:
    from tests.adapters.frameworks.own_graphs import adapt, ringing

    async with Kernel("sqlite://:memory:", agent=adapt(ringing(), tools=())) as kernel:
        turn = await ask(kernel, "Ring.")
        events = await kernel.log.events("web:anna")
    assert turn.reply == "It rang 2 times."
    assert [event.type for event in events if "tool" in event.type] == ["tool_started", "tool_call"]
