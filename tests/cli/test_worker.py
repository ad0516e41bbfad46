"""`segue worker`: any number of them on one PostgreSQL."""

import asyncio
import signal

from segue import Kernel, Outcome
from tests.cli.process import Segue


async def test_two_workers_share_the_turns_and_stop_gracefully(segue: Segue, postgres_url: str) -> None:
    segue.env["SEGUE_DATABASE"] = postgres_url
    async with (
        segue.running("worker", "--runners", "1") as one,
        segue.running("worker", "--runners", "1") as two,
        Kernel(postgres_url, agent=_no_agent) as kernel,
    ):
        await one.logged("worker started")
        await two.logged("worker started")
        admitted = [await kernel.receive(f"web:{number}", "hello") for number in range(10)]
        async with asyncio.timeout(60):
            turns = [await kernel.wait(each.turn_id) for each in admitted]
        assert {turn.outcome for turn in turns} == {Outcome.OK}
        for worker in (one, two):
            worker.tell(signal.SIGTERM)
            assert await worker.end() == 0
        assert not await kernel.audit()


async def _no_agent(turn: object) -> str:
    raise AssertionError("this process must run no turn")
