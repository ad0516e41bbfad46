"""`max_running_turns`: a limit of all processes, here two kernels on one database."""

from segue import Ask, At, Kernel, Settings
from segue.model.states import TurnState
from segue.testing import ManualClock
from tests.eventually import eventually
from tests.flows.story import BlockingAgent, working

LIMITED = Settings(max_running_turns=2)


async def test_a_turn_that_ends_lets_another_process_start_one(database_url: str) -> None:
    keys = [f"web:{number}" for number in range(3)]
    agents = BlockingAgent(*keys), BlockingAgent(*keys)
    async with (
        Kernel(database_url, agent=agents[0], settings=LIMITED) as first,
        Kernel(database_url, agent=agents[1], settings=LIMITED) as second,
    ):
        admitted = [await first.receive(key, "Hi") for key in keys]

        async def states() -> list[TurnState]:
            return [(await first.turns.get(each.turn_id)).state for each in admitted]

        async def two_run() -> bool:
            return (await states()).count(TurnState.RUNNING) == 2

        async def all_have_ended() -> bool:
            return set(await states()) == {TurnState.DONE}

        async with working(first):
            await eventually(two_run, "two turns run")
            assert await second.workers.user_runner.step() == 0
            async with working(second):
                for agent in agents:
                    agent.release()
                await eventually(all_have_ended, "the third turn has run too")
        assert not await first.audit()


async def test_scheduled_turns_leave_room_for_users(database_url: str, clock: ManualClock) -> None:
    agent = BlockingAgent("web:0", "web:1", "web:2", "web:user")
    async with Kernel(database_url, agent=agent, settings=LIMITED, clock=clock) as kernel:
        for number in range(3):
            await kernel.schedule(f"web:{number}", At("in 1 minute"), Ask("look"))
        clock.advance(minutes=2)
        async with working(kernel):
            await eventually(lambda: len(kernel.workers.turns) == 1, "a scheduled turn runs")
            asked = await kernel.receive("web:user", "Hi")
            await agent.is_waiting_in("web:user")
            assert (await kernel.turns.get(asked.turn_id)).state is TurnState.RUNNING
            agent.release()
