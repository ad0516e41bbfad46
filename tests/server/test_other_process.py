"""Clients at one process, their turn in another: on PostgreSQL, text, stop and replay pass between them."""

import asyncio
import json
import random
import time
from dataclasses import dataclass, field

import httpx2
import pytest
from websockets.asyncio.client import connect

from tests.crash.figures import Record, p99
from tests.server.listener import Listener, follow_with_reconnects
from tests.server.process import LONG, Served, served
from tests.server.script import text_of

PIECES = 400 if LONG else 60
STOPS = 20 if LONG else 2
TAKE_OVERS = 10 if LONG else 1
LEASE = "2"


async def say(server: Served, session: str, asked: str) -> str:
    async with httpx2.AsyncClient(base_url=server.http) as http:
        said = await http.post(f"/sessions/{session}/turns", json={"content": asked})
        assert said.status_code == 202, said.text
        return str(said.json()["turn_id"])


@dataclass
class Timed(Listener):
    """Notes when its text had which length."""

    lengths: list[tuple[int, float]] = field(default_factory=list)

    def _append(self, event: dict[str, object]) -> None:
        super()._append(event)
        self.lengths.append((len(self.text), time.monotonic()))

    def had(self, length: int) -> float:
        return next(at for reached, at in self.lengths if reached >= length)


async def listen(server: Served, listener: Listener) -> None:
    async with asyncio.timeout(120), connect(server.ws) as socket:
        await listener.follow(socket)


@pytest.mark.serial
async def test_text_of_another_process_arrives_piece_by_piece(
    migrated_postgres_url: str, figure: Record
) -> None:
    with served(migrated_postgres_url) as works, served(migrated_postgres_url, "--no-workers") as watches:
        asked = f"{PIECES} 25 elsewhere"
        near, far = Timed("web:1"), Timed("web:1")
        await say(watches, "web:1", asked)
        await asyncio.gather(listen(works, near), listen(watches, far))
    assert (near.text, far.text) == (text_of(asked), text_of(asked))
    added = [far.had(length) - at for length, at in near.lengths if length <= far.lengths[-1][0]]
    figure(
        f"{len(added)} pieces at the other process, later than at the first, median",
        _ms(sorted(added)[len(added) // 2]),
    )
    figure(f"{len(added)} pieces at the other process, later than at the first, p99", _ms(p99(added)))


async def test_a_stop_at_one_process_ends_the_turn_of_another(
    migrated_postgres_url: str, figure: Record
) -> None:
    took: list[float] = []
    with served(migrated_postgres_url), served(migrated_postgres_url, "--no-workers") as watches:
        for number in range(STOPS):
            session = f"web:{number}"
            await say(watches, session, "10000 20 endless")
            listener = Listener(session)
            async with asyncio.timeout(60), connect(watches.ws) as socket:
                await listener.follow(socket, events=3)
                asked_at = time.monotonic()
                await socket.send(json.dumps({"type": "stop", "session": session}))
                await listener.follow(socket)
            took.append(time.monotonic() - asked_at)
            assert listener.end is not None
            assert listener.end["outcome"] == "stopped"
    figure(f"{STOPS} stops, from the request to the end of the turn at the client, p99", _ms(p99(took)))


async def test_a_reader_that_reconnects_across_a_take_over_misses_and_repeats_nothing(
    migrated_postgres_url: str,
) -> None:
    """The listener fails on a gap, on a repeat and on a misplaced piece."""
    with served(migrated_postgres_url, "--no-workers") as watches:
        for number in range(TAKE_OVERS):
            session, asked = f"web:{number}", f"100 20 {number}"
            with served(migrated_postgres_url, "--lease", LEASE) as doomed:
                turn_id = await say(doomed, session, asked)
                listener = Listener(session)
                async with asyncio.timeout(60), connect(watches.ws) as socket:
                    await listener.follow(socket, events=3)
                doomed.process.kill()
                doomed.process.join()
            with served(migrated_postgres_url, "--lease", LEASE):
                async with asyncio.timeout(60):
                    await follow_with_reconnects(watches.ws, listener, random.Random(number))
            assert listener.text == text_of(asked)
            assert listener.types.count("stream_start") == 2
            assert listener.end is not None
            assert (listener.end["turn_id"], listener.end["outcome"]) == (turn_id, "ok")


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms"
