"""Model agent with a fake provider: what is sent, what comes back, what the log holds."""

import re
from typing import Any

from segue import Ask, Every, Owner
from segue.agents.llm import ModelLimits
from segue.agents.tools.arguments import flat
from segue.agents.tools.registry import Tool, ToolContext, ToolRefused
from segue.model.states import JobKind, Outcome
from segue.testing import quiet
from segue.testing.scripted_provider import calls_and_results, says, words_sent
from segue.testing.wire_formats import Calls, Says, Thinks
from tests.agents.house import CHAT, OpenHarness

WEATHER = flat({"city": {"type": "string", "description": "where"}}, required=("city",))


async def weather(context: ToolContext, city: str) -> str:
    if city == "Atlantis":
        raise ToolRefused("there is no weather in Atlantis; ask for a city that exists")
    started = await context.kernel.log.events(context.here.key, owner=context.owner)
    assert started[-1].type == "tool_started", "it is in the log before it runs"
    return f"Rain in {city}."


LOOK = Tool(name="weather", description="The weather.", parameters=WEATHER, run=weather)


async def test_an_answer_streams_through_a_turn(open_harness: OpenHarness, dialect: str) -> None:
    harness = await open_harness(dialect)
    harness.provider.script(says(Thinks("Be kind."), "Hello ", "there."))
    turn = await harness.ask("Hi")
    assert (turn.outcome, turn.reply) == (Outcome.OK, "Hello there."), turn.error
    assert turn.usage is not None
    assert (turn.usage["input_tokens"], turn.usage["output_tokens"]) == (11, 7)
    assert turn.usage["requests"] == {turn.usage["model"]: 1}
    assert turn.usage["cost_usd"] > 0
    assert turn.usage["prompt"] == "agent.system@2"
    (asked,) = harness.provider.asked
    assert asked.body["stream"] is True
    assert asked_last(asked.body) == "Hi"


def asked_last(body: dict[str, Any]) -> str:
    """The last message. One of Anthropic's has the note of the turn before it."""
    role, text = words_sent(body)[-1]
    assert role == "user"
    return re.sub(r"^\(Note for this turn[^)]*\([^)]*\)[^)]*\)\n", "", text)


async def test_the_model_is_told_who_and_when_it_is(open_harness: OpenHarness, dialect: str) -> None:
    harness = await open_harness(dialect, tools=[LOOK])
    await harness.ask("Hi")
    (role, system), (noted, note), *_ = words_sent(harness.provider.asked[0].body)
    assert (role, noted) == ("system", "user")
    assert "It is now Monday, 16 November 2026, 10:00 (UTC+0100) in Europe/Berlin." in note
    assert "You have tools: weather." in system
    assert CHAT in system


async def test_the_history_is_sent_before_what_is_asked(open_harness: OpenHarness, dialect: str) -> None:
    harness = await open_harness(dialect)
    harness.provider.script(says("I will."))
    await harness.ask("Remember seven.")
    await harness.ask("Which number?")
    body = harness.provider.asked[1].body
    assert words_sent(body)[1:3] == [("user", "Remember seven."), ("assistant", "I will.")]
    assert asked_last(body) == "Which number?"


async def test_a_tool_is_announced_then_run_then_its_result_returned(
    open_harness: OpenHarness, dialect: str
) -> None:
    harness = await open_harness(dialect, tools=[LOOK])
    harness.provider.script(says("I look.", Calls("weather", '{"city": "Ulm"}')), says("Bring an umbrella."))
    turn = await harness.ask("How is Ulm?")
    assert turn.reply == "I look.\n\nBring an umbrella."
    started, called = await harness.events("tool_started", "tool_call")
    assert (started.type, started.body["name"], started.body["arguments"]) == (
        "tool_started",
        "weather",
        {"city": "Ulm"},
    )
    assert (called.type, called.body["result"], called.body["error"]) == ("tool_call", "Rain in Ulm.", None)
    assert called.body["call_id"] == started.body["call_id"] == "call_1"
    assert "Rain in Ulm." in words_sent(harness.provider.asked[1].body)[-1][1]
    assert calls_and_results(harness.provider.asked[1].body)[-3:] == [
        ("user", None),
        ("assistant", "call_1"),
        ("result", "call_1"),
    ]
    assert turn.usage is not None
    assert (turn.usage["requests"], turn.usage["input_tokens"]) == ({turn.usage["model"]: 2}, 22)


async def test_the_tools_are_offered_with_their_schemas(open_harness: OpenHarness) -> None:
    harness = await open_harness("openai", tools=[LOOK])
    await harness.ask("Hi")
    (offered,) = harness.provider.asked[0].body["tools"]
    assert offered["function"]["name"] == "weather"
    assert offered["function"]["parameters"]["required"] == ["city"]


async def test_a_tool_that_refuses_answers_with_a_sentence(open_harness: OpenHarness, dialect: str) -> None:
    harness = await open_harness(dialect, tools=[LOOK])
    harness.provider.script(says(Calls("weather", '{"city": "Atlantis"}')), says("There is none."))
    turn = await harness.ask("How is Atlantis?")
    assert turn.reply == "There is none."
    (called,) = await harness.events("tool_call")
    assert called.body["error"] == "there is no weather in Atlantis; ask for a city that exists"
    assert "Error: there is no weather in Atlantis" in words_sent(harness.provider.asked[1].body)[-1][1]


