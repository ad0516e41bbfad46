"""A provider that refuses, stumbles, hangs up or keeps silent; and users who stop, or add a word."""

import asyncio
from contextlib import aclosing

import pytest

from segue import Event
from segue.agents.llm import Limits
from segue.agents.tools.arguments import flat
from segue.agents.tools.registry import Tool, ToolContext
from segue.kernel.live.hub import LiveText
from segue.kernel.transactions import lane, lease
from segue.model.states import Outcome
from segue.testing import ManualClock, quiet
from tests.agents.double import Breaks, Calls, Ends, Fails, HangsUp, Line, Says, Thinks, Waits, says
from tests.agents.house import CHAT, HouseOf, words_sent
from tests.seats import seat_of

OVERLOADED = Fails(529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})


class Skipping(ManualClock):
    """Does not wait, but says for how long it would have."""

    def __init__(self) -> None:
        super().__init__()
        self.waited: list[int] = []

    async def wait(self, event: asyncio.Event, until: int | None) -> None:
        assert until is not None
        self.waited.append(until - self.ms())
        self._ms = until


class TestFailures:
    @pytest.fixture
    def clock(self) -> Skipping:
        return Skipping()

    async def test_a_refused_key_is_not_tried_again_and_not_shown(
        self, house_of: HouseOf, dialect: str
    ) -> None:
        house = await house_of(dialect)
        body = {"error": {"type": "authentication_error", "message": "Incorrect key sk-our-own-secret"}}
        house.provider.script(Fails(401, body))
        turn = await house.ask("Hi")
        assert turn.outcome is Outcome.ERROR
        shown = (await house.said())[-1][1]
        assert shown == "The model's provider refused the key. Check it in the settings."
        assert turn.error is not None
        assert "401" in turn.error
        assert "sk-our-own-secret" not in turn.error
        assert len(house.provider.asked) == 1

    async def test_a_provider_that_asks_for_a_pause_gets_it(
        self, house_of: HouseOf, dialect: str, clock: Skipping
    ) -> None:
        house = await house_of(dialect)
        house.provider.script(Fails(429, headers={"retry-after": "7"}), says("Here I am."))
        turn = await house.ask("Hi")
        assert turn.reply == "Here I am."
        assert clock.waited == [7000]

    async def test_a_pause_that_is_too_long_is_not_waited_for(
        self, house_of: HouseOf, clock: Skipping
    ) -> None:
        house = await house_of("openai")
        house.provider.script(Fails(429, headers={"retry-after": "3600"}))
        turn = await house.ask("Hi")
        assert turn.outcome is Outcome.ERROR
        assert clock.waited == []
        assert (await house.said())[-1][1].startswith("The model's provider takes no more requests")

    @pytest.mark.parametrize(
        "stumble", [Fails(500), Fails(503), OVERLOADED, HangsUp(), says(Breaks()), says(Ends())], ids=repr
    )
    async def test_a_stumble_before_the_first_word_is_forgotten(
        self, house_of: HouseOf, dialect: str, stumble: Line
    ) -> None:
        house = await house_of(dialect)
        house.provider.script(stumble, says("Here I am."))
        turn = await house.ask("Hi")
        assert (turn.outcome, turn.reply) == (Outcome.OK, "Here I am."), turn.error
        assert len(house.provider.asked) == 2

    async def test_a_provider_that_stays_down_is_given_up(
        self, house_of: HouseOf, dialect: str, clock: Skipping
    ) -> None:
        house = await house_of(dialect)
        house.provider.script(*[Fails(500)] * 5)
        turn = await house.ask("Hi")
        assert turn.outcome is Outcome.ERROR
        assert len(house.provider.asked) == 3
        assert len(clock.waited) == 2
        assert (await house.said())[-1][1] == "The model's provider has a fault. Try again in a while."

    async def test_an_answer_that_breaks_off_is_not_begun_again(
        self, house_of: HouseOf, dialect: str
    ) -> None:
        house = await house_of(dialect)
        house.provider.script(says("The answer is ", Breaks()))
        turn = await house.ask("Hi")
        assert turn.outcome is Outcome.ERROR
        assert len(house.provider.asked) == 1
        shown = (await house.said())[-1][1]
        assert shown == "The connection to the model broke off in the middle of its answer."

    async def test_an_answer_without_a_reason_for_its_end_is_no_answer(
        self, house_of: HouseOf, dialect: str
    ) -> None:
        """A proxy in between gave up: to the client the stream has an end like any other."""
        house = await house_of(dialect)
        house.provider.script(says("The answer is ", Ends()))
        turn = await house.ask("Hi")
        assert turn.outcome is Outcome.ERROR
        assert len(house.provider.asked) == 1
        assert turn.error is not None
        assert "without a reason" in turn.error
        shown = (await house.said())[-1][1]
        assert shown == "The connection to the model broke off in the middle of its answer."

    async def test_a_tool_of_an_answer_that_was_cut_is_not_run(self, house_of: HouseOf, dialect: str) -> None:
        rung: list[str] = []

        async def ring(context: ToolContext) -> str:
            rung.append(context.turn_id)
            return "It rang."

        bell = Tool(name="ring", description="Ring the bell.", parameters=flat({}), run=ring)
        house = await house_of(dialect, tools=[bell])
        house.provider.script(says(Calls("ring", "{}"), Ends()), says("Nothing to do."))
        turn = await house.ask("Ring.")
        assert (turn.outcome, turn.reply, rung) == (Outcome.OK, "Nothing to do.", [])

    async def test_a_reason_that_the_library_does_not_know_is_a_reason(self, house_of: HouseOf) -> None:
        house = await house_of("openai")
        house.provider.script(Says(["Here I am."], finish="guardrail_passed"))
        turn = await house.ask("Hi")
        assert (turn.outcome, turn.reply) == (Outcome.OK, "Here I am."), turn.error

    async def test_a_request_after_a_tool_is_made_again_and_the_tool_is_not(
        self, house_of: HouseOf, dialect: str
    ) -> None:
        rung: list[str] = []

        async def ring(context: ToolContext) -> str:
            rung.append(context.turn_id)
            return "It rang."

        bell = Tool(name="ring", description="Ring the bell.", parameters=flat({}), run=ring)
        house = await house_of(dialect, tools=[bell])
        house.provider.script(says(Calls("ring", "{}")), Fails(503), says("Done."))
        turn = await house.ask("Ring.")
        assert turn.reply == "Done."
        assert rung == [turn.id]

    async def test_a_silent_provider_is_given_up_in_time(self, house_of: HouseOf, dialect: str) -> None:
        house = await house_of(dialect, limits=Limits(first_word_seconds=0.2, tries=2))
        house.provider.script(says(Waits(), "too late"), says("Here I am."))
        turn = await house.ask("Hi")
        assert turn.reply == "Here I am."

    async def test_a_model_that_is_not_there_is_named_as_the_trouble(self, house_of: HouseOf) -> None:
        house = await house_of("openai")
        house.provider.script(Fails(404, {"error": {"code": "model_not_found", "message": "no gpt-4o"}}))
        await house.ask("Hi")
        assert (await house.said())[-1][1].startswith("The provider does not know this model.")


