"""Fixtures: a server on loopback in the test's own loop, and the packages of npm that act as its clients."""

import asyncio
import json
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from starlette.types import ASGIApp, Receive, Scope, Send

from segue import Ask, At, Kernel
from segue.cli.support.http_server import HttpServer, listening_socket
from segue.config import Configuration
from segue.server import create_app
from segue.testing import ManualClock
from tests.eventually import eventually
from tests.server.conftest import KEYS, working
from tests.unavailable import npm_install
from tests.wires.agent import WireAgent

SCRIPTS = Path(__file__).parent / "js"
PACKAGES = ("ai@7", "@ag-ui/client@1")
PATIENCE = 60.0
"""Seconds; long enough for a busy machine."""


class Arrivals:
    """Middleware that lists the paths of the requests that have arrived."""

    def __init__(self, app: ASGIApp, paths: list[str]) -> None:
        self._app = app
        self._paths = paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self._paths.append(scope["path"])
        await self._app(scope, receive, send)


@dataclass(slots=True)
class Wire:
    """A served kernel whose clock stands still."""

    url: str
    kernel: Kernel
    agent: WireAgent
    clock: ManualClock
    arrived: list[str]

    async def arrival(self, path: str) -> None:
        """Wait until a request for a path has arrived."""
        await eventually(lambda: path in self.arrived, f"a request for {path}")

    async def ended(self, key: str, count: int) -> None:
        """Wait until a session has so many turns, all of them ended."""

        async def all_ended() -> bool:
            turns = await self.kernel.turns.list(key)
            return len(turns) == count and all(turn.finished_at for turn in turns)

        await eventually(all_ended, f"{count} turns have ended")

    async def fire(self, key: str, text: str, name: str = "Report") -> None:
        """Let a job of the session come due."""
        await self.kernel.schedule(key, At("in 1 hour"), Ask(text), name=name)
        self.clock.advance(hours=1)


@asynccontextmanager
async def serving(kernel: Kernel, arrived: list[str], **settings: Any) -> AsyncIterator[str]:
    app = create_app(kernel, Configuration(database="sqlite://:memory:", **settings))
    app.add_middleware(Arrivals, paths=arrived)
    with listening_socket("127.0.0.1", 0) as listening:
        server = HttpServer(app)
        async with working(kernel), asyncio.TaskGroup() as tasks:
            tasks.create_task(server.serve([listening]))
            await server.ready.wait()
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
            server.should_exit = True


@asynccontextmanager
async def wired(database: str, **settings: Any) -> AsyncIterator[Wire]:
    agent, clock, arrived = WireAgent(), ManualClock(), list[str]()
    async with Kernel(database, agent=agent, clock=clock) as kernel:
        async with serving(kernel, arrived, **settings) as url:
            yield Wire(url, kernel, agent, clock, arrived)
        assert not await kernel.audit()


@pytest_asyncio.fixture
async def wire(migrated_sqlite_url: str) -> AsyncIterator[Wire]:
    async with wired(migrated_sqlite_url) as served:
        yield served


@pytest_asyncio.fixture
async def both(database_url: str) -> AsyncIterator[Wire]:
    """On each kind of database."""
    async with wired(database_url) as served:
        yield served


@pytest_asyncio.fixture
async def guarded(migrated_sqlite_url: str) -> AsyncIterator[Wire]:
    """With the keys of Ada and Ben, users of one account, and of Root, of another."""
    async with wired(migrated_sqlite_url, api_keys=KEYS) as served:
        yield served


@pytest.fixture(scope="session")
def node_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the clients of `js/` and the packages that they import."""
    folder = tmp_path_factory.mktemp("node")
    npm_install(folder, *PACKAGES)
    shutil.copytree(SCRIPTS, folder, dirs_exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def node(node_folder: Path) -> Iterator[Path]:
    """The socket of a process of Node that runs the clients of `js/`."""
    command = ["node", str(node_folder / "clients.mjs"), str(node_folder / "socket")]
    # It ends with its input, so it does not outlive this process.
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"listening\n"
        yield node_folder / "socket"


class Script:
    """A client of `js/` that runs: it prints JSON, one value in a line."""

    def __init__(self, printed: asyncio.StreamReader) -> None:
        self._printed = printed

    async def next(self) -> Any:
        async with asyncio.timeout(PATIENCE):
            line = await self._printed.readline()
        assert line, "the script has ended"
        return self._read(line)

    async def until(self, name: str) -> list[Any]:
        """Read events up to the first of a type."""
        events = [await self.next()]
        while events[-1]["type"] != name:
            events.append(await self.next())
        return events

    async def rest(self) -> list[Any]:
        """Read to the end, which must be a success."""
        async with asyncio.timeout(PATIENCE):
            out = await self._printed.read()
        return [self._read(line) for line in out.splitlines()]

    @staticmethod
    def _read(line: bytes) -> Any:
        value = json.loads(line)
        assert "crashed" not in value, value["crashed"]
        return value


@asynccontextmanager
async def running_script(node: Path, client: str, **options: Any) -> AsyncIterator[Script]:
    printed, asking = await asyncio.open_unix_connection(node, limit=1 << 20)
    try:
        asking.write(json.dumps({"client": client, **options}).encode() + b"\n")
        yield Script(printed)
    finally:
        asking.close()
        await asking.wait_closed()
