"""Group commit on PostgreSQL: collects callers into groups, commits them, and retries after failures.

There are three queues, each with connections of its own:

  - `groups`: callers that name a session. A group has up to 64 of them, each of another session.
  - `singles`: callers that name none, such as a lease. Each is committed by itself.
  - `retries`: callers that must run alone. Each is committed by itself.

There is one rule for failures. If a group fails, the callers that may be at fault move to `retries`, so that
only the transaction at fault fails; the others go back. A caller whose session another process has moves
there too, and waits for it. While a caller is in `retries`, later callers of its sessions wait for it, and
callers of other sessions go on. Its sessions are all that it has named so far: two callers that want each
other's sessions run one after the other. If it fails there, it is tried again, unless its own statement is at
fault or another client has held a row for too long.

If a connection is lost during COMMIT, the group's stamp tells whether it was committed (see `commit_stamps`).
Its callers are driven again only if it was not.

Invariants
  - a session is with one writer at a time, so that two connections of a process never wait for each other
  - an error reaches only the caller at fault
  - a connection is never left in the middle of a transaction
  - a committed caller is not driven again, and a caller that was told of a failure is not committed
"""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable, Sequence
from functools import partial
from time import monotonic
from typing import Any

from segue.errors import StoreUnavailable
from segue.store.database import Begin, T
from segue.store.last_write import LastWrite
from segue.store.postgres.commit_stamps import Stamp, Stamps, was_committed
from segue.store.postgres.connection import (
    FIRST_PAUSE,
    DatabaseConnection,
    Endpoint,
    ErrorKind,
    end_tasks,
    reason_of,
    store_error,
    undecided,
    wait,
    writer_settings,
)
from segue.store.postgres.group import CommitUnanswered, Group, GroupFailed
from segue.store.postgres.transaction import CallerTransaction, SessionKeys
from segue.store.settings import StoreSettings

_log = logging.getLogger(__name__)


class _Queue:
    """Callers that wait for a writer, which takes up to `most` of them at once."""

    def __init__(self, *, most: int, lock_milliseconds: int) -> None:
        self.most = most
        self.settings = writer_settings(lock_milliseconds)
        self.callers: deque[CallerTransaction] = deque()
        self.changed = asyncio.Event()

    def put(self, caller: CallerTransaction) -> None:
        self.callers.append(caller)
        self.changed.set()

    def put_back(self, callers: Sequence[CallerTransaction]) -> None:
        self.callers.extendleft(reversed(callers))
        self.changed.set()


