"""`max_running_turns_by_model`: limits of single models, over all processes."""

from dataclasses import replace
from functools import partial

import pytest

from segue import Ask, At, Kernel, Owner, Settings
from segue.errors import BadSetting
from segue.kernel.transactions.guards.model_room import MODEL_PAUSE_MS
from segue.model.prompts import Mode
from segue.model.states import TurnState
from segue.store import queries
from segue.testing import ManualClock
from tests.eventually import eventually
from tests.flows.house import OpenKernel
from tests.flows.story import BlockingAgent, working

MODELS = {"best": "test:best", "fast": "test:fast"}
ONE_BEST = Settings(models=MODELS, max_running_turns_by_model={"best": 1}, lease_seconds=3600)
"""The clock of a test moves by minutes while a turn runs."""
CROWD = 12


async def scheduled(
    kernel: Kernel, key: str, model: str | None, account: str = "default", *, seconds: int = 60
) -> None:
    await kernel.schedule(key, At(f"in {seconds} seconds"), Ask("look", model=model), owner=Owner(account))


async def test_a_turn_that_waits_for_its_model_holds_up_no_other_session(
    open_kernel: OpenKernel, clock: ManualClock
) -> None:
    agent = BlockingAgent("web:first", "web:fast")
    kernel = await open_kernel(agent=agent, settings=ONE_BEST)
    await scheduled(kernel, "web:first", "best")
    for number in range(CROWD):
        await scheduled(kernel, f"web:{number}", "best", seconds=61 + number)
    await scheduled(kernel, "web:fast", "fast", seconds=61 + CROWD)
    clock.advance(minutes=1)
    async with working(kernel):
        await agent.is_waiting_in("web:first")
        for number in range(CROWD):
            clock.advance(seconds=1)
            await eventually_put_off(kernel, number + 1)
        clock.advance(seconds=1)
        await agent.is_waiting_in("web:fast")
        assert not agent.answered
        assert not await kernel.audit()
        agent.release()
        await eventually(lambda: len(agent.answered) == CROWD + 2, "all have run")
    assert [key for key in agent.answered if key[4:].isdigit()] == [f"web:{n}" for n in range(CROWD)]


async def test_two_processes_share_the_limit_of_a_model(open_kernel: OpenKernel, clock: ManualClock) -> None:
    keys = [f"web:{number}" for number in range(4)]
    agents = BlockingAgent(*keys), BlockingAgent(*keys)
    first, second = [await open_kernel(agent=agent, settings=ONE_BEST) for agent in agents]
    for key in keys:
        await scheduled(first, key, "best")
    clock.advance(minutes=1)
    async with working(first), working(second):
        await eventually(lambda: len(first.workers.turns) + len(second.workers.turns) == 1, "one runs")
        await eventually_put_off(first, len(keys) - 1)
        assert len(first.workers.turns) + len(second.workers.turns) == 1
        for agent in agents:
            agent.release()
        await eventually(lambda: len(agents[0].answered + agents[1].answered) == len(keys), "all have run")


async def test_accounts_take_turns_at_a_model(open_kernel: OpenKernel, clock: ManualClock) -> None:
    agent = BlockingAgent("web:first")
    kernel = await open_kernel(agent=agent, settings=ONE_BEST)
    await scheduled(kernel, "web:first", "best", "a")
    for number in range(CROWD):
        await scheduled(kernel, f"web:{number}", "best", "a", seconds=61)
    clock.advance(minutes=1)
    async with working(kernel):
        await agent.is_waiting_in("web:first")
        clock.advance(seconds=1)
        await eventually_put_off(kernel, CROWD)
        await scheduled(kernel, "web:lone", "best", "b")
        clock.advance(minutes=1)
        await eventually_put_off(kernel, CROWD + 1)
        agent.release()
        await eventually(lambda: len(agent.answered) == CROWD + 2, "all have run")
    assert agent.answered.index("web:lone") <= 2


async def test_a_user_goes_before_a_turn_that_waits_for_its_model(
    open_kernel: OpenKernel, clock: ManualClock
) -> None:
    agent = BlockingAgent("web:first")
    kernel = await open_kernel(agent=agent, settings=ONE_BEST)
    await scheduled(kernel, "web:first", "best")
    await scheduled(kernel, "web:chat", "best", seconds=61)
    clock.advance(minutes=1)
    async with working(kernel):
        await agent.is_waiting_in("web:first")
        clock.advance(seconds=1)
        await eventually_put_off(kernel, 1)
        await kernel.receive("web:chat", "Hi")
        await eventually(lambda: agent.answered == ["web:chat"], "the user's turn has run")
        clock.advance(minutes=3)  # the patience of the scheduled turn is over
        late = await kernel.receive("web:chat", "Still there?")
        await eventually_put_off(kernel, 1)
        assert (await kernel.turns.get(late.turn_id)).state is TurnState.QUEUED
        agent.release()
        await eventually(lambda: agent.answered[-2:] == ["web:chat", "web:chat"], "both have run, in order")
    heard = [message.content for message in await kernel.messages("web:chat") if message.role == "user"]
    assert [text.splitlines()[-1] for text in heard] == ["Hi", "look", "Still there?"]


