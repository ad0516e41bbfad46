"""A mounted application under uvicorn: several processes, reloading, and a kill in the middle of a turn."""

import asyncio
import signal
from pathlib import Path
from typing import Any

import httpx2

from segue import Kernel
from segue.testing import ScriptedAgent
from tests.docs.pages import ROOT
from tests.eventually import eventually
from tests.server.process import Address
from tests.server.uvicorn_process import uvicorn

APP = "tests.server.mounted:app"
ADA = {"X-User": "ada"}


def client(server: Address) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(base_url=f"{server.http}/segue", headers=ADA, timeout=60)


async def test_a_turn_goes_on_after_its_process_was_killed(database_url: str, tmp_path: Path) -> None:
    log, env = tmp_path / "log", {"SEGUE_TEST_DATABASE": database_url}
    with uvicorn(APP, log, env=env) as server:
        async with client(server) as http:
            turn_id = (await http.post("/sessions/web:1/turns", json={"content": "wait"})).json()["turn_id"]

            async def is_running() -> bool:
                return bool((await http.get(f"/turns/{turn_id}")).json()["state"] == "running")

            await eventually(is_running, "the turn runs")
        server.process.send_signal(signal.SIGKILL)
        await asyncio.to_thread(server.process.wait, 20)
    with uvicorn(APP, log, env=env) as server:
        async with client(server) as http:

            async def ended() -> Any:
                turn = (await http.get(f"/turns/{turn_id}")).json()
                return turn if turn["state"] == "done" else None

            assert (await eventually(ended, "the turn has ended"))["reply"].startswith("attempt 2 in process")
            messages = (await http.get("/sessions/web:1/messages")).json()["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant"]
    async with Kernel(database_url, agent=ScriptedAgent()) as kernel:
        assert not await kernel.audit()


async def test_several_processes_of_uvicorn_share_the_work(database_url: str, tmp_path: Path) -> None:
    env = {"SEGUE_TEST_DATABASE": database_url}
    with uvicorn(APP, tmp_path / "log", "--workers", "2", env=env, processes=2) as server:
        async with client(server) as http:
            for number in range(10):
                answer = await http.post(f"/sessions/web:{number}/turns?wait=30", json={"content": "Hello"})
                assert answer.json()["reply"].startswith("attempt 1 in process")
    async with Kernel(database_url, agent=ScriptedAgent()) as kernel:
        assert not await kernel.audit()


async def test_uvicorn_reloads_the_application(tmp_path: Path) -> None:
    """The kernel of the old process is closed, and the new one goes on with the same database."""
    folder = tmp_path / "program"
    folder.mkdir()
    program = folder / "reloaded.py"
    text = (ROOT / "tests" / "server" / "mounted.py").read_text("utf-8")
    program.write_text(text, "utf-8")
    env = {"SEGUE_TEST_DATABASE": f"sqlite:///{tmp_path}/segue.db"}
    options = ("--app-dir", str(folder), "--reload", "--reload-dir", str(folder))
    with uvicorn("reloaded:app", tmp_path / "log", *options, env=env) as server:
        async with client(server) as http:
            said = await http.post("/sessions/web:1/turns?wait=30", json={"content": "Hello"})
            assert said.json()["reply"].startswith("attempt 1")
            program.write_text(text.replace('yield f"attempt', 'yield f"reloaded, attempt'), "utf-8")

            async def is_reloaded() -> bool:
                try:
                    answer = await http.post("/sessions/web:1/turns?wait=30", json={"content": "Hello"})
                except httpx2.TransportError:  # between the two processes
                    return False
                return "reloaded" in (answer.json().get("reply") or "")

            await eventually(is_reloaded, "the server has reloaded")
            assert len((await http.get("/sessions")).json()["sessions"]) == 1
