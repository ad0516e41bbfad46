"""Edit and retry: a new turn takes the place of an earlier one, in the transcript and for the model."""

import pytest

from segue import Ask, Every, Kernel, OpenTurn, Owner, Settings, Text, Waiting
from segue.errors import CannotReplace, NotFound, TurnArchived, TurnNotEnded, TurnReplaced, TurnScheduled
from segue.kernel.api.export import ExportFormat
from segue.kernel.transactions.idempotency import Request
from segue.model.transcript import Message
from segue.testing import ManualClock, ScriptedAgent, quiet
from tests.flows.house import OpenKernel
from tests.flows.story import CHAT, said, slots, under_way

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + b"\x00" * 20


async def answered(kernel: Kernel, text: str, key: str = CHAT, replaces: str | None = None) -> str:
    turn_id = (await kernel.receive(key, text, replaces=replaces)).turn_id
    await quiet(kernel)
    return turn_id


def given(agent: ScriptedAgent) -> list[str]:
    return [message.content for message in agent.asked[-1].history]


async def standing(kernel: Kernel, key: str = CHAT) -> list[str]:
    return [message.content for message in await kernel.log.newest(key)]


async def test_an_edited_message_takes_the_place_of_the_first_version(
    kernel: Kernel, agent: ScriptedAgent
) -> None:
    agent.script("Hello Ann", "Hello Anna", "Yes")
    first = await answered(kernel, "I am Ann")
    second = await answered(kernel, "I am Anna", replaces=first)
    assert given(agent) == []
    await answered(kernel, "Do you know me?")
    assert given(agent) == ["I am Anna", "Hello Anna"]
    messages = await kernel.messages(CHAT)
    assert [(each.content, each.replaces, each.replaced_by) for each in messages[:4]] == [
        ("I am Ann", None, second),
        ("Hello Ann", None, second),
        ("I am Anna", first, None),
        ("Hello Anna", None, None),
    ]
    assert await standing(kernel) == ["I am Anna", "Hello Anna", "Do you know me?", "Yes"]
    assert (await kernel.turns.get(second)).replaces == first
    assert await kernel.turns.replaced_by(first) == second


async def test_a_retry_repeats_the_message_and_its_files(kernel: Kernel, agent: ScriptedAgent) -> None:
    file = await kernel.files.add(CHAT, "cat.png", PNG)
    agent.script("A dog.", "A cat.")
    first = (await kernel.receive(CHAT, "What is it?", parts=[file])).turn_id
    await quiet(kernel)
    await answered(kernel, "", replaces=first)
    turn = agent.asked[-1].turn
    assert (turn.text, turn.parts, turn.replaces) == ("What is it?", (file,), first)
    assert await standing(kernel) == ["What is it?", "A cat."]


async def test_a_retry_repeats_the_messages_that_joined_the_turn(open_kernel: OpenKernel) -> None:
    asked: list[str] = []

    async def agent(turn: OpenTurn) -> str:
        asked.append(turn.text)
        if len(asked) == 1:
            await turn.kernel.receive(CHAT, "And the weather", when_busy="inject")
            await turn.joined()
        return "Monday, sun"

    kernel = await open_kernel(agent=agent)
    first = await answered(kernel, "The day, please")
    await answered(kernel, "", replaces=first)
    assert asked == ["The day, please", "The day, please\n\nAnd the weather"]
    assert await standing(kernel) == ["The day, please\n\nAnd the weather", "Monday, sun"]


async def test_only_the_replaced_turn_is_left_out_of_what_the_model_is_given(
    kernel: Kernel, agent: ScriptedAgent
) -> None:
    agent.script("1", "2", "3", "4")
    first = await answered(kernel, "one")
    await answered(kernel, "two")
    await answered(kernel, "one, again", replaces=first)
    assert given(agent) == ["two", "2"]
    await answered(kernel, "last")
    assert given(agent) == ["two", "2", "one, again", "3"]


async def test_a_version_is_replaced_again_and_again(kernel: Kernel, agent: ScriptedAgent) -> None:
    first = await answered(kernel, "one")
    second = await answered(kernel, "two", replaces=first)
    await answered(kernel, "three", replaces=second)
    assert given(agent) == []
    assert await standing(kernel) == ["three", "ok"]