async def test_users_keep_a_part_of_the_default_model(open_kernel: OpenKernel, clock: ManualClock) -> None:
    agent = BlockingAgent("web:0", "web:1", "web:user")
    settings = Settings(max_running_turns_by_model={"default": 2}, lease_seconds=3600)
    kernel = await open_kernel(agent=agent, settings=settings)
    for number in range(2):
        await scheduled(kernel, f"web:{number}", None)
    clock.advance(minutes=1)
    async with working(kernel):
        await eventually_put_off(kernel, 1)
        await kernel.receive("web:user", "Hi")
        await agent.is_waiting_in("web:user")
        assert len(kernel.workers.turns) == 2
        agent.release()


async def test_a_check_counts_for_the_model_that_looks_first(
    open_kernel: OpenKernel, clock: ManualClock
) -> None:
    agent = BlockingAgent("web:fast", "web:check")
    kernel = await open_kernel(
        agent=agent, settings=replace(ONE_BEST, max_running_turns_by_model={"fast": 1})
    )
    await scheduled(kernel, "web:fast", "fast")
    clock.advance(minutes=1)
    async with working(kernel):
        await agent.is_waiting_in("web:fast")
        action = Ask("look", model="best", look="fast", mode=Mode.CHECK)
        await kernel.schedule("web:check", At("in 1 minute"), action)
        clock.advance(minutes=1)
        await eventually_put_off(kernel, 1)
        agent.release()
        await eventually(lambda: agent.answered == ["web:fast", "web:check"], "both have run")


async def test_a_process_without_the_limit_runs_what_waits_after_a_pause(
    open_kernel: OpenKernel, clock: ManualClock
) -> None:
    agent, other = BlockingAgent("web:0"), BlockingAgent()
    full = await open_kernel(agent=agent, settings=replace(ONE_BEST, runners=1))
    limited = await open_kernel(agent=agent, settings=ONE_BEST)
    unlimited = await open_kernel(agent=other, settings=Settings(models=MODELS, lease_seconds=3600))
    await scheduled(full, "web:0", "best")
    await scheduled(full, "web:1", "best", seconds=61)
    clock.advance(minutes=1)
    async with working(full):
        await agent.is_waiting_in("web:0")
        clock.advance(seconds=1)
        await eventually(partial(has_queued_turn, full, "web:1"), "the second job has fired")
        assert await limited.workers.runner.step() == 0
        await eventually_put_off(limited, 1)
        async with working(unlimited):
            clock.advance(milliseconds=MODEL_PAUSE_MS)
            await eventually(lambda: other.answered == ["web:1"], "the waiting turn has run")
        agent.release()


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"worst": 1}, "there is no model “worst”; there are: best, fast, default"),
        ({"best": 0}, "the limit of best is a whole number from 1 to 1,000,000, got 0"),
        ({"best": -1}, "the limit of best is a whole number from 1 to 1,000,000, got -1"),
        ({"best": True}, "the limit of best is a whole number from 1 to 1,000,000, got True"),
        ({"best": 1, "default": 2}, "best and default are the same model, test:best; limit one name"),
    ],
)
def test_a_limit_that_cannot_be_is_refused(limits: dict[str, int], words: str) -> None:
    with pytest.raises(BadSetting, match=words.split(";")[0].replace("“", ".").replace("”", ".")):
        Settings(models=MODELS, model="test:best", max_running_turns_by_model=limits)


def test_a_model_that_is_called_default_is_refused_beside_limits() -> None:
    with pytest.raises(BadSetting, match="rename it"):
        Settings(models={"default": "test:best"}, max_running_turns_by_model={"default": 1})


_WAITING = queries.translate("test.model_waits", "SELECT COUNT(*) AS found FROM model_waits")


async def has_queued_turn(kernel: Kernel, key: str) -> bool:
    return (await kernel.sessions.overview(key)).queued == 1


async def eventually_put_off(kernel: Kernel, count: int) -> None:
    async def are_put_off() -> bool:
        found: int = (await kernel.store.database.read(_WAITING, {}))[0]["found"]
        return found >= count

    await eventually(are_put_off, f"{count} lanes wait for their model")
