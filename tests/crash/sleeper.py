"""A client that stops in the middle of a transaction: `python -m tests.crash.sleeper URL SESSION_ID`.

It takes the session's row and stops itself before the next statement. With `--without-limits` its connection
has none of the limits that ours have.
"""

import argparse
import asyncio
import signal
import threading

from segue.kernel.transactions import lane, session_log
from segue.kernel.transactions.unified import Route
from segue.store.database import Transaction
from segue.store.open import open_database
from segue.store.postgres import connection

_IDLE = "idle_in_transaction_session_timeout"


def _falls_asleep(session_id: str) -> Transaction[None]:
    session = yield from session_log.lock_session(session_id)
    # To this thread, which is then the one that stops: a signal to the process may find another one first,
    # and this one would go on until that one runs.
    signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)
    yield from lane.record_activity(Route(session), 1, title=None)


async def _sleep(url: str, session_id: str) -> None:
    database = await open_database(url)
    await database.run(lambda: _falls_asleep(session_id))
    await database.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("session_id")
    parser.add_argument("--without-limits", action="store_true")
    options = parser.parse_args()
    if options.without_limits:
        connection.LIMITS[_IDLE] = connection.SETTINGS[_IDLE] = "0"
    asyncio.run(_sleep(options.url, options.session_id))
