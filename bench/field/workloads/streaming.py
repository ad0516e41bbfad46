"""Many clients read a stream at once: what the server adds to the first word, and its processor time for a
turn.
"""

import asyncio
import json
import time
from dataclasses import dataclass

from bench.field.peer import Process
from bench.field.program import STREAM, TOKEN_SECONDS, TOKENS, allow_many_connections
from bench.field.results import Column, Figures
from bench.field.stores import Store, processor_seconds
from bench.field.workload import Setting, Workload, on_new_stores
from bench.measure import percentile

ARRIVAL_SECONDS = 8.0
"""In which the clients begin, one after the other: all of them are connected for a while after it."""
LONGEST_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Heard:
    first_ms: float
    """From the request to the first word, without the time that the word itself takes."""
    words: int


def _measure(setting: Setting, store: Store) -> Figures:
    with Process(setting.peer, store.url, store.record, capacity=setting.size) as process:
        port = process.listen()
        allow_many_connections()
        before, server_before = processor_seconds(process.id), processor_seconds(*store.servers)
        heard = asyncio.run(_all_clients(port, setting.size))
        used = processor_seconds(process.id) - before
        server_used = processor_seconds(*store.servers) - server_before
    first = [one.first_ms for one in heard if one.words]
    timed = {"p50_ms": percentile(first, 50), "p99_ms": percentile(first, 99)} if first else {}
    return timed | {
        "cpu_ms": 1000 * used / setting.size,
        "server_ms": 1000 * server_used / setting.size,
        "incomplete": sum(one.words < TOKENS for one in heard),
    }


async def _all_clients(port: int, clients: int) -> list[Heard]:
    starts = (ARRIVAL_SECONDS * number / clients for number in range(clients))
    return await asyncio.gather(*(_client(port, number, start) for number, start in enumerate(starts)))


async def _client(port: int, number: int, start: float) -> Heard:
    await asyncio.sleep(start)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    asked = time.perf_counter()
    writer.write(_request(port, number))
    try:
        async with asyncio.timeout(LONGEST_SECONDS):
            return await _listen(reader, asked)
    except (TimeoutError, ConnectionError):
        return Heard(0, 0)
    finally:
        writer.close()


async def _listen(reader: asyncio.StreamReader, asked: float) -> Heard:
    first, words = 0.0, 0
    while line := await reader.readline():
        if b"[DONE]" in line:
            break
        if b'"word' in line:
            words += line.count(b"word")
            first = first or 1000 * (time.perf_counter() - asked - TOKEN_SECONDS)
    return Heard(first, words)


def _request(port: int, number: int) -> bytes:
    message = {"role": "user", "content": STREAM}
    body = json.dumps({"model": "segue", "stream": True, "messages": [message]})
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nX-Segue-Session: web:{number}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return (head + body).encode()


STREAMING = Workload(
    name="streaming",
    title="Streaming",
    about=(
        f"So many clients ask within {ARRIVAL_SECONDS:g} s and read {TOKENS} words, one every "
        f"{TOKEN_SECONDS:g} s, from a double of a model. *First word* is the time until it arrives "
        "without the time that the word itself takes. The bare stream stores nothing; each turn of "
        "Segue is in the session's log, and other clients can follow it."
    ),
    size="clients",
    sizes=(100, 1_000),
    short_sizes=(1_000,),
    columns=(
        Column("p50_ms", "first word, median", "ms"),
        Column("p99_ms", "p99", "ms"),
        Column("cpu_ms", "processor for a turn", "ms"),
        Column("server_ms", "its database", "ms"),
        Column("incomplete", "incomplete", ""),
    ),
    prepared=on_new_stores(_measure),
    opt_in=True,
)
