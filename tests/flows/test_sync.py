"""`segue.sync`: a kernel whose verbs block, for scripts, notebooks and Celery tasks."""

import asyncio
import inspect
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from segue import Ask, Event, Every, LiveText, OpenTurn
from segue import Kernel as AsyncKernel
from segue.errors import AlreadyOpen, BadKey, NotFound, NotOpen, StoreUnusable
from segue.sync import Kernel
from segue.testing import ScriptedAgent
from tests.docs.pages import ROOT


def test_a_message_is_answered_when_the_kernel_is_drained(database_url: str) -> None:
    with Kernel(database_url, agent=ScriptedAgent()) as kernel:
        asked = kernel.receive("web:1", "Hello")
        assert kernel.drain().turns == 1
        assert kernel.turns.get(asked.turn_id).reply == "ok"
        assert [message.content for message in kernel.messages("web:1")] == ["Hello", "ok"]
        assert not kernel.audit()


def test_started_workers_answer_while_the_caller_waits(database_url: str) -> None:
    kernel = Kernel(database_url, agent=ScriptedAgent()).start()
    asked = kernel.receive("web:1", "Hello")
    assert kernel.wait(asked.turn_id).reply == "ok"
    kernel.close()
    assert not kernel.is_open
    kernel.close()


def test_events_are_iterated_and_the_caller_may_stop() -> None:
    with Kernel("sqlite://:memory:", agent=ScriptedAgent()) as kernel:
        kernel.start()
        heard: list[Event | LiveText] = list(kernel.ask("web:1", "Hello"))
        assert heard[-1].type == "session_sync"
        for item in kernel.follow("web:1"):
            assert item.seq == 1
            break
        assert kernel.jobs.list("web:1") == []


def test_the_errors_are_those_of_the_async_kernel(tmp_path: Path) -> None:
    with Kernel("sqlite://:memory:", agent=ScriptedAgent()) as kernel:
        with pytest.raises(BadKey):
            kernel.receive("no colon", "Hello")
        with pytest.raises(NotFound):
            kernel.sessions.get("web:none")
        with pytest.raises(AlreadyOpen):
            kernel.__enter__()
        assert kernel.is_open
    (tmp_path / "file").write_text("not a database")
    with pytest.raises(StoreUnusable), Kernel(f"sqlite:///{tmp_path}/file", agent=ScriptedAgent()):
        pass


def test_a_kernel_that_is_not_open_says_what_to_do() -> None:
    kernel = Kernel("sqlite://:memory:", agent=ScriptedAgent())
    with pytest.raises(NotOpen, match="use `with kernel`"):
        kernel.receive("web:1", "Hello")
    with kernel:
        pass
    with pytest.raises(NotOpen, match="use `with kernel`"):
        kernel.drain()


def test_a_kernel_can_be_opened_again(database_url: str) -> None:
    kernel = Kernel(database_url, agent=ScriptedAgent())
    for number in (1, 2):
        with kernel:
            kernel.receive("web:1", "Hello")
            kernel.drain()
            assert len(kernel.messages("web:1")) == 2 * number


def test_many_threads_may_call_one_kernel(database_url: str) -> None:
    with Kernel(database_url, agent=ScriptedAgent()) as kernel:
        threads = [
            threading.Thread(target=kernel.receive, args=(f"web:{number}", "Hello")) for number in range(20)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert kernel.drain().turns == 20


def test_an_agent_that_calls_its_own_blocking_kernel_is_told_so() -> None:
    async def agent(turn: OpenTurn) -> str:
        kernel.schedule("web:1", Every(600), Ask("Look in."))
        return "never said"

    with Kernel("sqlite://:memory:", agent=agent) as kernel:
        asked = kernel.receive("web:1", "Hello")
        kernel.drain()
        assert "would wait for itself" in (kernel.turns.get(asked.turn_id).error or "")


def test_a_call_from_a_running_event_loop_blocks_that_loop_only() -> None:
    async def in_a_notebook() -> int:
        with Kernel("sqlite://:memory:", agent=ScriptedAgent()) as kernel:
            kernel.receive("web:1", "Hello")
            return kernel.drain().turns

    assert asyncio.run(in_a_notebook()) == 1


def _count_in_child(kernel: Kernel, results: "multiprocessing.Queue[str]") -> None:
    try:
        kernel.messages("web:1")
    except NotOpen as error:
        results.put(str(error))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_kernel_that_was_opened_before_a_fork_does_not_hang() -> None:
    context = multiprocessing.get_context("fork")
    results: multiprocessing.Queue[str] = context.Queue()
    with Kernel("sqlite://:memory:", agent=ScriptedAgent()) as kernel:
        child = context.Process(target=_count_in_child, args=(kernel, results))
        child.start()
        assert f"opened in process {os.getpid()}, before a fork" in results.get(timeout=60)
        child.join()


def test_ctrl_c_stops_a_running_kernel_in_order(tmp_path: Path) -> None:
    program = (
        "from segue.sync import Kernel\n"
        "async def agent(turn):\n"
        "    print('asked', flush=True)\n"
        "    return 'ok'\n"
        f"with Kernel('sqlite:///{tmp_path}/segue.db', agent=agent) as kernel:\n"
        "    kernel.receive('web:1', 'Hello')\n"
        "    try:\n"
        "        kernel.run()\n"
        "    except KeyboardInterrupt:\n"
        "        print(kernel.messages('web:1')[-1].content)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "asked\n"
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "ok\n")


def test_every_verb_of_the_async_kernel_is_there() -> None:
    blocking = Kernel("sqlite://:memory:", agent=ScriptedAgent())
    missing: list[str] = []

    async def compare() -> None:
        async with AsyncKernel("sqlite://:memory:", agent=ScriptedAgent()) as kernel:
            for name, part in vars(kernel).items():
                if type(part).__name__.endswith("Api"):
                    missing.extend(
                        f"{name}.{verb}" for verb in _verbs(part) - set(dir(getattr(blocking, name)))
                    )
                elif inspect.ismethod(part) and not name.startswith("_") and not hasattr(blocking, name):
                    missing.append(name)
            missing.extend(_verbs(kernel) - set(dir(blocking)))

    asyncio.run(compare())
    assert missing == []


def _verbs(part: object) -> set[str]:
    return {
        name
        for name, value in inspect.getmembers(type(part))
        if not name.startswith("_")
        and (inspect.iscoroutinefunction(value) or inspect.isasyncgenfunction(value))
    }
