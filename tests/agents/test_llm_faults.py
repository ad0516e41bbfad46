"""Model agent: provider errors, timeouts and broken streams; stopped turns and injected messages."""

import asyncio
from contextlib import aclosing

import pytest

from segue.agents.llm import ModelLimits
from segue.agents.tools.arguments import flat
from segue.agents.tools.registry import Tool, ToolContext
from segue.kernel.live.hub import LiveText
from segue.kernel.transactions import lane, lease
from segue.model.states import Outcome
from segue.testing import ManualClock, quiet
from segue.testing.scripted_provider import Fails, HangsUp, Line, says, words_sent
from segue.testing.wire_formats import Breaks, Calls, Ends, Says, Thinks, Waits
from tests.agents.house import CHAT, OpenHarness
from tests.leases import terms_of

OVERLOADED = Fails(529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})


class SkippingClock(ManualClock):
    """Does not wait, but records for how long it would have."""

    def __init__(self) -> None:
        super().__init__()
        self.waited: list[int] = []

    async def wait(self, event: asyncio.Event, until: int | None) -> None:
        assert until is not None
        self.waited.append(until - self.ms())
        self._ms = until


class TestFailures:
    @pytest.fixture
    def clock(self) -> SkippingClock:
        return SkippingClock()

    async def test_a_refused_key_is_not_tried_again_and_not_shown(
        self, open_harness: OpenHarness, dialect: str
    ) -> None:
        harness = await open_harness(dialect)
        body = {"error": {"type": "authentication_error", "message": "Incorrect key sk-our-own-secret"}}
        harness.provider.script(Fails(401, body))
        turn = await harness.ask("Hi")
        assert turn.outcome is Outcome.ERROR
        shown = (await harness.transcript())[-1][1]
        assert shown == "The model's provider refused the key. Check it in the settings."
        assert turn.error is not None
        assert "401" in turn.error
        assert "sk-our-own-secret" not in turn.error
        assert len(harness.provider.asked) == 1

    async def test_a_provider_that_asks_for_a_pause_gets_it(
        self, open_harness: OpenHarness, dialect: str, clock: SkippingClock
    ) -> None:
        harness = await open_harness(dialect)
        harness.provider.script(Fails(429, headers={"retry-after": "7"}), says("Here I am."))
        turn = await harness.ask("Hi")
        assert turn.reply == "Here I am."
        assert clock.waited == [7000]

    async def test_a_pause_that_is_too_long_is_not_waited_for(
        self, open_harness: OpenHarness, clock: SkippingClock
    ) -> None:
        harness = await open_harness("openai")
        harness.provider.script(Fails(429, headers={"retry-after": "3600"}))
        turn = await harness.ask("Hi")
        assert turn.outcome is Outcome.ERROR
        assert clock.waited == []
        assert (await harness.transcript())[-1][1].startswith("The model's provider takes no more requests")

    @pytest.mark.parametrize(
        "fault", [Fails(500), Fails(503), OVERLOADED, HangsUp(), says(Breaks()), says(Ends())], ids=repr
    )
    async def test_an_error_before_the_first_word_is_retried(
        self, open_harness: OpenHarness, dialect: str, fault: Line
    ) -> None:
        harness = await open_harness(dialect)
        harness.provider.script(fault, says("Here I am."))
        turn = await harness.ask("Hi")
        assert (turn.outcome, turn.reply) == (Outcome.OK, "Here I am."), turn.error
        assert len(harness.provider.asked) == 2

    async def test_a_provider_that_stays_down_fails_the_turn(
        self, open_harness: OpenHarness, dialect: str, clock: SkippingClock
    ) -> None:
        harness = await open_harness(dialect)
        harness.provider.script(*[Fails(500)] * 5)
        turn = await harness.ask("Hi")
        assert turn.outcome is Outcome.ERROR
        assert len(harness.provider.asked) == 3
        assert len(clock.waited) == 2
        assert (await harness.transcript())[-1][
            1
        ] == "The model's provider has a fault. Try again in a while."

    async def test_an_answer_that_breaks_off_is_not_retried(
        self, open_harness: OpenHarness, dialect: str
    ) -> None:
        harness = await open_harness(dialect)
        harness.provider.script(says("The answer is ", Breaks()))
        turn = await harness.ask("Hi")
        assert turn.outcome is Outcome.ERROR
        assert len(harness.provider.asked) == 1
        shown = (await harness.transcript())[-1][1]
        assert shown == "The connection to the model broke off in the middle of its answer."

    async def test_an_answer_without_a_finish_reason_fails_the_turn(
        self, open_harness: OpenHarness, dialect: str
    ) -> None:
        """As when a proxy gives up: to the client the stream ends normally."""
        harness = await open_harness(dialect)
        harness.provider.script(says("The answer is ", Ends()))
        turn = await harness.ask("Hi")
        assert turn.outcome is Outcome.ERROR
        assert len(harness.provider.asked) == 1
        assert turn.error is not None
        assert "without a reason" in turn.error
        shown = (await harness.transcript())[-1][1]
        assert shown == "The connection to the model broke off in the middle of its answer."

    async def test_a_tool_of_an_answer_that_was_cut_is_not_run(
        self, open_harness: OpenHarness, dialect: str
    ) -> None:
        rung: list[str] = []

        async def ring(context: ToolContext) -> str:
            rung.append(context.turn_id)
            return "It rang."

        bell = Tool(name="ring", description="Ring the bell.", parameters=flat({}), run=ring)
        harness = await open_harness(dialect, tools=[bell])
        harness.provider.script(says(Calls("ring", "{}"), Ends()), says("Nothing to do."))
        turn = await harness.ask("Ring.")
        assert (turn.outcome, turn.reply, rung) == (Outcome.OK, "Nothing to do.", [])

    async def test_a_finish_reason_unknown_to_the_library_is_accepted(
        self, open_harness: OpenHarness
    ) -> None:
        harness = await open_harness("openai")
        harness.provider.script(Says(["Here I am."], finish="guardrail_passed"))
        turn = await harness.ask("Hi")
        assert (turn.outcome, turn.reply) == (Outcome.OK, "Here I am."), turn.error

    async def test_a_request_after_a_tool_is_retried_and_the_tool_is_not(
        self, open_harness: OpenHarness, dialect: str
    ) -> None:
        rung: list[str] = []

        async def ring(context: ToolContext) -> str:
            rung.append(context.turn_id)
            return "It rang."

        bell = Tool(name="ring", description="Ring the bell.", parameters=flat({}), run=ring)
        harness = await open_harness(dialect, tools=[bell])
        harness.provider.script(says(Calls("ring", "{}")), Fails(503), says("Done."))
        turn = await harness.ask("Ring.")
        assert turn.reply == "Done."
        assert rung == [turn.id]

    async def test_a_silent_provider_times_out_and_is_retried(
        self, open_harness: OpenHarness, dialect: str
    ) -> None:
        harness = await open_harness(dialect, limits=ModelLimits(first_word_seconds=0.2, tries=2))
        harness.provider.script(says(Waits(), "too late"), says("Here I am."))
        turn = await harness.ask("Hi")
        assert turn.reply == "Here I am."

    async def test_an_unknown_model_is_named_in_the_answer(self, open_harness: OpenHarness) -> None:
        harness = await open_harness("openai")
        harness.provider.script(Fails(404, {"error": {"code": "model_not_found", "message": "no gpt-4o"}}))
        await harness.ask("Hi")
        assert (await harness.transcript())[-1][1].startswith("The provider does not know this model.")


