"""Segue behind nginx and Caddy with TLS, with the configuration that the guide shows.

Real proxies with a certificate of the test's own. Without the Debian packages `nginx` and `caddy` these tests
are skipped.
"""

import asyncio
import json
import os
import shutil
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
import pytest_asyncio
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from tests.cli.process import Segue
from tests.docs.pages import ROOT
from tests.eventually import eventually
from tests.unavailable import cannot_run

PROGRAMS = "/usr/sbin:/usr/bin:/usr/local/bin"
NAME = "segue.example.org"
KEY = "a-long-key-for-this-test-only"
BEARER = {"authorization": f"Bearer {KEY}"}
ENVIRONMENT = {
    "SEGUE_API_KEYS": json.dumps([{"key": KEY, "account": "acme", "user": "ann"}]),
    "SEGUE_ALLOWED_HOSTS": json.dumps([NAME]),
}


@dataclass(frozen=True)
class Proxied:
    port: int
    context: ssl.SSLContext

    def client(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            base_url=f"https://127.0.0.1:{self.port}",
            headers={"host": f"{NAME}:{self.port}", **BEARER},
            verify=self.context,
            timeout=60,
        )


def _nginx(folder: Path, upstream: str, port: int, certificate: Path, key: Path) -> list[str]:
    site = (ROOT / "deploy/nginx.conf").read_text()
    for written, here in (
        ("127.0.0.1:8420", upstream),
        ("listen 80;", f"listen 127.0.0.1:{_free_port()};"),
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("/etc/letsencrypt/live/segue.example.org/fullchain.pem", str(certificate)),
        ("/etc/letsencrypt/live/segue.example.org/privkey.pem", str(key)),
    ):
        assert written in site
        site = site.replace(written, here)
    (folder / "site.conf").write_text(site)
    paths = "".join(
        f"{name}_temp_path {folder}/{name};\n"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root; " if os.getuid() == 0 else ""  # the test's folder is not readable to another user
    (folder / "nginx.conf").write_text(
        f"{user}daemon off; pid {folder}/pid; error_log stderr;\nevents {{}}\n"
        f"http {{ access_log off;\n{paths}include {folder}/site.conf; }}\n"
    )
    return ["nginx", "-e", "stderr", "-p", str(folder), "-c", str(folder / "nginx.conf")]


def _caddy(folder: Path, upstream: str, port: int, certificate: Path, key: Path) -> list[str]:
    site = (ROOT / "deploy/Caddyfile").read_text()
    assert "127.0.0.1:8420" in site
    assert f"\n{NAME} {{\n" in site
    site = site.replace("127.0.0.1:8420", upstream).replace(
        f"\n{NAME} {{\n", f"\nhttps://{NAME}:{port} {{\n\tbind 127.0.0.1\n\ttls {certificate} {key}\n"
    )
    options = "{\n\tadmin off\n\tauto_https disable_redirects\n}\n"
    (folder / "Caddyfile").write_text(options + site)
    return ["caddy", "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]


@asynccontextmanager
async def proxied(program: str, folder: Path) -> AsyncIterator[Proxied]:
    """A server behind a proxy; the test cannot run if the proxy is not installed."""
    if shutil.which(program, path=PROGRAMS) is None:
        cannot_run(f"{program} is not installed: apt-get install {program}")
    make: Callable[[Path, str, int, Path, Path], list[str]] = {"nginx": _nginx, "caddy": _caddy}[program]
    certificate, key = _certificate(folder)
    log = folder / "proxy.log"
    async with Segue(folder, ENVIRONMENT).serving() as serving:
        upstream, port = urlsplit(str(serving.client.base_url)).netloc, _free_port()
        with log.open("wb") as stderr:
            process = await asyncio.create_subprocess_exec(
                *make(folder, upstream, port, certificate, key),
                env={"HOME": str(folder), "PATH": PROGRAMS},
                stdout=asyncio.subprocess.DEVNULL,
                stderr=stderr,
            )
        try:
            await eventually(lambda: _listens(port) or process.returncode is not None, f"{program} listens")
            assert process.returncode is None, log.read_text()
            yield Proxied(port, ssl.create_default_context(cafile=str(certificate)))
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()


@pytest_asyncio.fixture(scope="module", loop_scope="session", params=["nginx", "caddy"])
async def proxy(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Proxied]:
    """One for all tests, each of which has a session of its own: a server takes a second to start."""
    async with proxied(request.param, tmp_path_factory.mktemp("proxied")) as proxy:
        yield proxy


async def test_a_turn_and_its_live_events_pass_through_the_proxy(proxy: Proxied) -> None:
    async with proxy.client() as client:
        origin = f"https://{NAME}:{proxy.port}"
        made = await client.post("/sessions", json={"key": "web:1"}, headers={"origin": origin})
        assert made.status_code == 201, made.text
        async with connect(
            f"wss://{NAME}:{proxy.port}/ws",
            host="127.0.0.1",
            ssl=proxy.context,
            origin=origin,  # type: ignore[arg-type]
            additional_headers=BEARER,
        ) as page:
            await page.send(json.dumps({"type": "subscribe", "session": "web:1", "after": 0}))
            said = await client.post("/sessions/web:1/turns?wait=30", json={"content": "hello"})
            assert said.json()["state"] == "done", said.text
            heard = json.loads(await page.recv())
            while heard["type"] != "stream_end":
                heard = json.loads(await page.recv())
        assert heard["reply"] == said.json()["reply"]


async def test_an_event_stream_is_not_held_back(proxy: Proxied) -> None:
    async with proxy.client() as client:
        await client.post("/sessions/web:2/turns?wait=30", json={"content": "hello"})
        async with asyncio.timeout(60), client.stream("GET", "/sessions/web:2/events?after=0") as stream:
            async for line in stream.aiter_lines():  # the stream stays open, and yet its events arrive
                if "stream_end" in line:
                    break


async def test_the_largest_file_passes_through_the_proxy(proxy: Proxied) -> None:
    async with proxy.client() as client:
        largest = b"%PDF-1.4\n".ljust(20_000_000, b" ")
        await client.post("/sessions", json={"key": "web:3"})
        kept = await client.post("/sessions/web:3/files", params={"name": "book.pdf"}, content=largest)
        assert kept.status_code == 201, kept.text


async def test_the_proxy_changes_nothing_about_who_may_call(proxy: Proxied) -> None:
    async with proxy.client() as client:
        del client.headers["authorization"]
        claimed = {"x-forwarded-for": "127.0.0.1"}
        assert (await client.get("/sessions", headers=claimed)).status_code == 401
        with pytest.raises(InvalidStatus):
            await connect(
                f"wss://{NAME}:{proxy.port}/ws",
                host="127.0.0.1",
                ssl=proxy.context,
                origin="https://other.example.org",  # type: ignore[arg-type]
                additional_headers=BEARER,
            )


def _certificate(folder: Path) -> tuple[Path, Path]:
    certificate, key = folder / "fullchain.pem", folder / "privkey.pem"
    subprocess.run(
        [
            *(
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
                "-nodes",
            ),
            *("-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME},IP:127.0.0.1", "-days", "2"),
            *("-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    return certificate, key


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def _listens(port: int) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0
