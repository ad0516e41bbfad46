"""`segue serve` and `segue worker` as real processes whose database is removed, or whose disk is full."""

import asyncio
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest

from tests.cli.process import Segue, Serving
from tests.disks import fill, needs_root, small_disk
from tests.eventually import eventually

GONE = "was deleted or replaced while Segue was using it; restore it and start again"


def deleted(path: Path) -> None:
    path.unlink()


def replaced(path: Path) -> None:
    shutil.copy(path, path.with_name("copy.db"))
    path.with_name("copy.db").replace(path)


WAYS = pytest.mark.parametrize("lose", [deleted, replaced], ids=lambda lose: lose.__name__)


@WAYS
async def test_no_message_is_acknowledged_and_the_server_ends(
    segue: Segue, lose: Callable[[Path], None]
) -> None:
    async with segue.serving() as server:
        first = await server.client.post("/sessions/web:1/turns?wait=30", json={"content": "hello"})
        assert first.status_code == 200
        lose(segue.data / "segue.db")
        answers = await asyncio.gather(*(answer_to(server, f"hello {n}") for n in range(20)))
        assert all(answer is None or answer >= 500 for answer in answers), answers
        assert await server.process.end() == 1
    assert f"Error: the database file {segue.data / 'segue.db'} {GONE}" in server.process.log


async def answer_to(server: Serving, content: str) -> int | None:
    """The status code; None if the server has ended."""
    try:
        return (await server.client.post("/sessions/web:1/turns", json={"content": content})).status_code
    except httpx2.TransportError:
        return None


@WAYS
async def test_a_server_without_requests_ends_too(segue: Segue, lose: Callable[[Path], None]) -> None:
    async with segue.serving() as server:
        lose(segue.data / "segue.db")
        assert await server.process.end() == 1
    assert GONE in server.process.log


@WAYS
async def test_a_worker_ends_too(segue: Segue, lose: Callable[[Path], None]) -> None:
    async with segue.running("worker") as worker:
        await worker.logged("worker started as")
        lose(segue.data / "segue.db")
        assert await worker.end() == 1
    assert GONE in worker.log


@pytest.fixture
def disk(segue: Segue) -> Iterator[Path]:
    with small_disk(segue.data, megabytes=8) as disk:
        yield disk


@needs_root
async def test_health_reports_a_full_disk_until_there_is_space(segue: Segue, disk: Path) -> None:
    async with segue.serving() as server:
        await settled(server)
        ballast = await asyncio.to_thread(fill, disk)
        while await answer_to(server, "x" * 20_000) == 202:
            pass
        for _ in range(3):
            assert await health(server) == (200, "degraded", "disk_full")
            assert (await server.client.get("/health?ready=true")).status_code == 503
        ballast.unlink()

        async def is_well() -> bool:
            return (await health(server))[1] == "ok"

        await eventually(is_well, "health is ok")
        assert (await server.client.get("/health?ready=true")).status_code == 200
        assert await answer_to(server, "hello") == 202


async def settled(server: Serving) -> None:
    answer = await server.client.post("/sessions/web:1/turns?wait=30", json={"content": "hello"})
    assert answer.status_code == 200
    assert await health(server) == (200, "ok", None)


async def health(server: Serving) -> tuple[int, str, str | None]:
    answer = await server.client.get("/health")
    found = answer.json()
    return answer.status_code, found["status"], found["reason"]
