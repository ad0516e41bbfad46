"""SQLite threads: one that writes, and some that read.

Methods under "On the loop" are called only there, those under "On the thread" only there.
"""

import asyncio
import errno
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import SimpleQueue
from time import monotonic
from typing import Any, TypeAlias

from segue.errors import DatabaseGone, StoreError, StoreUnavailable
from segue.store.database import Begin, Params
from segue.store.last_write import LastWrite, Reason
from segue.store.queries import Query
from segue.store.sqlite.execute import drive, execute
from segue.store.sqlite.file import explain, reason_of
from segue.store.sqlite.file_identity import OpenFiles
from segue.store.sqlite.file_lock import FileLock
from segue.store.sqlite.loop_bridge import LoopBridge, Outcome

Work: TypeAlias = tuple[Begin[Any], asyncio.Future[Any]]
Read: TypeAlias = tuple[Query, Params, asyncio.Future[Any]]

_REASONS = {errno.ENOSPC: Reason.DISK_FULL, errno.EDQUOT: Reason.DISK_FULL, errno.EROFS: Reason.READ_ONLY}

LARGEST_GROUP = 256


class Writer:
    def __init__(
        self,
        connection: sqlite3.Connection,
        path: str,
        file_lock: FileLock | None,
        files: OpenFiles | None,
        last_write: LastWrite,
        bridge: LoopBridge,
        poll_seconds: float,
    ) -> None:
        """A database in memory has no file lock and no files: no other process can open it."""
        self._connection = connection
        self._path = path
        self._file_lock = file_lock
        self._files = files
        self._last_write = last_write
        self._bridge = bridge
        self._poll_seconds = poll_seconds
        self.gone: DatabaseGone | None = None
        """Set once, when the file was deleted or replaced: every later call is refused with it."""
        self._waiting: deque[Work] = deque()
        self._queueing_since: float | None = None
        self._ended: asyncio.Future[None] | None = None
        self._rings: list[Callable[[], None]] = []
        self._next_poll = 0.0
        self._seen_version = self._version()
        # A lock as an event: the cheapest way in Python to let one thread sleep until another wakes it.
        self._gate = threading.Lock()
        self._gate.acquire()
        threading.Thread(target=self._work, name="segue-writer", daemon=True).start()

    # On the loop

    def accept(self, begin: Begin[Any]) -> asyncio.Future[Any]:
        future = self._bridge.future()
        self._waiting.append((begin, future))
        self._wake()
        return future

    def fail_those_waiting_longer_than(self, seconds: float) -> None:
        """Fail all waiting callers if the thread has waited this long for the file lock."""
        since = self._queueing_since
        if since is not None and monotonic() - since > seconds:
            sentence = f"{self._path} has been held by another process for {seconds:g} s; try again later"
            self._last_write.failed(Reason.LOCKED)
            self._bridge.settle(_failed(self._take(len(self._waiting)), StoreUnavailable(sentence)))

    def watch(self, ring: Callable[[], None]) -> None:
        self._rings.append(ring)
        self._wake()

    def unwatch(self, ring: Callable[[], None]) -> None:
        self._rings.remove(ring)

    def end(self) -> asyncio.Future[None]:
        """A future: done when every accepted transaction has an outcome and the connection is closed."""
        self._ended = self._bridge.future()
        self._wake()
        return self._ended

    def _wake(self) -> None:
        if self._gate.locked():
            self._gate.release()

    # On the thread

    def _work(self) -> None:
        while self._waiting or self._ended is None:
            if self._waiting:
                self._bridge.return_(self._commit_in_turn())
            else:
                self._gate.acquire(timeout=self._poll_seconds if self._rings else -1)
            self._poll_for_other_writers()
        self._close()
        self._bridge.return_([(self._ended, None, None)])

    def _commit_in_turn(self) -> list[Outcome]:
        if self.gone is not None:
            return _failed(self._take(len(self._waiting)), self.gone)
        if self._file_lock is None:
            return self._commit(self._take(LARGEST_GROUP))
        self._queueing_since = monotonic()
        try:
            with self._file_lock:
                self._queueing_since = None
                # Taken only now, to include callers that came while the thread waited for the lock.
                return self._commit(self._take(LARGEST_GROUP))
        except OSError as error:
            sentence = (
                f"{self._path} could not be locked ({error.strerror}); "
                "check the permissions and free space of its folder, then try again"
            )
            self._last_write.failed(_REASONS.get(error.errno or 0, Reason.DISK_ERROR))
            return _failed(self._take(len(self._waiting)), StoreUnavailable(sentence))
        finally:
            self._queueing_since = None

    def _take(self, most: int) -> list[Work]:
        taken: list[Work] = []
        with suppress(IndexError):
            while len(taken) < most:
                taken.append(self._waiting.popleft())
        return taken

    def _commit(self, group: list[Work]) -> list[Outcome]:
        outcomes = self._try_to_commit(group)
        # Before any caller gets its outcome: a commit to a file that no path names is lost.
        self._check_files()
        if self.gone is not None:
            return _failed(group, self.gone)
        return outcomes

    def _try_to_commit(self, group: list[Work]) -> list[Outcome]:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            changes = self._connection.total_changes
            outcomes = [self._drive(begin, future) for begin, future in group]
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            # The file itself is at fault: no caller of the group is committed.
            self._roll_back()
            self._last_write.failed(reason_of(error, self._path))
            return _failed(group, explain(error, self._path, in_use=True))
        if self._connection.total_changes != changes:
            self._last_write.succeeded()
        return outcomes

    def _drive(self, begin: Begin[Any], future: asyncio.Future[Any]) -> Outcome:
        """Run one caller's transaction in a savepoint: if it fails, only its own statements are undone."""
        self._connection.execute("SAVEPOINT caller")
        outcome: Outcome
        try:
            outcome = future, drive(self._connection, begin), None
        except sqlite3.Error:
            raise
        except BaseException as error:
            self._connection.execute("ROLLBACK TO caller")
            outcome = future, None, error
        self._connection.execute("RELEASE caller")
        return outcome

    def _roll_back(self) -> None:
        # When the disk is full, SQLite has often rolled back already.
        if self._connection.in_transaction:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")

    def _poll_for_other_writers(self) -> None:
        if not self._rings or monotonic() < self._next_poll:
            return
        self._next_poll = monotonic() + self._poll_seconds
        self._check_files()
        with suppress(sqlite3.Error):
            version = self._version()
            if version != self._seen_version:
                self._seen_version = version
                self._ring()

    def _check_files(self) -> None:
        if self._files is None or self.gone is not None or (missing := self._files.missing()) is None:
            return
        self.gone = DatabaseGone(
            f"the database file {missing} was deleted or replaced while Segue was using it; "
            "restore it and start again"
        )
        self._last_write.failed(Reason.DATABASE_GONE)
        self._ring()

    def _ring(self) -> None:
        for ring in tuple(self._rings):
            self._bridge.call(ring)

    def _version(self) -> int:
        """A number that changes when another connection commits, and not when this one does."""
        version: int = self._connection.execute("PRAGMA data_version").fetchone()[0]
        return version

    def _close(self) -> None:
        with suppress(sqlite3.Error):
            if self.gone is None:
                self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
            elif self._files is not None and self._files.missing() == self._path:
                # Not only the log is gone. SQLite would apply one that stays behind to whatever file replaces
                # this one.
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._connection.close()
        if self._files is not None:
            self._files.close()
        if self._file_lock is not None:
            self._file_lock.close()