class Writers:
    """Commits transactions. `on_commit` is called after each commit that changed something."""

    def __init__(
        self,
        server: Endpoint,
        settings: StoreSettings,
        groups_at_once: int,
        last_write: LastWrite,
        on_commit: Callable[[], None],
    ) -> None:
        self._server = server
        self._settings = settings
        self._last_write = last_write
        self._on_commit = on_commit
        self._keys = SessionKeys()
        self._busy: set[str] = set()
        """The sessions that are with a writer."""
        self._to_retry: Counter[str] = Counter()
        """The sessions of callers in `retries`, until these have an outcome."""
        self._accepted: dict[CallerTransaction, None] = {}
        self._closing = False
        self._groups = _Queue(most=64, lock_milliseconds=50)
        self._singles = _Queue(most=1, lock_milliseconds=50)
        self._retries = _Queue(most=1, lock_milliseconds=250)
        queues = (*[self._groups] * groups_at_once, self._singles, self._retries, self._retries)
        self._loop = asyncio.get_running_loop()
        self._tasks = [self._loop.create_task(self._write(queue)) for queue in queues]
        self._check: asyncio.TimerHandle | None = None

    async def run(self, begin: Begin[T]) -> T:
        if self._closing:
            raise StoreUnavailable(f"{self._server.safe_url} was closed here; nothing was written")
        outcome: asyncio.Future[T] = self._loop.create_future()
        caller = CallerTransaction(begin, outcome, self._keys)
        if caller.query is None:
            caller.settle()
            return await outcome
        self._accepted[caller] = None
        if self._check is None:
            self._check_later()
        (self._groups if caller.sessions else self._singles).put(caller)
        try:
            return await outcome
        finally:
            del self._accepted[caller]

    async def close(self) -> None:
        """Finish the accepted transactions, then end."""
        self._closing = True
        if self._accepted:
            await asyncio.wait([caller.outcome for caller in self._accepted])
        if self._check is not None:
            self._check.cancel()
        await end_tasks(self._tasks)

    # Patience

    def _check_later(self) -> None:
        self._check = self._loop.call_later(self._settings.check_seconds, self._fail_after_patience)

    def _fail_after_patience(self) -> None:
        """One periodic check for all callers; a timer per caller is too expensive."""
        self._check = None
        if self._accepted:
            self._check_later()
        url, patience = self._server.safe_url, self._settings.patience_seconds
        for caller in self._accepted:  # oldest first
            waited = monotonic() - caller.since
            if waited < patience:
                break
            if not caller.committing:
                reason = self._last_write.reason
                why = "" if reason is None else f" ({reason.replace('_', ' ')})"
                sentence = f"{url} did not answer within {patience:.0f} s{why}; try again"
                caller.give_up(StoreUnavailable(sentence))
            elif waited > 2 * patience:
                caller.fail(undecided(url))

    # Choosing callers

    async def _take(self, queue: _Queue) -> list[CallerTransaction]:
        while not (taken := self._pick(queue)):
            queue.changed.clear()
            await queue.changed.wait()
        return taken

    def _pick(self, queue: _Queue) -> list[CallerTransaction]:
        """The next callers whose sessions are free, which are busy from now on. Others keep their place."""
        picked: list[CallerTransaction] = []
        passed: list[CallerTransaction] = []
        while queue.callers and len(picked) < queue.most:
            caller = queue.callers.popleft()
            if caller.outcome.done():
                continue
            if self._may_start(caller, queue):
                picked.append(caller)
                self._busy.update(caller.needs)
            else:
                passed.append(caller)
        queue.callers.extendleft(reversed(passed))
        return picked

    def _may_start(self, caller: CallerTransaction, queue: _Queue) -> bool:
        return self._busy.isdisjoint(caller.needs) and (
            queue is self._retries or not any(session in self._to_retry for session in caller.needs)
        )

    def _free(self, sessions: set[str]) -> None:
        self._busy -= sessions
        for queue in (self._groups, self._singles, self._retries):
            queue.changed.set()

    # Committing

    async def _write(self, queue: _Queue) -> None:
        writer = DatabaseConnection(self._server, queue.settings)
        stamps = Stamps()
        try:
            while True:
                callers = await self._take(queue)
                # Kept now: a caller that advances names other sessions.
                sessions = {session for caller in callers for session in caller.needs}
                await self._commit(writer, stamps, queue, callers)
                self._free(sessions)
                writer.release()
        finally:
            await writer.close()

    async def _commit(
        self,
        writer: DatabaseConnection,
        stamps: Stamps,
        queue: _Queue,
        callers: Sequence[CallerTransaction],
    ) -> None:
        group = Group(callers, self._keys)
        stamp: Stamp | None = None
        try:
            connection = await writer.connected(partial(self._keep_trying, callers))
            stamp = await stamps.next(connection)
            opening = f"{writer.opening}; {stamp.hold}" if stamp else writer.opening
            for caller in await group.begin(connection, opening):
                self._retry(caller)
            await group.drive(connection)
            await group.commit(connection, stamp)
        except Exception as failure:
            if not isinstance(failure, GroupFailed):
                failure = GroupFailed(group.callers, failure, "a transaction")
            self._last_write.failed(reason_of(failure.cause))
            kind = await writer.recover(failure.cause)
            unanswered = kind is ErrorKind.LOST and isinstance(failure, CommitUnanswered)
            if not (unanswered and stamp and await self._is_committed(writer, stamp, group.callers)):
                await self._drive_again(queue, group.callers, kind, failure)
                return
        for caller in group.callers:
            caller.settle()
        self._last_write.connected()
        if group.wrote:
            self._last_write.succeeded()
            self._on_commit()

    def _keep_trying(self, callers: Sequence[CallerTransaction], error: Exception) -> bool:
        self._last_write.failed(reason_of(error))
        return _wanted(callers)

    async def _is_committed(
        self, writer: DatabaseConnection, stamp: Stamp, callers: Sequence[CallerTransaction]
    ) -> bool:
        """Asked over a new connection. Also False when no caller waits any longer."""
        while _wanted(callers):
            try:
                return await was_committed(await writer.connected(lambda _: _wanted(callers)), stamp)
            except Exception as error:
                await writer.recover(error)
                await wait(FIRST_PAUSE)
        return False

    # After a failure

    async def _drive_again(
        self, queue: _Queue, callers: Sequence[CallerTransaction], kind: ErrorKind, failure: GroupFailed
    ) -> None:
        suspects = failure.suspects
        if kind is ErrorKind.LOST:
            cause = type(failure.cause).__name__
            _log.warning("connection lost, retrying: %s (%s)", self._server.safe_url, cause)
            await wait(FIRST_PAUSE)
            suspects = callers
        not_at_fault: list[CallerTransaction] = []
        for caller in callers:
            caller.rewind()
            if caller.query is None:
                caller.settle()
            elif caller not in suspects:
                not_at_fault.append(caller)
            elif len(callers) > 1 or not self._fails(caller, kind, failure):
                self._retry(caller)
        queue.put_back(not_at_fault)

    def _fails(self, caller: CallerTransaction, kind: ErrorKind, failure: GroupFailed) -> bool:
        """Whether a caller that ran alone has failed for good. It is told then."""
        if kind is ErrorKind.REFUSED:
            caller.fail(store_error(failure.cause, failure.where))
        elif kind is ErrorKind.BLOCKED and monotonic() - caller.since > self._settings.lock_seconds:
            sentence = f"another client has held what {failure.where} needs for too long; try again"
            caller.fail(StoreUnavailable(sentence))
        return caller.outcome.done()

    def _retry(self, caller: CallerTransaction) -> None:
        sessions = Counter(caller.needs)
        self._to_retry += sessions
        caller.outcome.add_done_callback(partial(self._admit_again, sessions))
        self._retries.put(caller)

    def _admit_again(self, sessions: Counter[str], _: asyncio.Future[Any]) -> None:
        self._to_retry -= sessions
        self._groups.changed.set()


def _wanted(callers: Sequence[CallerTransaction]) -> bool:
    return any(not caller.outcome.done() for caller in callers)
