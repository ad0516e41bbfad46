"""Examples that live in an application: FastAPI, Django, a Celery worker, a notebook. Each runs there."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from websockets.asyncio.client import connect

from segue import Kernel
from segue.model.records import Operator
from segue.testing import ScriptedAgent
from tests.docs.pages import ROOT
from tests.docs.test_examples import EXAMPLES, PRINTS, expected_output
from tests.server.uvicorn_process import uvicorn

CELL = re.compile(r"^# %%(.*)\n", re.MULTILINE)


async def test_the_fastapi_application_has_its_own_login_and_a_job(tmp_path: Path) -> None:
    env = {"DATABASE_URL": f"sqlite:///{tmp_path}/agent.db"}
    with uvicorn("examples.fastapi_app:app", tmp_path / "log", env=env) as server:
        anna = {"Cookie": "login=token-of-anna"}
        async with httpx2.AsyncClient(base_url=server.http, headers=anna, timeout=60) as http:
            stranger = await http.get("/segue/sessions", headers={"Cookie": "login=guessed"})
            assert stranger.status_code == 401
            said = await http.post("/segue/sessions/web:1/turns?wait=30", json={"content": "Hello"})
            assert said.json()["reply"] == "You said: Hello"
            listed = (await http.get("/segue/sessions")).json()["sessions"]
            assert {session["key"] for session in listed} == {"web:1", "web:news"}
            ben = await http.get("/segue/sessions", headers={"Cookie": "login=token-of-ben"})
            assert ben.json()["sessions"] == []
            async with connect(f"ws://127.0.0.1:{server.port}/segue/ws", additional_headers=anna) as live:
                await live.send(json.dumps({"type": "subscribe", "session": "web:news", "after": 0}))
                assert (await http.post("/orders/7/ship")).status_code == 200
                async with asyncio.timeout(60):
                    while (event := json.loads(await live.recv()))["type"] != "message":
                        pass
            assert event["message"]["content"] == "Order 7 is on its way."
    assert "Traceback" not in (tmp_path / "log").read_text()


async def test_an_account_lives_in_the_database_where_it_was_placed(tmp_path: Path) -> None:
    databases = [f"sqlite:///{tmp_path}/cell{number}.db" for number in range(2)]
    with uvicorn("examples.cells:app", tmp_path / "log", env={"CELLS": " ".join(databases)}) as server:
        async with httpx2.AsyncClient(base_url=server.http, timeout=60) as http:
            assert (await http.get("/sessions")).status_code == 401
            for login in ("anna", "hank"):
                cookie = {"Cookie": f"login=token-of-{login}"}
                body = {"content": f"I am {login}"}
                said = await http.post("/sessions/web:1/turns?wait=30", json=body, headers=cookie)
                assert said.json()["reply"] == f"You said: I am {login}"
                live = connect(f"ws://127.0.0.1:{server.port}/ws", additional_headers=cookie)
                async with live as socket, asyncio.timeout(60):
                    await socket.send(json.dumps({"type": "subscribe", "session": "web:1", "after": 0}))
                    assert json.loads(await socket.recv())
    for database, account in zip(databases, ("acme", "globex"), strict=True):
        async with Kernel(database, agent=ScriptedAgent()) as kernel:
            (session,) = await kernel.sessions.list(owner=Operator(account, "default"))
            assert session.owner.account == account
    assert "Traceback" not in (tmp_path / "log").read_text()


async def test_django_and_segue_share_an_application(tmp_path: Path) -> None:
    env = {"DATABASE_URL": f"sqlite:///{tmp_path}/agent.db"}
    with uvicorn("examples.django_app:application", tmp_path / "log", env=env) as server:
        async with httpx2.AsyncClient(base_url=server.http, timeout=60) as http:
            assert (await http.get("/ask?text=Hello")).json() == {"reply": "You said: Hello"}
            messages = (await http.get("/segue/sessions/web:django/messages")).json()["messages"]
            assert [message["content"] for message in messages] == ["Hello", "You said: Hello"]
            assert (await http.get("/nothing")).headers["content-type"].startswith("text/html")
    assert "Traceback" not in (tmp_path / "log").read_text()


@contextmanager
def celery_worker(folder: Path) -> Iterator[None]:
    """A real worker with two processes, which it forks; its broker is a folder."""
    log = folder / "log"
    with log.open("w") as output:
        worker = subprocess.Popen(
            [
                *(
                    sys.executable,
                    "-m",
                    "celery",
                    "-A",
                    "examples.celery_tasks",
                    "worker",
                    "--pool",
                    "prefork",
                ),
                *("--concurrency", "2", "--without-gossip", "--without-mingle", "--loglevel", "INFO"),
            ],
            cwd=ROOT,
            env={**os.environ, "CELERY_FOLDER": str(folder)},
            stdout=output,
            stderr=output,
        )
    try:
        for _ in range(1200):
            if " ready." in log.read_text():
                break
            assert worker.poll() is None, log.read_text()
            time.sleep(0.05)
        yield
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.wait(60)


def test_a_celery_worker_asks_schedules_and_does_what_is_due(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CELERY_FOLDER", str(tmp_path))
    program = (
        "from examples.celery_tasks import ask, remind, work\n"
        "asked = [ask.delay(f'web:{number}', 'Hello') for number in range(4)]\n"
        "print([each.get(timeout=120) for each in asked])\n"
        "remind.delay('web:0', '0 9 * * 1-5', 'Good morning').get(timeout=120)\n"
        "print(work.delay().get(timeout=120))\n"
    )
    with celery_worker(tmp_path):
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=300
        )
    assert done.returncode == 0, done.stderr + (tmp_path / "log").read_text()
    assert done.stdout == f"{['You said: Hello'] * 4}\n0\n"


def test_the_notebook_runs_in_a_kernel_of_jupyter(tmp_path: Path) -> None:
    example = EXAMPLES / "notebook.py"
    program = example.read_text("utf-8").partition(PRINTS)[0]
    _, *parts = CELL.split(program)
    cells = [_cell(kind, text) for kind, text in zip(parts[::2], parts[1::2], strict=True)]
    notebook = tmp_path / "notebook.ipynb"
    notebook.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}))
    execute = Path(sys.executable).parent / "jupyter-execute"  # of nbclient
    done = subprocess.run(
        [execute, "--inplace", "--kernel_name=python3", notebook], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    executed = json.loads(notebook.read_text())["cells"]
    printed = ["".join(output["text"]) for cell in executed for output in cell.get("outputs", ())]
    assert "".join(printed) == expected_output(example)


def _cell(kind: str, text: str) -> dict[str, object]:
    if "markdown" in kind:
        return {"cell_type": "markdown", "metadata": {}, "source": text}
    return {"cell_type": "code", "metadata": {}, "source": text, "outputs": [], "execution_count": None}