async def test_arguments_that_are_not_json_come_back_as_an_error(
    open_harness: OpenHarness, dialect: str
) -> None:
    harness = await open_harness(dialect, tools=[LOOK])
    harness.provider.script(says(Calls("weather", '{"city": "Ul')), says("Sorry."))
    turn = await harness.ask("How is Ulm?")
    assert turn.reply == "Sorry."
    (called,) = await harness.events("tool_call")
    assert called.body["error"].startswith("the arguments are not JSON")


async def test_several_tools_of_a_step_run_in_their_order(open_harness: OpenHarness, dialect: str) -> None:
    harness = await open_harness(dialect, tools=[LOOK])
    harness.provider.script(
        says(Calls("weather", '{"city": "Ulm"}', "a"), Calls("forecast", "{}", "b")), says("Done.")
    )
    await harness.ask("Look.")
    facts = [(e.type, e.body["call_id"]) for e in await harness.events("tool_started", "tool_call")]
    assert facts == [("tool_started", "a"), ("tool_call", "a"), ("tool_started", "b"), ("tool_call", "b")]
    assert calls_and_results(harness.provider.asked[1].body)[-2:] == [("result", "a"), ("result", "b")]
    last = (await harness.events("tool_call"))[-1]
    assert last.body["error"] == "there is no tool forecast; there are: weather"


async def test_an_answer_without_text_is_empty(open_harness: OpenHarness, dialect: str) -> None:
    harness = await open_harness(dialect)
    harness.provider.script(says())
    turn = await harness.ask("Hi")
    assert (turn.outcome, turn.reply) == (Outcome.EMPTY, None)


async def test_an_answer_withheld_by_a_content_filter_fails(open_harness: OpenHarness) -> None:
    harness = await open_harness("openai")
    harness.provider.script(Says((), finish="content_filter"))
    turn = await harness.ask("Hi")
    assert turn.outcome is Outcome.ERROR
    assert (await harness.transcript())[-1] == ("assistant", "The model's provider would not answer this.")


async def test_a_turn_ends_at_the_step_limit_with_its_text(open_harness: OpenHarness) -> None:
    harness = await open_harness("openai", tools=[LOOK], limits=ModelLimits(steps=3))
    harness.provider.script(*[says("Again.", Calls("weather", '{"city": "Ulm"}')) for _ in range(5)])
    turn = await harness.ask("Never stop.")
    assert (turn.outcome, turn.reply) == (Outcome.OK, "Again.\n\nAgain.\n\nAgain.")
    assert turn.usage is not None
    assert turn.usage["ended"] == "after 3 model steps"


async def test_a_cron_prompt_is_the_turns_user_message(open_harness: OpenHarness, dialect: str) -> None:
    harness = await open_harness(dialect)
    await harness.ask("Hi")
    await harness.kernel.schedule(CHAT, Every(600), Ask("Read the build log."), name="build")
    harness.clock.advance(minutes=10)
    await quiet(harness.kernel)
    sent = words_sent(harness.provider.asked[-1].body)
    assert sent[-1][0] == "user"
    assert sent[-1][1].endswith("Read the build log.")
    assert "this turn was started by the job “build”" in "\n".join(text for _, text in sent[3:])


async def test_a_recall_is_a_system_message_after_the_history(open_harness: OpenHarness) -> None:
    harness = await open_harness("openai")
    await harness.ask("Hi")
    await harness.kernel.schedule(CHAT, Every(600), Ask("Ask how the talk went."), kind=JobKind.RECALL)
    harness.clock.advance(minutes=10)
    await quiet(harness.kernel)
    sent = words_sent(harness.provider.asked[-1].body)
    assert sent[1:3] == [("user", "Hi"), ("assistant", "ok")]
    [(noted, _), (role, words)] = sent[3:]
    assert noted == "user"
    assert (role, words.rpartition("\n\n")[2]) == ("system", "Ask how the talk went.")


async def test_a_recall_reaches_a_provider_that_has_no_system_messages(open_harness: OpenHarness) -> None:
    harness = await open_harness("anthropic")
    await harness.kernel.schedule(CHAT, Every(600), Ask("Say good morning."), kind=JobKind.RECALL)
    harness.clock.advance(minutes=10)
    await quiet(harness.kernel)
    sent = words_sent(harness.provider.asked[-1].body)
    assert "Say good morning." in "\n".join(text for _, text in sent)
    assert [role for role, _ in sent[1:]] == ["user", "system"]
    assert "Say good morning." not in sent[0][1]


async def test_a_tool_acts_for_the_owner_of_its_session(open_harness: OpenHarness) -> None:
    seen: list[tuple[Owner, str | None]] = []

    async def owner(context: ToolContext) -> str:
        seen.append((context.owner, context.run_id))
        return "noted"

    harness = await open_harness(
        "openai", tools=[Tool(name="owner", description="The owner.", parameters=flat({}), run=owner)]
    )
    harness.provider.script(says(Calls("owner", "")), says("ok"))
    await harness.kernel.receive(CHAT, "Whose?", owner=Owner("acme", "ann"))
    await quiet(harness.kernel)
    assert seen == [(Owner("acme", "ann"), None)]
