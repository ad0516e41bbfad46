"""Group commit on PostgreSQL: collects callers into groups, commits them, and retries after failures.

A caller joins the next group; it is passed over while another process has its session. If a group fails, the
callers that may be at fault are driven again, each alone, so that only the transaction at fault fails. A
caller that waits for a row lock moves to a queue of its own, and later callers of the same session wait for
it: no other session is held up.

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
from asyncio import Future
from collections import Counter, deque
from collections.abc import Callable, Sequence
from functools import partial
from random import uniform
from time import monotonic
from typing import Any

from segue.errors import StoreUnavailable, Undecided
from segue.store.batching.group import CommitUnanswered, Group, GroupFailed
from segue.store.batching.transaction import BatchedTransaction, SessionKeys
from segue.store.database import Begin, T
from segue.store.last_write import LastWrite
from segue.store.postgres.commit_stamps import Stamp, Stamps, was_committed
from segue.store.postgres.connection import (
    FIRST_PAUSE,
    DatabaseConnection,
    Endpoint,
    ErrorKind,
    reason_of,
    store_error,
    wait,
    writer_settings,
)
from segue.store.postgres.run_group import drive_together, open_together


class WaitingTransaction(BatchedTransaction):
    """A transaction with the future of its result, and its retry counters."""

    def __init__(self, begin: Begin[Any], outcome: Future[Any], keys: SessionKeys) -> None:
        super().__init__(begin, keys)
        self.outcome = outcome
        self.since = monotonic()
        self.losses = 0
        """How often the connection was lost while it ran."""
        self.passes = 0
        """How often it was passed over because another process had its session."""

    def settle(self) -> None:
        if self.error is not None:
            self.fail(self.error)
        elif not self.outcome.done():
            self.outcome.set_result(self.result)

    def give_up(self, error: Exception) -> None:
        """Report the error, and make sure that it is not committed later."""
        self.withdrawn = True
        self.fail(error)

    def fail(self, error: Exception) -> None:
        # A cancelled caller needs no answer.
        if not self.outcome.done():
            self.outcome.set_exception(error)
            # Marks the exception as retrieved: a caller cancelled right now does not, and asyncio would warn.
            self.outcome.exception()


class TransactionQueue:
    """Waiting transactions; a writer takes up to `together` of them that `may_go` admits."""

    def __init__(
        self, *, together: int, lock_milliseconds: int, may_go: Callable[[WaitingTransaction], bool]
    ) -> None:
        self._callers: deque[WaitingTransaction] = deque()
        self._together = together
        self._may_go = may_go
        self._changed = asyncio.Event()
        self.settings = writer_settings(lock_milliseconds)

    def put(self, *callers: WaitingTransaction) -> None:
        self._callers.extend(callers)
        self._changed.set()

    def put_back(self, callers: Sequence[WaitingTransaction]) -> None:
        self._callers.extendleft(reversed(callers))
        self._changed.set()

    def look_again(self) -> None:
        self._changed.set()

    async def take(self) -> list[WaitingTransaction]:
        while not (taken := self._pick()):
            self._changed.clear()
            await self._changed.wait()
        return taken

    def _pick(self) -> list[WaitingTransaction]:
        picked: list[WaitingTransaction] = []
        passed: list[WaitingTransaction] = []
        while self._callers and len(picked) < self._together:
            caller = self._callers.popleft()
            if not caller.outcome.done():
                (picked if self._may_go(caller) else passed).append(caller)
        self._callers.extendleft(reversed(passed))
        return picked


BEGINNING_SECONDS = 0.02
"""Callers may begin in a group for this long; those that wait for a busy session longer join the next one."""
PATIENCE_SECONDS = 10.0
"""How long a caller waits in all, whatever happens to the server; and as long again for the answer to a
COMMIT, because a caller that was told of a failure must be able to rely on it."""
CHECK_SECONDS = 0.25
"""How often that limit is checked."""
LOCK_SECONDS = 1.5
"""A caller of this age that meets a lock fails. By then the server has cut off a paused client of Segue."""
PASSES = 20
PASS_SECONDS = 0.005
"""A caller that is passed over retries after this pause; after so many times it waits for the session."""
LOSSES = 3
"""A caller that ran during this many connection losses may be their cause."""

_log = logging.getLogger(__name__)


class Writers:
    """Commits transactions. `on_commit` is called after each commit that changed something."""

    def __init__(
        self, server: Endpoint, groups_at_once: int, last_write: LastWrite, on_commit: Callable[[], None]
    ) -> None:
        self._server = server
        self._last_write = last_write
        self._on_commit = on_commit
        self._keys = SessionKeys()
        self._busy: set[str] = set()
        self._set_aside: Counter[str] = Counter()
        self._accepted: dict[WaitingTransaction, None] = {}
        self._closing = False
        self._together = TransactionQueue(together=64, lock_milliseconds=50, may_go=self._is_next_in_line)
        self._sole = TransactionQueue(together=64, lock_milliseconds=50, may_go=self._is_next_in_line)
        self._alone = TransactionQueue(together=1, lock_milliseconds=200, may_go=self._is_free)
        self._blocked = TransactionQueue(together=1, lock_milliseconds=500, may_go=self._is_free)
        queues = (*[self._together] * groups_at_once, self._sole, self._alone, self._blocked)
        self._loop = asyncio.get_running_loop()
        self._tasks = [self._loop.create_task(self._write(queue)) for queue in queues]
        self._check: asyncio.TimerHandle | None = None

    async def run(self, begin: Begin[T]) -> T:
        if self._closing:
            raise StoreUnavailable(f"{self._server.safe_url} was closed here; nothing was written")
        outcome: asyncio.Future[T] = self._loop.create_future()
        caller = WaitingTransaction(begin, outcome, self._keys)
        if caller.finished:
            caller.settle()
            return await outcome
        self._accepted[caller] = None
        if self._check is None:
            self._check = self._loop.call_later(CHECK_SECONDS, self._fail_after_patience)
        # A caller that names no session runs alone in its group: a queue of its own keeps others moving.
        (self._together if caller.sessions else self._sole).put(caller)
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
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _fail_after_patience(self) -> None:
        """One periodic check for all callers; a timer per caller is too expensive."""
        again = bool(self._accepted)
        self._check = self._loop.call_later(CHECK_SECONDS, self._fail_after_patience) if again else None
        url = self._server.safe_url
        for caller in self._accepted:  # oldest first
            waited = monotonic() - caller.since
            if waited < PATIENCE_SECONDS:
                break
            if not caller.committing:
                reason = self._last_write.reason
                why = "" if reason is None else f" ({reason.replace('_', ' ')})"
                sentence = f"{url} did not answer within {PATIENCE_SECONDS:.0f} s{why}; try again"
                caller.give_up(StoreUnavailable(sentence))
            elif waited > 2 * PATIENCE_SECONDS:
                sentence = f"{url} was lost while it committed this: see whether it did before you try again"
                caller.fail(Undecided(sentence))

    def _is_free(self, caller: WaitingTransaction) -> bool:
        return self._busy.isdisjoint(caller.sessions)

    def _is_next_in_line(self, caller: WaitingTransaction) -> bool:
        return self._is_free(caller) and not any(session in self._set_aside for session in caller.sessions)

    async def _write(self, queue: TransactionQueue) -> None:
        writer = DatabaseConnection(self._server, queue.settings)
        stamps = Stamps()
        try:
            while True:
                await self._commit(writer, stamps, queue, await queue.take())
                writer.release()
        finally:
            await writer.close()

    async def _commit(
        self,
        writer: DatabaseConnection,
        stamps: Stamps,
        queue: TransactionQueue,
        callers: Sequence[WaitingTransaction],
    ) -> None:
        sessions = _sessions(callers)
        self._busy |= sessions
        group = Group(callers, self._keys, beginning_seconds=BEGINNING_SECONDS)
        stamp: Stamp | None = None
        try:
            connection = await writer.connected(partial(self._keep_trying, callers))
            stamp = await stamps.next(connection)
            opening = f"{writer.opening}; {stamp.hold}" if stamp else writer.opening
            passed = await open_together(connection, group, opening)
            sessions -= self._pass_over(queue, passed)
            await drive_together(connection, group, stamp)
        except Exception as error:
            members = [*group.begun, *group.waiting]
            failure = (
                error if isinstance(error, GroupFailed) else GroupFailed(members, error, "a transaction")
            )
            self._last_write.failed(reason_of(failure.cause))
            kind = await writer.recover(failure.cause)
            unanswered = kind is ErrorKind.LOST and isinstance(failure, CommitUnanswered)
            if unanswered and stamp and await self._is_committed(writer, stamp, group.begun):
                self._settle(queue, group)
            else:
                await self._drive_again(queue, members, kind, failure)
        else:
            self._settle(queue, group)
        self._free(sessions)

    def _settle(self, queue: TransactionQueue, group: Group[WaitingTransaction]) -> None:
        queue.put_back(group.waiting)
        for caller in group.begun:
            caller.settle()
        if group.wrote:
            self._last_write.succeeded()
            self._on_commit()

    def _keep_trying(self, callers: Sequence[WaitingTransaction], error: Exception) -> bool:
        self._last_write.failed(reason_of(error))
        return _wanted(callers)

    async def _is_committed(
        self, writer: DatabaseConnection, stamp: Stamp, callers: Sequence[WaitingTransaction]
    ) -> bool:
        """Asked over a new connection. Also False when no caller waits any longer."""
        while _wanted(callers):
            try:
                return await was_committed(await writer.connected(lambda _: _wanted(callers)), stamp)
            except Exception as error:
                await writer.recover(error)
                await wait(FIRST_PAUSE)
        return False

    def _free(self, sessions: set[str]) -> None:
        self._busy -= sessions
        for queue in (self._together, self._sole, self._alone, self._blocked):
            queue.look_again()

    def _pass_over(self, queue: TransactionQueue, callers: Sequence[WaitingTransaction]) -> set[str]:
        """Let the callers try again later. Returns the sessions that this frees."""
        later: list[WaitingTransaction] = []
        for caller in callers:
            caller.passes += 1
            if caller.passes < PASSES:
                later.append(caller)
            else:
                self._drive_alone(caller)
        if later:
            pause = PASS_SECONDS * uniform(0.5, 1.5)
            asyncio.get_running_loop().call_later(pause, queue.put_back, later)
        freed = _sessions(callers)
        self._free(freed)
        return freed

    async def _drive_again(
        self,
        queue: TransactionQueue,
        callers: Sequence[WaitingTransaction],
        kind: ErrorKind,
        failure: GroupFailed,
    ) -> None:
        if kind is ErrorKind.LOST:
            cause = type(failure.cause).__name__
            _log.warning("connection lost, retrying: %s (%s)", self._server.safe_url, cause)
            await wait(FIRST_PAUSE)
        not_at_fault: list[WaitingTransaction] = []
        for caller in callers:
            caller.rewind()
            if caller.finished:
                caller.settle()
            elif not self._is_suspect(caller, kind, failure):
                not_at_fault.append(caller)
            elif queue in (self._together, self._sole):
                self._drive_alone(caller)
            else:
                self._retry_or_fail(caller, kind, failure)
        queue.put_back(not_at_fault)

    def _is_suspect(self, caller: WaitingTransaction, kind: ErrorKind, failure: GroupFailed) -> bool:
        if kind is not ErrorKind.LOST:
            return caller in failure.suspects
        caller.losses += 1
        return caller.losses == LOSSES

    def _drive_alone(self, caller: WaitingTransaction) -> None:
        sessions = Counter(caller.sessions)
        self._set_aside += sessions
        caller.outcome.add_done_callback(partial(self._admit_again, sessions))
        self._alone.put(caller)

    def _admit_again(self, sessions: Counter[str], _: asyncio.Future[Any]) -> None:
        self._set_aside -= sessions
        self._together.look_again()

    def _retry_or_fail(self, caller: WaitingTransaction, kind: ErrorKind, failure: GroupFailed) -> None:
        if kind is ErrorKind.BLOCKED and monotonic() - caller.since < LOCK_SECONDS:
            self._blocked.put(caller)
        elif kind is ErrorKind.BLOCKED:
            sentence = f"another client has held what {failure.where} needs for too long; try again"
            caller.fail(StoreUnavailable(sentence))
        elif kind is ErrorKind.REFUSED:
            caller.fail(store_error(failure.cause, failure.where))
        else:
            self._alone.put(caller)


def _wanted(callers: Sequence[WaitingTransaction]) -> bool:
    return any(not caller.outcome.done() for caller in callers)


def _sessions(callers: Sequence[WaitingTransaction]) -> set[str]:
    return {session for caller in callers for session in caller.sessions}
