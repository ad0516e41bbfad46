"""The writers: they take callers in, commit them in groups, and deal with what goes wrong.

A caller joins the next group; it is passed over for as long as another process has its session. If its
group fails, those who may be at fault are set aside and driven again, each alone, so that only the guilty
one fails. Who turns out to wait for a row that somebody else holds waits apart from these, and whoever else
wants the same session stays in line behind: nobody is held up by them.

A connection that is lost during COMMIT leaves it unknown whether the group is in the database. It left a
stamp if it is (see `stamps`), and its callers are driven again only if it is not.

Invariants
  - a session is with one writer at a time, so that two of our own connections never wait for each other
  - an error is the guilty caller's alone; nobody else hears of it
  - a connection is never left in the middle of a transaction
  - whoever is committed is not driven again, and whoever was told no is not committed
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
from segue.store.batching.group import Group, Spoiled, Unanswered
from segue.store.batching.transaction import BatchedTransaction, SessionKeys
from segue.store.database import Begin, T
from segue.store.last_write import LastWrite
from segue.store.postgres.commit_stamps import Stamp, Stamps, was_committed
from segue.store.postgres.connection import (
    FIRST_PAUSE,
    DatabaseConnection,
    Endpoint,
    ErrorKind,
    of_a_writer,
    reason_of,
    store_error,
    wait,
)
from segue.store.postgres.run_group import drive_together, open_together


class WaitingTransaction(BatchedTransaction):
    def __init__(self, begin: Begin[Any], outcome: Future[Any], keys: SessionKeys) -> None:
        super().__init__(begin, keys)
        self.outcome = outcome
        self.since = monotonic()
        self.losses = 0
        """How often the connection was lost under it."""
        self.passes = 0
        """How often it was passed over because another process had its session."""

    def settle(self) -> None:
        if self.error is not None:
            self.fail(self.error)
        elif not self.outcome.done():
            self.outcome.set_result(self.result)

    def give_up(self, error: Exception) -> None:
        """Tell that it failed, and see to it that it does."""
        self.withdrawn = True
        self.fail(error)

    def fail(self, error: Exception) -> None:
        # A caller that was cancelled wants no answer.
        if not self.outcome.done():
            self.outcome.set_exception(error)
            # Looked at here, for a caller that is cancelled in this very moment will not.
            self.outcome.exception()


class TransactionQueue:
    def __init__(
        self, *, together: int, lock_milliseconds: int, may_go: Callable[[WaitingTransaction], bool]
    ) -> None:
        self._callers: deque[WaitingTransaction] = deque()
        self._together = together
        self._may_go = may_go
        self._stirred = asyncio.Event()
        self.settings = of_a_writer(lock_milliseconds)

    def put(self, *callers: WaitingTransaction) -> None:
        self._callers.extend(callers)
        self._stirred.set()

    def put_back(self, callers: Sequence[WaitingTransaction]) -> None:
        self._callers.extendleft(reversed(callers))
        self._stirred.set()

    def look_again(self) -> None:
        self._stirred.set()

    async def take(self) -> list[WaitingTransaction]:
        while not (taken := self._pick()):
            self._stirred.clear()
            await self._stirred.wait()
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
"""A group lets callers begin for this long; who waits for a busy session longer goes with the next one."""
PATIENCE_SECONDS = 10.0
"""How long a caller waits in all, whatever happens to the server meanwhile; and as long again for the answer
to a COMMIT, because whoever is told no before must be able to rely on it."""
LOOK_SECONDS = 0.25
"""How often is seen to it."""
LOCK_SECONDS = 1.5
"""Who meets a lock at this age gives up. By then a client of ours that is paused has been cut off."""
PASSES = 20
PASS_SECONDS = 0.005
"""Who is passed over tries again so much later, and after so many times waits in line for the session."""
LOSSES = 3
"""A caller under which the connection was lost this often may be the cause of it."""

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
        self._look: asyncio.TimerHandle | None = None

    async def run(self, begin: Begin[T]) -> T:
        if self._closing:
            raise StoreUnavailable(f"{self._server.shown} was closed here; nothing was written")
        outcome: asyncio.Future[T] = self._loop.create_future()
        caller = WaitingTransaction(begin, outcome, self._keys)
        if caller.finished:
            caller.settle()
            return await outcome
        self._accepted[caller] = None
        if self._look is None:
            self._look = self._loop.call_later(LOOK_SECONDS, self._look_at_the_patient)
        # Who names no session would have a group to itself: beside it, nobody waits for the other.
        (self._together if caller.sessions else self._sole).put(caller)
        try:
            return await outcome
        finally:
            del self._accepted[caller]

    async def close(self) -> None:
        """Finish what was accepted, then end."""
        self._closing = True
        if self._accepted:
            await asyncio.wait([caller.outcome for caller in self._accepted])
        if self._look is not None:
            self._look.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _look_at_the_patient(self) -> None:
        """One look for all of them, while there are any: a timer for each is dear."""
        again = bool(self._accepted)
        self._look = self._loop.call_later(LOOK_SECONDS, self._look_at_the_patient) if again else None
        shown = self._server.shown
        for caller in self._accepted:  # in the order in which they came
            waited = monotonic() - caller.since
            if waited < PATIENCE_SECONDS:
                break
            if not caller.committing:
                reason = self._last_write.reason
                why = "" if reason is None else f" ({reason.replace('_', ' ')})"
                sentence = f"{shown} did not answer within {PATIENCE_SECONDS:.0f} s{why}; try again"
                caller.give_up(StoreUnavailable(sentence))
            elif waited > 2 * PATIENCE_SECONDS:
                sentence = (
                    f"{shown} was lost while it committed this: see whether it did before you try again"
                )
                caller.fail(Undecided(sentence))

    def _is_free(self, caller: WaitingTransaction) -> bool:
        return self._busy.isdisjoint(caller.sessions)

    def _is_next_in_line(self, caller: WaitingTransaction) -> bool:
        return self._is_free(caller) and not any(session in self._set_aside for session in caller.sessions)

    async def _write(self, queue: TransactionQueue) -> None:
        line = DatabaseConnection(self._server, queue.settings)
        stamps = Stamps()
        try:
            while True:
                await self._commit(line, stamps, queue, await queue.take())
                line.rest()
        finally:
            await line.close()

    async def _commit(
        self,
        line: DatabaseConnection,
        stamps: Stamps,
        queue: TransactionQueue,
        callers: Sequence[WaitingTransaction],
    ) -> None:
        sessions = _sessions(callers)
        self._busy |= sessions
        group = Group(callers, self._keys, beginning_seconds=BEGINNING_SECONDS)
        stamp: Stamp | None = None
        try:
            connection = await line.connected(partial(self._keep_trying, callers))
            stamp = await stamps.next(connection)
            opening = f"{line.opening}; {stamp.hold}" if stamp else line.opening
            passed = await open_together(connection, group, opening)
            sessions -= self._pass_over(queue, passed)
            await drive_together(connection, group, stamp)
        except Exception as error:
            everybody = [*group.begun, *group.waiting]
            spoiled = error if isinstance(error, Spoiled) else Spoiled(everybody, error, "a transaction")
            self._last_write.failed(reason_of(spoiled.cause))
            fault = await line.recover(spoiled.cause)
            unanswered = fault is ErrorKind.LOST and isinstance(spoiled, Unanswered)
            if unanswered and stamp and await self._is_in(line, stamp, group.begun):
                self._settle(queue, group)
            else:
                await self._drive_again(queue, everybody, fault, spoiled)
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

    async def _is_in(
        self, line: DatabaseConnection, stamp: Stamp, callers: Sequence[WaitingTransaction]
    ) -> bool:
        """By a connection of today. False too when nobody waits for it any longer."""
        while _wanted(callers):
            try:
                return await was_committed(await line.connected(lambda _: _wanted(callers)), stamp)
            except Exception as error:
                await line.recover(error)
                await wait(FIRST_PAUSE)
        return False

    def _free(self, sessions: set[str]) -> None:
        self._busy -= sessions
        for queue in (self._together, self._sole, self._alone, self._blocked):
            queue.look_again()

    def _pass_over(self, queue: TransactionQueue, callers: Sequence[WaitingTransaction]) -> set[str]:
        """Let them try again later. The sessions that are free by this."""
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
        fault: ErrorKind,
        spoiled: Spoiled,
    ) -> None:
        if fault is ErrorKind.LOST:
            _log.warning("lost a connection to %s (%s)", self._server.shown, type(spoiled.cause).__name__)
            await wait(FIRST_PAUSE)
        innocent: list[WaitingTransaction] = []
        for caller in callers:
            caller.rewind()
            if caller.finished:
                caller.settle()
            elif not self._is_suspect(caller, fault, spoiled):
                innocent.append(caller)
            elif queue in (self._together, self._sole):
                self._drive_alone(caller)
            else:
                self._try_once_more_or_fail(caller, fault, spoiled)
        queue.put_back(innocent)

    def _is_suspect(self, caller: WaitingTransaction, fault: ErrorKind, spoiled: Spoiled) -> bool:
        if fault is not ErrorKind.LOST:
            return caller in spoiled.suspects
        caller.losses += 1
        return caller.losses == LOSSES

    def _drive_alone(self, caller: WaitingTransaction) -> None:
        sessions = Counter(caller.sessions)
        self._set_aside += sessions
        caller.outcome.add_done_callback(partial(self._let_in_again, sessions))
        self._alone.put(caller)

    def _let_in_again(self, sessions: Counter[str], _: asyncio.Future[Any]) -> None:
        self._set_aside -= sessions
        self._together.look_again()

    def _try_once_more_or_fail(self, caller: WaitingTransaction, fault: ErrorKind, spoiled: Spoiled) -> None:
        if fault is ErrorKind.BLOCKED and monotonic() - caller.since < LOCK_SECONDS:
            self._blocked.put(caller)
        elif fault is ErrorKind.BLOCKED:
            sentence = f"somebody else has held what {spoiled.where} needs for too long; try again"
            caller.fail(StoreUnavailable(sentence))
        elif fault is ErrorKind.REFUSED:
            caller.fail(store_error(spoiled.cause, spoiled.where))
        else:
            self._alone.put(caller)


def _wanted(callers: Sequence[WaitingTransaction]) -> bool:
    return any(not caller.outcome.done() for caller in callers)


def _sessions(callers: Sequence[WaitingTransaction]) -> set[str]:
    return {session for caller in callers for session in caller.sessions}
