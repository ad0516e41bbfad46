"""A process on a SQLite file: `python sqlite_process.py ROLE DATABASE [MIGRATIONS]`."""

import asyncio
import json
import os
import random
import signal
import sys
import threading
from pathlib import Path
from time import perf_counter

from segue.errors import StoreError
from segue.store.database import Begin, Database, Transaction
from segue.store.migrate import migrate
from segue.store.queries import translate
from segue.store.sqlite.database import Sqlite

REFUSED = "refused"
WRITE_SECONDS = 60 if os.environ.get("SEGUE_LONG") else 2

create = translate("notes.create", "CREATE TABLE IF NOT EXISTS notes (id TEXT PRIMARY KEY, note TEXT)")
add = translate("notes.add", "INSERT INTO notes (id, note) VALUES (:id, :note)")
every = translate("notes.every", "SELECT id FROM notes ORDER BY id")


def make_notes() -> Transaction[None]:
    yield create, {}


def adding(name: str, note: str = "") -> Begin[None]:
    def transaction() -> Transaction[None]:
        yield add, {"id": name, "note": note}

    return transaction


async def notes(database: Database) -> list[str]:
    return [row["id"] for row in await database.read(every, {})]


async def write_for_a_while(path: str) -> None:
    """Four callers that never pause; prints how many writes they made, and how long each took."""
    database = await Sqlite.open(path)
    took: list[float] = []
    wait_for_the_start()
    end = perf_counter() + WRITE_SECONDS

    async def caller(number: int) -> None:
        while (began := perf_counter()) < end:
            await database.run(adding(f"{os.getpid()} {number} {began}"))
            took.append(perf_counter() - began)

    await asyncio.gather(*map(caller, range(4)))
    await database.close()
    took.sort()
    say(json.dumps({"served": len(took), "p99_ms": round(took[len(took) * 99 // 100] * 1000, 1)}))


async def write_and_tell(path: str) -> None:
    """Print each acknowledged note until killed. Notes are long, so that checkpoints happen all the time."""
    database = await Sqlite.open(path)
    note = random.Random(1).randbytes(10_000).hex()
    for number in range(1_000_000):
        await database.run(adding(f"{number:07}", note))
        say(f"{number:07}")


async def write_despite_errors(path: str) -> None:
    """Print each acknowledged note, and a word for each error, until killed."""
    while True:
        try:
            database = await Sqlite.open(path)
            break
        except StoreError:
            say(REFUSED)
    note = random.Random(1).randbytes(10_000).hex()
    for number in range(1_000_000):
        try:
            await database.run(adding(f"{number:07}", note))
        except StoreError:
            say(REFUSED)
        else:
            say(f"{number:07}")


async def stop_in_the_middle(path: str) -> None:
    def transaction() -> Transaction[None]:
        yield add, {"id": "half a thought", "note": ""}
        say("inside")
        # To this thread: a signal to the process may stop another thread first, and this one would go on.
        signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)

    database = await Sqlite.open(path)
    await database.run(transaction)
    say("done")


async def open_and_migrate(path: str) -> None:
    wait_for_the_start()
    database = await Sqlite.open(path)
    say(json.dumps(await migrate(database, Path(sys.argv[3]))))
    await database.close()


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


def wait_for_the_start() -> None:
    say("ready")
    sys.stdin.readline()


ROLES = {
    role.__name__: role
    for role in (
        write_for_a_while,
        write_and_tell,
        write_despite_errors,
        stop_in_the_middle,
        open_and_migrate,
    )
}


if __name__ == "__main__":
    asyncio.run(ROLES[sys.argv[1]](sys.argv[2]))
