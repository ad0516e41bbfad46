"""`segue worker`: any number of them on one PostgreSQL."""

import asyncio
import re
import signal

import httpx2

from segue import Kernel, Outcome
from tests.cli.process import Segue
from tests.eventually import eventually


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


async def test_a_worker_answers_health_and_metrics_at_its_own_port(segue: Segue) -> None:
    segue.forked = False
    async with segue.running("worker", "--metrics-port", "0") as worker:
        await worker.logged("worker started")
        address = re.search(r"http://127\.0\.0\.1:\d+", worker.log)
        assert address is not None
        async with (
            Kernel(segue.database, agent=_no_agent) as kernel,
            httpx2.AsyncClient(base_url=address[0], trust_env=False) as http,
        ):
            turn = await kernel.wait(await kernel.receive("web:1", "hello"))
            assert turn.outcome is Outcome.OK
            assert (await http.get("/health")).json()["status"] == "ok"

            async def counted() -> bool:
                return 'segue_turns_total{kind="user",outcome="ok"} 1.0' in (await http.get("/metrics")).text

            await eventually(counted, "the turn is counted")
            assert (await http.get("/sessions")).status_code == 404
        worker.tell(signal.SIGTERM)
        assert await worker.end() == 0


async def test_a_workers_port_is_open_to_other_machines_only_with_keys(segue: Segue) -> None:
    segue.env["SEGUE_HOST"] = "0.0.0.0"
    ended = await segue("worker", "--metrics-port", "0")
    assert (ended.code, "no API key is set" in ended.err) == (2, True)


async def _no_agent(turn: object) -> str:
    raise AssertionError("this process must run no turn")