class Readers:
    def __init__(self, connections: Sequence[sqlite3.Connection], path: str, bridge: LoopBridge) -> None:
        self._path = path
        self._bridge = bridge
        self._count = len(connections)
        self._reads: SimpleQueue[Read | asyncio.Future[None]] = SimpleQueue()
        for connection in connections:
            threading.Thread(target=self._work, args=[connection], name="segue-reader", daemon=True).start()

    # On the loop

    def accept(self, query: Query, params: Params) -> asyncio.Future[Any]:
        future = self._bridge.future()
        self._reads.put((query, params, future))
        return future

    def end(self) -> list[asyncio.Future[None]]:
        """A future per thread: done when it has finished earlier reads and closed its connection."""
        ended = [self._bridge.future() for _ in range(self._count)]
        for future in ended:
            self._reads.put(future)
        return ended

    # On the threads

    def _work(self, connection: sqlite3.Connection) -> None:
        while isinstance(work := self._reads.get(), tuple):
            self._bridge.return_([self._read(connection, *work)])
        connection.close()
        self._bridge.return_([(work, None, None)])

    def _read(
        self, connection: sqlite3.Connection, query: Query, params: Params, future: asyncio.Future[Any]
    ) -> Outcome:
        try:
            return future, execute(connection, (query, params)), None
        except sqlite3.Error as error:
            return future, None, explain(error, self._path, in_use=True)
        except Exception as error:
            return future, None, error


def _failed(group: list[Work], error: StoreError) -> list[Outcome]:
    """A copy of the error for each: a shared exception would collect the tracebacks of all callers."""
    return [(future, None, type(error)(*error.args)) for _, future in group]
