"""Counts the files of Segue that an act enters: `python -m bench.files_entered [--list] [--database URL]`.

Each act runs over HTTP against the real application, in this process, with its workers running. A file counts
when one of its functions is called between the request and the end of the act. Module bodies do not count:
each act runs once before it is counted, so that everything is imported. Nor do files of `segue.testing`.
The second column leaves out the database driver (`store/sqlite`, `store/postgres`, `store/batching`), which a
reader of an act need not know: a transaction means the same when it runs alone.
"""

import argparse
import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any, TypeAlias

import httpx2

import segue
from segue import Event, Kernel
from segue.config import Configuration
from segue.kernel.live.hub import EVERYTHING, Listener
from segue.server import create_app
from segue.testing import ManualClock, ScriptedAgent

_ROOT = Path(segue.__file__).parent
_DRIVER = ("store/sqlite/", "store/postgres/", "store/batching/")
_PATIENCE_SECONDS = 20.0
_AFTERWARDS_SECONDS = 0.5
"""Workers go back to sleep within it, also those that only look whether there is work."""

_IDLE_POLICY = {"enabled": True, "idle_timeout_seconds": 60, "keep_recent_count": 0}


class Recorder:
    """Collects the files whose functions are called, in all threads, while it is active."""

    def __init__(self) -> None:
        self._active = False
        self._files: set[str] = set()
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)

    def _profile(self, frame: FrameType, event: str, argument: object) -> None:
        if self._active and event == "call":
            self._files.add(frame.f_code.co_filename)

    def start(self) -> None:
        self._files, self._active = set(), True

    def stop(self) -> list[str]:
        """Returns the files below `src/segue`, sorted."""
        self._active = False
        below = [Path(file).relative_to(_ROOT) for file in self._files if file.startswith(f"{_ROOT}/")]
        return sorted(str(file) for file in below if file.parts[0] != "testing")


class Stage:
    """A kernel with its HTTP application, and what the acts need of them."""

    def __init__(self, http: httpx2.AsyncClient, clock: ManualClock, log: Listener) -> None:
        self.http = http
        self.clock = clock
        self._log = log

    async def post(self, path: str, **body: Any) -> None:
        answer = await self.http.post(path, json=body)
        assert answer.is_success, answer.text

    async def until(self, kind: str) -> None:
        """Waits for an event of that type, in any session."""
        async with asyncio.timeout(_PATIENCE_SECONDS):
            while not (isinstance(item := await self._log.next(), Event) and item.type == kind):
                pass

    async def rest(self) -> None:
        await asyncio.sleep(_AFTERWARDS_SECONDS)


Act: TypeAlias = Callable[[Stage, str], Awaitable[None]]


async def _message(stage: Stage, key: str) -> None:
    await stage.post(f"/sessions/{key}/turns?wait=20", content="Good morning")


async def _cron_job(stage: Stage, key: str) -> None:
    schedule = {"kind": "cron", "expr": "* * * * *", "tz": "Europe/Berlin"}
    await stage.post(f"/sessions/{key}/automations", message="What is new?", schedule=schedule)
    stage.clock.advance(minutes=1)
    await stage.until("session_sync")


async def _scheduled_message(stage: Stage, key: str) -> None:
    send_at = (stage.clock.now() + timedelta(minutes=1)).isoformat()
    await stage.post(f"/sessions/{key}/scheduled-messages", send_at=send_at, message_text="Sleep well.")
    stage.clock.advance(minutes=1)
    await stage.until("message")


async def _auto_commit(stage: Stage, key: str) -> None:
    message = {"role": "user", "content": "My name is Ada.", "auto_commit_policy": _IDLE_POLICY}
    await stage.post(f"/sessions/{key}/messages", **message)
    stage.clock.advance(minutes=2)


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
    files: list[str] = []
    for key in ("web:first", "web:second"):
        async with _stage(database, key) as stage:
            recorder.start()
            await act(stage, key)
            await stage.rest()
            files = recorder.stop()
    return files


@asynccontextmanager
async def _stage(database: str, key: str) -> AsyncIterator[Stage]:
    with TemporaryDirectory() as folder:
        url = database or f"sqlite:///{folder}/segue.db"
        clock = ManualClock()
        async with Kernel(url, agent=ScriptedAgent(), clock=clock) as kernel:
            app = create_app(kernel, Configuration(database=url), run_workers=True)
            client = httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://localhost")
            with kernel.hub.listen(EVERYTHING) as log:
                async with app.router.lifespan_context(app), client:
                    stage = Stage(client, clock, log)
                    await stage.post("/sessions", key=key)
                    await stage.rest()
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