async def test_a_stop_closes_the_stream_at_once(open_harness: OpenHarness, dialect: str) -> None:
    harness = await open_harness(dialect)
    harness.provider.script(says("One, two, ", Waits(), "three"))
    async with harness.running():
        admitted = await harness.kernel.receive(CHAT, "Count.")
        await harness.provider.waiting.wait()
        async with aclosing(harness.kernel.follow(CHAT)) as stream:
            async for one in stream:
                if isinstance(one, LiveText):
                    break
        await harness.kernel.turns.stop(CHAT)
        turn = await harness.kernel.wait(admitted.turn_id)
        await harness.provider.left.wait()
    assert (turn.outcome, turn.reply) == (Outcome.STOPPED, "One, two,")


async def test_a_turn_that_fails_during_the_stream_closes_it(open_harness: OpenHarness) -> None:
    harness = await open_harness("openai")
    harness.provider.script(says("x" * 600_000, "y" * 600_000, Waits(), "z"))
    turn = await harness.ask("Say much.")
    assert turn.outcome is Outcome.ERROR
    async with asyncio.timeout(10):
        await harness.provider.left.wait()


async def test_what_a_user_adds_joins_at_the_next_step(open_harness: OpenHarness, dialect: str) -> None:
    async def look(context: ToolContext) -> str:
        await context.kernel.receive(CHAT, "And hurry.", when_busy="inject")
        return "seen"

    harness = await open_harness(
        dialect, tools=[Tool(name="look", description="Look.", parameters=flat({}), run=look)]
    )
    harness.provider.script(says(Calls("look", "{}")), says("Hurrying."))
    turn = await harness.ask("Look.")
    assert turn.reply == "Hurrying."
    assert "And hurry." in words_sent(harness.provider.asked[1].body)[-1][1]
    assert len(harness.provider.asked) == 2


async def test_a_message_added_before_a_crash_follows_the_prompt(open_harness: OpenHarness) -> None:
    """The first worker is lost after the message joined the turn; the second attempt sees both in order."""
    harness = await open_harness("openai")
    await harness.ask("Hi")
    admitted = await harness.kernel.receive(CHAT, "Look.")
    now = harness.clock.ms()
    terms = terms_of("lost", lease_ms=15_000, lease_now=now)
    leased = await harness.kernel.store.commit(
        lease.lease, terms, pool=lane.Pool.USER, after="", limit=1, now=now
    )
    (lost,) = leased.value.held
    await harness.kernel.receive(CHAT, "And hurry.", when_busy="inject")
    await harness.kernel.store.commit(lease.join, lost, now)
    harness.clock.advance(minutes=1)
    await quiet(harness.kernel)
    assert (await harness.kernel.turns.get(admitted.turn_id)).attempt == 2
    sent = words_sent(harness.provider.asked[-1].body)
    said = [text for role, text in sent if role == "user" and not text.startswith("(Note for this turn")]
    assert said == ["Hi", "Look.", "And hurry."]


async def test_thinking_and_text_are_streamed_as_they_come(open_harness: OpenHarness, dialect: str) -> None:
    harness = await open_harness(dialect)
    following = asyncio.Event()
    harness.provider.script(says(Waits(following), Thinks("Hm."), "One, ", "two."))
    live: list[tuple[str, str]] = []
    async with harness.running():
        await harness.kernel.receive(CHAT, "Count.")
        async with aclosing(harness.kernel.follow(CHAT)) as stream:
            async for one in stream:
                if isinstance(one, LiveText):
                    live.append((one.type, one.text))
                elif one.type == "stream_start":
                    following.set()
                elif one.type == "stream_end":
                    break
    assert "".join(text for kind, text in live if kind == "stream_delta") == "One, two."
    assert ("thinking_delta", "Hm.") in live
