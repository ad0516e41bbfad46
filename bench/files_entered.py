"""Counts the files of Segue that an act enters: `python -m bench.files_entered [--list] [--database URL]`.

Each act runs over HTTP against the real application, in this process, until its closure. A file counts when a
function that is defined in it is called on behalf of the act:

- The request is the act's, and so is one `step` of each worker that has work for it. Workers that only look
  whether there is work are not, nor are other background tasks: a reader of the act need not know them. The
  act is recognised by a context variable, which tasks inherit; threads belong to the database driver.
- Resuming a coroutine is no call. Module and class bodies do not count either, because each act runs once
  before it is counted, nor do generated methods (they are in no file; `record.py` has those that records
  share), nor files of `segue.testing`.

The second column leaves out the database driver (`store/sqlite`, `store/postgres`, and `store/last_write`,
which only drivers call). A reader of an act need not know it: a transaction means the same if it runs alone.
"""

import argparse
import asyncio
import dis
import inspect
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from datetime import timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType
from typing import Any, TypeAlias

import httpx2

import segue
from segue import Kernel
from segue.config import Configuration
from segue.kernel.transactions.result import Name
from segue.kernel.workers.workforce import Workforce
from segue.server import create_app
from segue.testing import ManualClock, ScriptedAgent

_ROOT = Path(segue.__file__).parent
_DRIVER = ("store/sqlite/", "store/postgres/", "store/last_write.py")
_NOT_COUNTED = ("testing/", "record.py")
_IDLE_POLICY = {"enabled": True, "idle_timeout_seconds": 60, "keep_recent_count": 0}

_ON_BEHALF: ContextVar[bool] = ContextVar("on_behalf_of_the_act", default=False)
_RESUMABLE = inspect.CO_COROUTINE | inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR


class Recorder:
    """Collects the files whose functions are called, while it is active."""

    def __init__(self) -> None:
        self._active = False
        self._files: set[str] = set()
        self._loop_thread = threading.get_ident()
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)

    def _profile(self, frame: FrameType, event: str, argument: object) -> None:
        if event != "call" or not self._active or _is_resumed(frame):
            return
        if _ON_BEHALF.get() or threading.get_ident() != self._loop_thread:
            self._files.add(frame.f_code.co_filename)

    @contextmanager
    def recording(self) -> Iterator[None]:
        self._files, self._active = set(), True
        token = _ON_BEHALF.set(True)
        try:
            yield
        finally:
            self._active = False
            _ON_BEHALF.reset(token)

    def files(self) -> list[str]:
        """The files below `src/segue`, sorted."""
        below = [file.removeprefix(f"{_ROOT}/") for file in self._files if file.startswith(f"{_ROOT}/")]
        return sorted(file for file in below if not file.startswith(_NOT_COUNTED))


def _is_resumed(frame: FrameType) -> bool:
    """Whether a coroutine or generator goes on after an `await` or a `yield`."""
    return bool(frame.f_code.co_flags & _RESUMABLE) and frame.f_lasti > _first_instruction(frame.f_code)


@cache
def _first_instruction(code: CodeType) -> int:
    return next(one.offset for one in dis.get_instructions(code) if one.opname == "RESUME")


class Stage:
    """A kernel with its HTTP application, and what the acts need of them."""

    def __init__(self, http: httpx2.AsyncClient, clock: ManualClock, workers: Workforce) -> None:
        self.http = http
        self.clock = clock
        self.workers = workers

    async def post(self, path: str, **body: Any) -> None:
        answer = await self.http.post(path, json=body)
        assert answer.is_success, answer.text


Act: TypeAlias = Callable[[Stage, str], Awaitable[None]]


async def _message(stage: Stage, key: str) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(stage.post(f"/sessions/{key}/turns?wait=20", content="Good morning"))
        await stage.workers.context.bell.wait(Name.USER, None)
        assert await stage.workers.user_runner.step() == 1


async def _cron_job(stage: Stage, key: str) -> None:
    schedule = {"kind": "cron", "expr": "* * * * *", "tz": "Europe/Berlin"}
    await stage.post(f"/sessions/{key}/automations", message="What is new?", schedule=schedule)
    stage.clock.advance(minutes=1)
    await stage.workers.timer.step()
    assert await stage.workers.runner.step() == 1


async def _scheduled_message(stage: Stage, key: str) -> None:
    send_at = (stage.clock.now() + timedelta(minutes=1)).isoformat()
    await stage.post(f"/sessions/{key}/scheduled-messages", send_at=send_at, message_text="Sleep well.")
    stage.clock.advance(minutes=1)
    await stage.workers.timer.step()
    assert await stage.workers.courier.step() == 1


async def _auto_commit(stage: Stage, key: str) -> None:
    message = {"role": "user", "content": "My name is Ada.", "auto_commit_policy": _IDLE_POLICY}
    await stage.post(f"/sessions/{key}/messages", **message)
    stage.clock.advance(minutes=2)
    assert await stage.workers.archivist.step() > 0
    while await stage.workers.archivist.step():
        pass


ACTS: dict[str, Act] = {
    "a message over HTTP, answered": _message,
    "a cron job, from creation to closure": _cron_job,
    "a scheduled message, until it is sent": _scheduled_message,
    "a message and its auto commit": _auto_commit,
}


async def files_entered(database: str) -> dict[str, list[str]]:
    """Returns the files that each act enters."""
    recorder = Recorder()
    return {name: await _entered(database, recorder, act) for name, act in ACTS.items()}


async def _entered(database: str, recorder: Recorder, act: Act) -> list[str]:
    for key in ("web:first", "web:second"):
        async with _stage(database, key) as stage:
            with recorder.recording():
                await act(stage, key)
    return recorder.files()


@asynccontextmanager
async def _stage(database: str, key: str) -> AsyncIterator[Stage]:
    with TemporaryDirectory() as folder:
        url = database or f"sqlite:///{folder}/segue.db"
        clock = ManualClock()
        async with Kernel(url, agent=ScriptedAgent(), clock=clock) as kernel:
            app = create_app(kernel, Configuration(database=url))
            client = httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://localhost")
            async with client:
                stage = Stage(client, clock, kernel.workers)
                await stage.post("/sessions", key=key)
                yield stage


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.files_entered", description=__doc__)
    parser.add_argument("--list", action="store_true", help="print the files of each act as well")
    parser.add_argument("--database", default="", help="default: SQLite in a temporary folder")
    options = parser.parse_args()
    entered = asyncio.run(files_entered(options.database))
    print("| act | files | without the driver |\n|---|---|---|")
    for name, files in entered.items():
        print(f"| {name} | {len(files)} | {sum(not file.startswith(_DRIVER) for file in files)} |")
    for name, files in entered.items() if options.list else ():
        print(f"\n{name}\n" + "\n".join(f"  {file}" for file in files))


if __name__ == "__main__":
    main()
