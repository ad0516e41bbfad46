"""The package @segue/client, packed and installed as from npm, in Node against a real server."""

import asyncio
import json
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from segue import __version__
from tests.docs.pages import ROOT
from tests.server.process import served
from tests.server.script import text_of
from tests.unavailable import cannot_run, npm_install

PACKAGE = ROOT / "clients" / "javascript"
SCRIPT = Path(__file__).parent / "js" / "roundtrip.mjs"
KEY = "websocket:home"
PATIENCE = 60.0


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the packed client, TypeScript and a WebSocket for Node 20."""
    folder = tmp_path_factory.mktemp("javascript")
    try:
        packed = run("npm", "pack", "--pack-destination", str(folder), str(PACKAGE), folder=PACKAGE)
    except (OSError, subprocess.SubprocessError) as error:
        cannot_run(f"the JavaScript client was not packed: it needs npm ({error})")
    npm_install(folder, str(folder / packed.splitlines()[-1]), "ws@8", "typescript@5", "@types/node@20")
    shutil.copy(SCRIPT, folder)
    return folder


def run(*command: str, folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=180, check=False)
    if done.returncode:
        raise subprocess.SubprocessError(done.stdout + done.stderr)
    return done.stdout


class Node:
    """The script, and the lines that it has written."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.lines: list[dict[str, Any]] = []

    def tell(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n".encode())

    async def until(self, condition: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
        """Read on to a line that fulfils the condition."""
        assert self._process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            while line := await self._process.stdout.readline():
                self.lines.append(json.loads(line))
                if condition(self.lines[-1]):
                    return self.lines[-1]
        raise AssertionError("the script has ended")

    @property
    def numbers(self) -> list[int]:
        return [line["seq"] for line in self.lines if "seq" in line]


@asynccontextmanager
async def node(folder: Path, url: str, *arguments: str) -> AsyncIterator[Node]:
    process = await asyncio.create_subprocess_exec(
        *("node", SCRIPT.name, url, KEY, *arguments),
        cwd=folder,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    script = Node(process)
    try:
        yield script
        script.tell("close")
        async with asyncio.timeout(PATIENCE):
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_it_sends_follows_and_misses_nothing_when_the_server_is_killed(
    installed: Path, migrated_sqlite_url: str
) -> None:
    database = migrated_sqlite_url
    with served(database) as server:
        async with node(installed, server.http) as script:
            script.tell("ask 5 0")
            asked = (await script.until(lambda line: "answer" in line))["answer"]
            assert (asked["outcome"], asked["reply"]) == ("ok", text_of("5 0"))
            script.tell("send 300 10")
            await script.until(lambda line: line.get("text", 0) > 200)
            server.process.kill()
            server.process.join(20)
            await script.until(lambda line: line.get("state") == "closed")
            script.tell("send 4 0")  # kept until the server is back
            with served(database, "--port", str(server.port)):
                last = await script.until(lambda line: "accepted" in line)
                ended = await script.until(
                    lambda line: line.get("type") == "stream_end" and line["turn_id"] == last["accepted"]
                )
                assert ended["outcome"] == "ok"
                await script.until(lambda line: line.get("type") == "session_sync")
                script.tell("texts")
                texts = (await script.until(lambda line: "texts" in line))["texts"]
    assert texts[f"{last['accepted']} 1"] == text_of("4 0")
    assert script.numbers == list(range(1, len(script.numbers) + 1))


async def test_it_finds_messages_and_exports_the_conversation(
    installed: Path, migrated_sqlite_url: str
) -> None:
    with served(migrated_sqlite_url) as server:
        async with node(installed, server.http) as script:
            script.tell("ask 5 0")
            await script.until(lambda line: "answer" in line)
            script.tell("export markdown")
            markdown = (await script.until(lambda line: "exported" in line))["exported"]
            script.tell("export json")
            lines = (await script.until(lambda line: "exported" in line))["exported"].splitlines()
            found: list[Any] = []
            async with asyncio.timeout(PATIENCE):
                while not found:  # a worker indexes messages after the end of their turn
                    script.tell(f"search {text_of('5 0')}")
                    found = (await script.until(lambda line: "found" in line))["found"]
    assert text_of("5 0").strip() in markdown
    assert [json.loads(line)["role"] for line in lines] == ["user", "assistant"]
    assert [(each["session_key"], each["role"]) for each in found] == [(KEY, "assistant")]


async def test_it_sets_shows_and_raises_a_budget_and_marks_messages_as_read(
    installed: Path, migrated_sqlite_url: str
) -> None:
    with served(migrated_sqlite_url) as server:
        async with node(installed, server.http) as script:
            script.tell("ask 5 0")
            await script.until(lambda line: "answer" in line)
            script.tell("budget")
            line = await script.until(lambda line: "raised" in line)
    assert line["set"] == {"runs": 3, "per": "month", "over": "skip"}
    assert (line["raised"], line["left"], line["unread"]) == (6, 6, 0)


async def test_it_tells_the_code_of_a_refusal_and_uses_a_key(
    installed: Path, migrated_sqlite_url: str
) -> None:
    keys = json.dumps([{"key": "the-long-key-of-ada", "account": "one", "user": "ada"}])
    with served(migrated_sqlite_url, "--keys", keys) as server:
        async with node(installed, server.http, "the-long-key-of-ada") as script:
            script.tell("refused")
            line = await script.until(lambda line: "code" in line)
            assert line == {"code": "not_found", "status": 404, "right": True}


def test_the_example_is_typed(installed: Path) -> None:
    shutil.copy(PACKAGE / "example.ts", installed)
    options = ["--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom"]
    (installed / "package.json").write_text('{"type": "module"}')
    run("npx", "tsc", *options, "example.ts", folder=installed)


def test_the_package_has_the_page_source_and_its_version(installed: Path) -> None:
    page = ROOT / "src" / "segue" / "server" / "web" / "lib" / "live.js"
    package = installed / "node_modules" / "@segue" / "client"
    assert (package / "live.js").read_text("utf-8") == page.read_text("utf-8")
    assert not (PACKAGE / "live.js").exists()
    version = json.loads((package / "package.json").read_text("utf-8"))["version"]
    assert version == __version__
    assert f'VERSION = "{version.rpartition(".")[0]}"' in (package / "index.js").read_text("utf-8")
