"""Each extra alone gives what its name says; a missing one is named in a sentence."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from segue.extras import EXTRAS
from tests.packaging.compatibility import ROOT

KERNEL = """
import asyncio
from segue import Kernel

async def agent(turn):
    return "Hello."

async def main():
    async with Kernel("sqlite:///:memory:", agent=agent) as kernel:
        await kernel.receive("chat:1", "Hi")
        working = asyncio.create_task(kernel.run())
        while len(await kernel.messages("chat:1")) < 2:
            await asyncio.sleep(0.01)
        working.cancel()

asyncio.run(main())
print("done")
"""
CLI = """
import os, sys
from segue.cli.app import app
os.environ["SEGUE_DATA"] = sys.argv.pop()
for words in ("db migrate", "sessions add-message chat:1 Hi", "sessions list", "jobs list chat:1 --json"):
    app(words.split(), standalone_mode=False)
print("done")
"""
HTTP = """
import asyncio
from segue import Kernel
from segue.server import create_app
from segue.config import Configuration

async def agent(turn):
    return "Hello."

async def main():
    async with Kernel("sqlite:///:memory:", agent=agent) as kernel:
        app = create_app(kernel, Configuration())
        sent = []
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http",
            "method": "GET", "path": "/health", "raw_path": b"/health", "query_string": b"", "root_path": "",
            "headers": [(b"host", b"127.0.0.1")], "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8420),
        }
        async def receive():
            return {"type": "http.request", "body": b"", "more_body": False}
        async def send(message):
            sent.append(message)
        await app(scope, receive, send)
        assert sent[0]["status"] == 200, sent
        assert app.openapi()["paths"]

asyncio.run(main())
import uvicorn, websockets
print("done")
"""
MODEL = """
import asyncio, os
from segue.agents import make_agent, make_extractor
from segue.config import Configuration
os.environ["OPENAI_API_KEY"] = os.environ["ANTHROPIC_API_KEY"] = "none"
for model in ("openai-chat:gpt-4.1-mini", "anthropic:claude-sonnet-4-5"):
    make_agent(Configuration(model=model))
    make_extractor(Configuration(model=model))
import httpx2
print("done")
"""
MCP = """
import asyncio, sys
from segue.agents.tools.mcp_connection import McpConnection, McpEndpoint

async def main():
    endpoint = McpEndpoint(name="desk", command=sys.executable, args=[sys.argv.pop()])
    async with McpConnection(endpoint) as connection:
        assert (await (await connection.client()).list_tools()).tools

asyncio.run(main())
print("done")
"""
POSTGRES = """
from segue.store.postgres.connection import Endpoint
Endpoint("postgresql://user@127.0.0.1:1/none", 5.0)
print("done")
"""
TELEGRAM = """
from segue.channels.markup import telegram_html
from segue.channels.telegram import Telegram
assert telegram_html("**now**") == "<b>now</b>"
print("done")
"""
MATRIX = """
from segue.channels.markup import matrix_html
from segue.channels.matrix import Matrix
assert "<strong>" in matrix_html("**now**")
print("done")
"""
TRACES = """
import asyncio
from segue.telemetry.tracing import exporting

async def main():
    async with exporting():
        pass

asyncio.run(main())
print("done")
"""


def run_with(extras: str, code: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    file = folder / "program.py"
    file.write_text(code)
    return subprocess.run(
        [sys.executable, "-m", "tests.packaging.only_extra", extras, str(file), *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("extra", "code"),
    [
        ("", KERNEL),
        ("cli", CLI),
        ("http", HTTP),
        ("model", MODEL),
        ("mcp", MCP),
        ("postgres", POSTGRES),
        ("telegram", TELEGRAM),
        ("matrix", MATRIX),
        ("traces", TRACES),
    ],
    ids=lambda value: value if "\n" not in value else "",
)
def test_an_extra_alone_gives_what_its_name_says(extra: str, code: str, tmp_path: Path) -> None:
    more = {"cli": [str(tmp_path)], "mcp": [str(ROOT / "tests/tools/stdio_server.py")]}.get(extra, [])
    done = run_with(extra, code, tmp_path, *more)
    assert done.stdout.endswith("done\n"), done.stderr


@pytest.mark.parametrize(
    ("extra", "code", "sentence"),
    [
        ("", HTTP, "pip install 'segue[http]'"),
        (
            "",
            POSTGRES,
            "PostgreSQL needs the package asyncpg, which is not installed: pip install 'segue[postgres]'",
        ),
        ("", TRACES, "pip install 'segue[traces]'"),
        ("http", MODEL, "needs the package pydantic_ai, which is not installed: pip install 'segue[model]'"),
        (
            "http",
            MCP,
            "an MCP server needs the package mcp, which is not installed: pip install 'segue[mcp]'",
        ),
    ],
    ids=["server", "postgres", "traces", "model", "mcp"],
)
def test_a_missing_extra_is_named(extra: str, code: str, sentence: str, tmp_path: Path) -> None:
    done = run_with(extra, code, tmp_path, str(ROOT / "tests/tools/stdio_server.py"))
    assert sentence in done.stderr


def test_every_optional_module_has_an_extra() -> None:
    """`segue.extras` knows each third-party module that the package imports, except the core's own."""
    imported = {
        name.partition(".")[0]
        for file in (ROOT / "src/segue").rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        for name in _imported(node)
    }
    core = {"segue", "cronsim", "snowballstemmer", "tzdata"}
    brought_by_others = {"aiohttp", "pydantic_core", "pytest", "pytest_asyncio", "uvloop"}
    brought_by_users = {"agents", "agno", "claude_agent_sdk", "google", "langchain_core", "langgraph"}
    found = imported - sys.stdlib_module_names - core - brought_by_others - brought_by_users
    assert found <= set(EXTRAS)
    assert set(EXTRAS.values()) <= set(_optional())


def test_all_is_every_extra() -> None:
    extras = _optional()
    named = {
        extra for group in ("all", "server") for line in extras[group] for extra in Requirement(line).extras
    }
    assert named == set(extras) - {"adapters-test", "all", "dev"}


def _imported(node: ast.AST) -> list[str]:
    match node:
        case ast.Import(names=names):
            return [name.name for name in names]
        case ast.ImportFrom(module=str(module)):
            return [module]
    return []


def _optional() -> dict[str, list[str]]:
    table: dict[str, list[str]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    return table