async def test_a_stop_closes_the_stream_at_once(house_of: HouseOf, dialect: str) -> None:
    house = await house_of(dialect)
    house.provider.script(says("One, two, ", Waits(), "three"))
    async with house.running():
        admitted = await house.kernel.receive(CHAT, "Count.")
        await house.provider.waiting.wait()
        async with aclosing(house.kernel.follow(CHAT)) as heard:
            async for one in heard:
                if isinstance(one, LiveText):
                    break
        await house.kernel.stop(CHAT)
        turn = await house.kernel.wait(admitted.turn_id)
        await house.provider.left.wait()
    assert (turn.outcome, turn.reply) == (Outcome.STOPPED, "One, two,")


async def test_a_turn_that_is_let_go_between_two_words_closes_the_stream(house_of: HouseOf) -> None:
    house = await house_of("openai")
    house.provider.script(says("x" * 600_000, "y" * 600_000, Waits(), "z"))
    turn = await house.ask("Say much.")
    assert turn.outcome is Outcome.ERROR
    async with asyncio.timeout(10):
        await house.provider.left.wait()


async def test_what_a_user_adds_joins_at_the_next_step(house_of: HouseOf, dialect: str) -> None:
    async def look(context: ToolContext) -> str:
        await context.kernel.receive(CHAT, "And hurry.", when_busy="inject")
        return "seen"

    house = await house_of(
        dialect, tools=[Tool(name="look", description="Look.", parameters=flat({}), run=look)]
    )
    house.provider.script(says(Calls("look", "{}")), says("Hurrying."))
    turn = await house.ask("Look.")
    assert turn.reply == "Hurrying."
    assert "And hurry." in words_sent(house.provider.asked[1].body)[-1][1]
    assert len(house.provider.asked) == 2


async def test_what_was_added_before_a_crash_is_given_behind_what_was_asked(house_of: HouseOf) -> None:
    """The first worker is lost after the user's word had joined; the second attempt sees both in order."""
    house = await house_of("openai")
    await house.ask("Hi")
    admitted = await house.kernel.receive(CHAT, "Look.")
    now = house.clock.ms()
    seat = seat_of("lost", lease_ms=15_000, lease_now=now)
    (lost,) = await house.kernel.store.commit(
        lease.lease, seat, pool=lane.Pool.USER, after="", limit=1, now=now
    )
    await house.kernel.receive(CHAT, "And hurry.", when_busy="inject")
    await house.kernel.store.commit(lease.join, lost, now)
    house.clock.advance(minutes=1)
    await quiet(house.kernel)
    assert (await house.kernel.turn(admitted.turn_id)).attempt == 2
    sent = words_sent(house.provider.asked[-1].body)
    assert [text for role, text in sent if role == "user"] == ["Hi", "Look.", "And hurry."]


async def test_thinking_and_words_are_heard_as_they_come(house_of: HouseOf, dialect: str) -> None:
    house = await house_of(dialect)
    listened = asyncio.Event()
    house.provider.script(says(Waits(listened), Thinks("Hm."), "One, ", "two."))
    live: list[tuple[str, str]] = []
    async with house.running():
        await house.kernel.receive(CHAT, "Count.")
        async with aclosing(house.kernel.follow(CHAT)) as heard:
            async for one in heard:
                if isinstance(one, LiveText):
                    live.append((one.type, one.text))
                elif isinstance(one, Event) and one.type == "stream_start":
                    listened.set()
                elif isinstance(one, Event) and one.type == "stream_end":
                    break
    assert "".join(text for kind, text in live if kind == "stream_delta") == "One, two."
    assert ("thinking_delta", "Hm.") in live
