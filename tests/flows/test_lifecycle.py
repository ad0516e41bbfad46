"""Opening and closing a kernel: with `async with`, or with `start` and `close`."""

import asyncio
import multiprocessing
from pathlib import Path

import pytest

from segue import Kernel, Settings
from segue.errors import AlreadyOpen, AlreadyRunning, DatabaseGone, NotOpen
from segue.testing import ScriptedAgent
from tests.eventually import eventually


async def test_a_started_kernel_answers_until_it_is_closed(database_url: str) -> None:
    kernel = await Kernel(database_url, agent=ScriptedAgent()).start()
    asked = await kernel.receive("web:1", "Hello")
    assert (await kernel.wait(asked.turn_id)).reply == "ok"
    await kernel.close()
    assert not kernel.is_open
    await kernel.close()


async def test_a_closed_kernel_can_be_started_again(database_url: str) -> None:
    kernel = Kernel(database_url, agent=ScriptedAgent())
    for number in (1, 2):
        await kernel.start()
        asked = await kernel.receive("web:1", "Hello")
        assert (await kernel.wait(asked.turn_id)).reply == "ok"
        assert len(await kernel.messages("web:1")) == 2 * number
        await kernel.close()


async def test_closing_gives_the_running_turn_its_grace(database_url: str) -> None:
    agent = ScriptedAgent()
    kernel = await Kernel(database_url, agent=agent).start()
    agent.pause()
    asked = await kernel.receive("web:1", "Hello")
    await agent.under_way()
    closing = asyncio.create_task(kernel.close())
    await asyncio.sleep(0)
    agent.go_on()
    await closing
    async with kernel:
        assert (await kernel.turns.get(asked.turn_id)).reply == "ok"


async def test_a_turn_that_outlasts_the_grace_goes_back_to_the_queue(database_url: str) -> None:
    agent = ScriptedAgent()
    kernel = Kernel(database_url, agent=agent, settings=Settings(shutdown_grace_seconds=0))
    await kernel.start()
    agent.pause()
    asked = await kernel.receive("web:1", "Hello")
    await agent.under_way()
    await kernel.close()
    async with kernel:
        assert (await kernel.turns.get(asked.turn_id)).state == "queued"


async def test_start_and_close_may_be_called_by_different_tasks(database_url: str) -> None:
    kernel = Kernel(database_url, agent=ScriptedAgent())
    await asyncio.create_task(kernel.start())
    asked = await kernel.receive("web:1", "Hello")
    assert (await kernel.wait(asked.turn_id)).reply == "ok"
    await asyncio.create_task(kernel.close())


async def test_leaving_the_block_stops_what_start_began() -> None:
    async with Kernel("sqlite://:memory:", agent=ScriptedAgent()) as kernel:
        await kernel.start()
        asked = await kernel.receive("web:1", "Hello")
        assert (await kernel.wait(asked.turn_id)).reply == "ok"


async def test_a_kernel_is_opened_and_run_once() -> None:
    async with Kernel("sqlite://:memory:", agent=ScriptedAgent()) as kernel:
        with pytest.raises(AlreadyOpen, match="open it in one place"):
            await kernel.__aenter__()
        await kernel.start()
        for again in (kernel.start, kernel.run, kernel.drain):
            with pytest.raises(AlreadyRunning, match="in one place only"):
                await again()


async def test_a_call_to_a_kernel_that_is_not_open_says_what_to_do() -> None:
    kernel = Kernel("sqlite://:memory:", agent=ScriptedAgent())
    with pytest.raises(NotOpen, match="use `async with kernel`"):
        await kernel.receive("web:1", "Hello")
    async with kernel:
        with pytest.raises(AttributeError, match="no attribute 'recieve'"):
            kernel.recieve  # type: ignore[attr-defined]  # noqa: B018


def _opened_name(kernel: Kernel, names: "multiprocessing.Queue[tuple[str, str]]") -> None:
    async def name() -> tuple[str, str]:
        async with kernel:
            return kernel.name, kernel.ids(0)

    names.put(asyncio.run(name()))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_kernel_made_before_a_fork_has_its_own_name_and_ids_in_each_process() -> None:
    """Servers that fork import the application first. Two processes of one name would share leases."""
    context = multiprocessing.get_context("fork")
    names: multiprocessing.Queue[tuple[str, str]] = context.Queue()
    kernel = Kernel("sqlite://:memory:", agent=ScriptedAgent())
    children = [context.Process(target=_opened_name, args=(kernel, names)) for _ in range(2)]
    for child in children:
        child.start()
    found = [names.get(timeout=60) for _ in children]
    for child in children:
        child.join()
    assert len({name for name, _ in found} | {kernel.name}) == 3
    assert len({made for _, made in found}) == 2


async def test_closing_raises_what_ended_the_workers(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kernel = await Kernel(f"sqlite:///{tmp_path}/segue.db", agent=ScriptedAgent()).start()
    await kernel.receive("web:1", "Hello")
    (tmp_path / "segue.db").unlink()
    await eventually(lambda: "background workers stopped" in caplog.text, "the workers have noticed")
    with pytest.raises(DatabaseGone):
        await kernel.close()
