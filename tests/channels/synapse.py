"""A real homeserver on loopback: Synapse with a database in a file, and clients for its users."""

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2

from tests.eventually import eventually

_PATIENCE = 90


@dataclass
class Person:
    """A user of the homeserver, with a client."""

    url: str
    user: str
    token: str
    _count: int = field(default=0)

    async def call(self, method: str, path: str, **body: Any) -> dict[str, Any]:
        async with httpx2.AsyncClient(base_url=self.url, timeout=30) as http:
            answer = await http.request(
                method,
                f"/_matrix/client/v3{path}",
                json=None if method == "GET" else body,
                headers={"Authorization": f"Bearer {self.token}"},
            )
        assert answer.status_code == 200, answer.text
        told: dict[str, Any] = answer.json()
        return told

    async def open_room(self, *invited: str) -> str:
        room = await self.call("POST", "/createRoom", invite=list(invited), is_direct=len(invited) == 1)
        room_id: str = room["room_id"]
        return room_id

    async def join(self, room_id: str) -> None:
        await self.call("POST", f"/join/{quote(room_id)}")

    async def write(self, room_id: str, text: str) -> None:
        self._count += 1
        path = f"/rooms/{quote(room_id)}/send/m.room.message/person-{self._count}"
        await self.call("PUT", path, msgtype="m.text", body=text)

    async def read(self, room_id: str, *, of: str | None = None) -> list[str]:
        """Return the texts in the room as a client shows them, oldest first: a replaced message has the text
        of its replacement, which is no message of its own."""
        found = await self.call("GET", f"/rooms/{quote(room_id)}/messages?dir=b&limit=200")
        return [
            _newest(event)["body"]
            for event in reversed(found["chunk"])
            if event["type"] == "m.room.message"
            and "m.new_content" not in event["content"]
            and (of is None or event["sender"] == of)
        ]


def _newest(event: dict[str, Any]) -> dict[str, Any]:
    replaced = event.get("unsigned", {}).get("m.relations", {}).get("m.replace")
    content: dict[str, Any] = replaced["content"]["m.new_content"] if replaced else event["content"]
    return content


@dataclass
class Homeserver:
    url: str
    _pairs: int = 0

    async def pair(self) -> tuple[Person, Person]:
        """Register a bot and a user who talks to it."""
        self._pairs += 1
        return await self.register(f"bot{self._pairs}"), await self.register(f"ada{self._pairs}")

    async def register(self, name: str) -> Person:
        body = {"username": name, "password": f"password of {name}", "auth": {"type": "m.login.dummy"}}
        async with httpx2.AsyncClient(base_url=self.url, timeout=30) as http:
            answer = await http.post("/_matrix/client/v3/register", json=body)
        assert answer.status_code == 200, answer.text
        return Person(self.url, answer.json()["user_id"], answer.json()["access_token"])


@asynccontextmanager
async def synapse(folder: Path) -> AsyncIterator[Homeserver]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = folder / "homeserver.yaml"
    config.write_text(json.dumps(_config(folder, port)))  # JSON is valid YAML
    generate = [sys.executable, "-m", "synapse.app.homeserver", "-c", str(config), "--generate-keys"]
    await asyncio.to_thread(subprocess.run, generate, check=True, cwd=folder, capture_output=True)
    with (folder / "out").open("wb") as out:
        process = subprocess.Popen(  # noqa: ASYNC220 — it returns at once
            [sys.executable, "-m", "synapse.app.homeserver", "-c", str(config)],
            cwd=folder,
            stdout=out,
            stderr=out,
        )
    try:
        home = Homeserver(f"http://127.0.0.1:{port}")
        await _answers(home, process, folder)
        yield home
    finally:
        process.terminate()
        try:
            await asyncio.to_thread(process.wait, 20)
        except subprocess.TimeoutExpired:
            process.kill()
            await asyncio.to_thread(process.wait)


async def _answers(home: Homeserver, process: "subprocess.Popen[bytes]", folder: Path) -> None:
    async with httpx2.AsyncClient(base_url=home.url) as http:

        async def answers() -> bool:
            assert process.poll() is None, (folder / "out").read_text()[-2000:]
            try:
                return (await http.get("/health")).status_code == 200
            except httpx2.TransportError:
                return False

        await eventually(answers, "Synapse answers", within=_PATIENCE, every=0.05)


def _config(folder: Path, port: int) -> dict[str, Any]:
    fast = {"per_second": 10_000, "burst_count": 10_000}
    return {
        "server_name": "localhost",
        "pid_file": str(folder / "pid"),
        "listeners": [
            {
                "port": port,
                "bind_addresses": ["127.0.0.1"],
                "type": "http",
                "tls": False,
                "resources": [{"names": ["client"], "compress": False}],
            }
        ],
        "database": {"name": "sqlite3", "args": {"database": str(folder / "homeserver.db")}},
        "media_store_path": str(folder / "media"),
        "signing_key_path": str(folder / "signing.key"),
        "macaroon_secret_key": "a secret of the tests",
        "form_secret": "another",
        "report_stats": False,
        "enable_registration": True,
        "enable_registration_without_verification": True,
        "trusted_key_servers": [],
        "bcrypt_rounds": 4,
        "rc_message": fast,
        "rc_registration": fast,
        "rc_login": {"address": fast, "account": fast, "failed_attempts": fast},
        "rc_joins": {"local": fast, "remote": fast},
        "rc_invites": {"per_room": fast, "per_user": fast, "per_issuer": fast},
    }
