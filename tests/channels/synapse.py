"""A real homeserver on loopback: Synapse, with a database in a file."""

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2

from tests.channels.matrix_client import Homeserver
from tests.eventually import eventually

_PATIENCE = 90


@asynccontextmanager
async def run_synapse(folder: Path) -> AsyncIterator[Homeserver]:
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