async def test_a_turn_counts_until_its_replacement_starts(kernel: Kernel, agent: ScriptedAgent) -> None:
    first = await answered(kernel, "one")
    await kernel.receive(CHAT, "two")
    async with under_way(kernel, agent):
        waiting = await kernel.receive(CHAT, "one, better", replaces=first)
        assert (await standing(kernel))[:2] == ["one", "ok"]
        with pytest.raises(TurnReplaced, match=waiting.turn_id):
            await kernel.receive(CHAT, "one, again", replaces=first)
        await kernel.turns.cancel(waiting.turn_id)
    assert (await standing(kernel))[:2] == ["one", "ok"]
    await answered(kernel, "one, again", replaces=first)
    assert "one" not in await standing(kernel)


async def test_a_message_that_replaces_another_does_not_join_the_running_turn(
    kernel: Kernel, agent: ScriptedAgent
) -> None:
    first = await answered(kernel, "one")
    await kernel.receive(CHAT, "two")
    async with under_way(kernel, agent):
        edited = await kernel.receive(CHAT, "one, better", replaces=first, when_busy="inject")
    await quiet(kernel)
    assert (await kernel.turns.get(edited.turn_id)).joined_into is None


async def test_a_turn_of_another_session_is_not_found(kernel: Kernel) -> None:
    first = await answered(kernel, "one")
    with pytest.raises(NotFound, match="in web:2"):
        await kernel.receive("web:2", "two", replaces=first)
    assert await kernel.sessions.find("web:2") is None
    with pytest.raises(NotFound):
        await kernel.receive(CHAT, "two", replaces="0000")


async def test_a_turn_of_another_user_is_not_found(kernel: Kernel) -> None:
    ann, ben = Owner("default", "ann"), Owner("default", "ben")
    first = (await kernel.receive(CHAT, "one", owner=ann)).turn_id
    await quiet(kernel)
    for text in ("two", ""):
        with pytest.raises(NotFound):
            await kernel.receive(CHAT, text, owner=ben, replaces=first)
    assert await said(kernel, owner=ann) == [("user", "one"), ("assistant", "ok")]


async def test_a_turn_that_has_not_ended_is_refused(kernel: Kernel, agent: ScriptedAgent) -> None:
    running = await kernel.receive(CHAT, "one")
    async with under_way(kernel, agent):
        queued = await kernel.receive(CHAT, "two")
        with pytest.raises(TurnNotEnded, match="is running; stop it"):
            await kernel.receive(CHAT, "three", replaces=running.turn_id)
        with pytest.raises(TurnNotEnded, match="is queued; cancel it"):
            await kernel.receive(CHAT, "three", replaces=queued.turn_id)


async def test_a_replaced_turn_is_refused_and_names_the_one_in_its_place(kernel: Kernel) -> None:
    first = await answered(kernel, "one")
    second = await answered(kernel, "two", replaces=first)
    with pytest.raises(TurnReplaced, match=f"replaced by turn {second}"):
        await kernel.receive(CHAT, "three", replaces=first)


async def test_a_scheduled_turn_is_refused(kernel: Kernel, clock: ManualClock) -> None:
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."), name="lookout")
    clock.advance(minutes=1)
    await quiet(kernel)
    [run] = await slots(kernel, job)
    with pytest.raises(TurnScheduled, match="lookout"):
        await kernel.receive(CHAT, "Look again.", replaces=run.turn_id)


async def test_a_message_that_joined_a_turn_names_that_turn(open_kernel: OpenKernel) -> None:
    joined: list[str] = []

    async def agent(turn: OpenTurn) -> str:
        if not joined:
            added = await turn.kernel.receive(CHAT, "And now?", when_busy="inject")
            joined.append(added.turn_id)
            await turn.joined()
        return "ok"

    kernel = await open_kernel(agent=agent)
    host = await answered(kernel, "one")
    with pytest.raises(CannotReplace, match=host):
        await kernel.receive(CHAT, "two", replaces=joined[0])


