"""Programs that need one extra each. A program prints `done` at its end."""

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
CLIENT = """
from segue.client import Client
client = Client("http://127.0.0.1:1", key="none")
client.close()
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

PUSH = """
import sys
from pathlib import Path
from segue.server.push.encryption import encrypt
from segue.server.push.send import push_client
from segue.server.push.vapid import VapidKeyFile
key = VapidKeyFile(Path(sys.argv.pop())).read_or_make()
assert encrypt(b"{}", key.public, "A" * 22)
assert key.authorization("https://push.example.org/1", "https://example.org", 0).startswith("vapid t=")
print("done")
"""
PROGRAMS = {
    "": KERNEL,
    "cli": CLI,
    "http": HTTP,
    "model": MODEL,
    "mcp": MCP,
    "client": CLIENT,
    "http,push": PUSH,
    "postgres": POSTGRES,
    "telegram": TELEGRAM,
    "matrix": MATRIX,
    "traces": TRACES,
}
"""By extra; the kernel needs none."""


def arguments(extra: str, data: str) -> list[str]:
    """What the program of an extra is called with."""
    return {"cli": [data], "http,push": [data], "mcp": [str(ROOT / "tests/tools/stdio_server.py")]}.get(
        extra, []
    )