async def test_an_archived_turn_is_refused_because_a_summary_has_it(kernel: Kernel) -> None:
    first = await answered(kernel, "one")
    await kernel.memory.commit(CHAT)
    await quiet(kernel)
    with pytest.raises(TurnArchived, match="send the message as a new one"):
        await kernel.receive(CHAT, "two", replaces=first)


async def test_a_replaced_turn_reaches_no_summary_and_no_memory(kernel: Kernel, agent: ScriptedAgent) -> None:
    first = await answered(kernel, "The door code is 1111.")
    await answered(kernel, "The door code is 4711.", replaces=first)
    await kernel.memory.commit(CHAT)
    await quiet(kernel)
    await answered(kernel, "What is the door code?")
    notes = "\n".join(given(agent))
    assert "4711" in notes
    assert "1111" not in notes
    archived = await kernel.memory.archived_messages(CHAT, 1)
    assert [message.content for message in archived if message.replaced_by] == [
        "The door code is 1111.",
        "ok",
    ]


async def test_a_turn_that_waits_to_be_replaced_is_not_archived(kernel: Kernel, agent: ScriptedAgent) -> None:
    first = await answered(kernel, "The door code is 1111.")
    await kernel.receive(CHAT, "Wait")
    async with under_way(kernel, agent):
        await kernel.receive(CHAT, "The door code is 4711.", replaces=first)
        skipped = await kernel.memory.commit(CHAT)
        assert getattr(skipped, "reason", None) is not None
    await quiet(kernel)
    assert "The door code is 1111." not in await standing(kernel)


async def test_replacing_a_turn_that_asked_withdraws_its_question(
    kernel: Kernel, agent: ScriptedAgent
) -> None:
    agent.script([Text("I have the bill."), Waiting("Pay 30 €?", ("yes", "no"), {})], "Nothing is paid")
    asked = await answered(kernel, "Pay the bill")
    await answered(kernel, "Show me the bill", replaces=asked)
    assert agent.asked[-1].turn.resumed is None
    assert given(agent) == []
    assert (await kernel.sessions.get(CHAT)).waiting_until is None


async def test_a_repeated_request_answers_the_first_result(kernel: Kernel) -> None:
    first = await answered(kernel, "one")
    request = Request(owner=Owner(), name="edit", digest="two")
    sent = [await kernel.receive(CHAT, "two", replaces=first, request=request) for _ in range(2)]
    await quiet(kernel)
    assert sent[0].turn_id == sent[1].turn_id == await kernel.turns.replaced_by(first)
    assert await standing(kernel) == ["two", "ok"]


async def test_in_unified_mode_the_chat_and_the_common_log_show_it(
    open_kernel: OpenKernel, agent: ScriptedAgent
) -> None:
    kernel = await open_kernel(agent=agent, settings=Settings(unified_session=True))
    first = await answered(kernel, "one")
    await answered(kernel, "two", key="web:2")
    with pytest.raises(NotFound, match="in web:2"):
        await kernel.receive("web:2", "one, better", replaces=first)
    await answered(kernel, "one, better", replaces=first)
    assert await standing(kernel) == ["one, better", "ok"]
    assert await standing(kernel, "unified:default") == ["two", "ok", "one, better", "ok"]


async def test_the_markdown_export_has_what_stands_and_json_has_all(kernel: Kernel) -> None:
    first = await answered(kernel, "one")
    second = await answered(kernel, "two", replaces=first)
    markdown = "".join([piece async for piece in kernel.log.export(CHAT)])
    assert "two" in markdown
    assert "one" not in markdown.partition("\n")[2]
    lines = "".join([piece async for piece in kernel.log.export(CHAT, format=ExportFormat.JSON)])
    assert lines.count(f'"replaced_by": "{second}"') == 2


async def test_search_finds_a_replaced_message_and_says_so(kernel: Kernel) -> None:
    first = await answered(kernel, "violet")
    second = await answered(kernel, "purple", replaces=first)
    await kernel.workers.indexer.step()
    [found] = await kernel.log.search("violet")
    assert isinstance(found.message, Message)
    assert found.message.replaced_by == second
