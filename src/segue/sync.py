"""Blocking kernel: the verbs of `segue.Kernel` without `await`, for scripts, notebooks and Celery tasks.

    with Kernel("sqlite:///agent.db", agent=my_agent) as kernel:
        kernel.receive("chat:anna", "Good morning")
        kernel.drain()

A thread runs the event loop; each call waits until that loop has done it. The agent stays async and runs
there. Each verb below is the async method itself, so its parameters, its result and its documentation are
the same.
"""

import functools
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from segue.kernel.api.guests import GuestsApi
from segue.kernel.api.health import HealthApi
from segue.kernel.api.jobs import JobsApi
from segue.kernel.api.log import LogApi
from segue.kernel.api.memory import MemoryApi
from segue.kernel.api.recalls import RecallsApi
from segue.kernel.api.runs import RunsApi
from segue.kernel.api.scheduled_messages import ScheduledMessagesApi
from segue.kernel.api.sessions import SessionsApi
from segue.kernel.api.turns import TurnsApi
from segue.kernel.kernel import Kernel as AsyncKernel
from segue.kernel.loop_thread import LoopThread

A = TypeVar("A")
T = TypeVar("T")
S = TypeVar("S")
P = ParamSpec("P")


class _Part(Generic[A]):
    """A blocking view of an object of the async API, which exists while its kernel is open."""

    def __init__(self, loop: LoopThread, find: Callable[[], A]) -> None:
        self._loop = loop
        self._find = find


class _Call(Generic[A, P, T]):
    """A method that waits for an async method."""

    def __init__(self, method: Callable[Concatenate[A, P], Coroutine[Any, Any, T]]) -> None:
        self._method = method

    @overload
    def __get__(self, part: None, kind: object) -> Self: ...
    @overload
    def __get__(self, part: _Part[A], kind: object) -> Callable[P, T]: ...
    def __get__(self, part: _Part[A] | None, kind: object) -> Self | Callable[P, T]:
        if part is None:
            return self

        @functools.wraps(self._method)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            return part._loop.run(lambda: self._method(part._find(), *args, **kwargs))

        return call


class _Stream(Generic[A, P, T]):
    """A method that iterates over an async iterator."""

    def __init__(self, method: Callable[Concatenate[A, P], AsyncIterator[T]]) -> None:
        self._method = method

    @overload
    def __get__(self, part: None, kind: object) -> Self: ...
    @overload
    def __get__(self, part: _Part[A], kind: object) -> Callable[P, Iterator[T]]: ...
    def __get__(self, part: _Part[A] | None, kind: object) -> Self | Callable[P, Iterator[T]]:
        if part is None:
            return self

        @functools.wraps(self._method)
        def call(*args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
            return part._loop.iterate(self._method(part._find(), *args, **kwargs))

        return call


def _made_like(
    make: Callable[P, A],
) -> Callable[[Callable[[S, A], None]], Callable[Concatenate[S, P], None]]:
    """Gives an `__init__` that takes a made object the parameters with which that object is made."""

    def decorate(init: Callable[[S, A], None]) -> Callable[Concatenate[S, P], None]:
        def made(self: S, /, *args: P.args, **kwargs: P.kwargs) -> None:
            init(self, make(*args, **kwargs))

        return made

    return decorate


class BlockingSessions(_Part[SessionsApi]):
    open = _Call(SessionsApi.open)
    get = _Call(SessionsApi.get)
    find = _Call(SessionsApi.find)
    by_id = _Call(SessionsApi.by_id)
    overview = _Call(SessionsApi.overview)
    overview_of = _Call(SessionsApi.overview_of)
    overviews = _Call(SessionsApi.overviews)
    update = _Call(SessionsApi.update)
    suggest_zone = _Call(SessionsApi.suggest_zone)
    lane_of = _Call(SessionsApi.lane_of)
    delete = _Call(SessionsApi.delete)
    list = _Call(SessionsApi.list)


class BlockingTurns(_Part[TurnsApi]):
    receive = _Call(TurnsApi.receive)
    ask = _Stream(TurnsApi.ask)
    wait = _Call(TurnsApi.wait)
    get = _Call(TurnsApi.get)
    stop = _Call(TurnsApi.stop)
    cancel = _Call(TurnsApi.cancel)


class BlockingLog(_Part[LogApi]):
    messages = _Call(LogApi.messages)
    newest = _Call(LogApi.newest)
    events = _Call(LogApi.events)
    page = _Call(LogApi.page)
    follow = _Stream(LogApi.follow)
    deliveries = _Call(LogApi.deliveries)
    write = _Call(LogApi.write)
    write_all = _Call(LogApi.write_all)
    import_all = _Call(LogApi.import_all)
    say = _Call(LogApi.say)


class BlockingJobs(_Part[JobsApi]):
    add = _Call(JobsApi.add)
    load = _Call(JobsApi.load)
    get = _Call(JobsApi.get)
    is_taken = _Call(JobsApi.is_taken)
    update = _Call(JobsApi.update)
    pause = _Call(JobsApi.pause)
    resume = _Call(JobsApi.resume)
    skip = _Call(JobsApi.skip)
    delete = _Call(JobsApi.delete)
    explain = _Call(JobsApi.explain)
    pending = _Call(JobsApi.pending)
    protected = _Call(JobsApi.protected)
    list = _Call(JobsApi.list)
    is_listed_in = _Call(JobsApi.is_listed_in)


class BlockingRuns(_Part[RunsApi]):
    get = _Call(RunsApi.get)
    list = _Call(RunsApi.list)


class BlockingRecalls(_Part[RecallsApi]):
    get = _Call(RecallsApi.get)
    add = _Call(RecallsApi.add)
    cancel = _Call(RecallsApi.cancel)
    skip = _Call(RecallsApi.skip)
    list = _Call(RecallsApi.list)


class BlockingScheduledMessages(_Part[ScheduledMessagesApi]):
    add = _Call(ScheduledMessagesApi.add)
    get = _Call(ScheduledMessagesApi.get)
    cancel = _Call(ScheduledMessagesApi.cancel)
    list = _Call(ScheduledMessagesApi.list)


class BlockingMemory(_Part[MemoryApi]):
    commit = _Call(MemoryApi.commit)
    archives = _Call(MemoryApi.archives)
    archive = _Call(MemoryApi.archive)
    archived_messages = _Call(MemoryApi.archived_messages)
    undo = _Call(MemoryApi.undo)
    task = _Call(MemoryApi.task)
    tasks = _Call(MemoryApi.tasks)
    embed_missing = _Call(MemoryApi.embed_missing)
    cancel_task = _Call(MemoryApi.cancel_task)
    get = _Call(MemoryApi.get)
    search = _Call(MemoryApi.search)
    update = _Call(MemoryApi.update)
    delete = _Call(MemoryApi.delete)
    delete_all = _Call(MemoryApi.delete_all)
    owners = _Stream(MemoryApi.owners)
    context = _Call(MemoryApi.context)
    auto_commit_index = _Call(MemoryApi.auto_commit_index)
    list = _Call(MemoryApi.list)


class BlockingGuests(_Part[GuestsApi]):
    receive = _Call(GuestsApi.receive)
    allow = _Call(GuestsApi.allow)
    bind = _Call(GuestsApi.bind)
    delete = _Call(GuestsApi.delete)
    list = _Call(GuestsApi.list)


class BlockingHealth(_Part[HealthApi]):
    check = _Call(HealthApi.check)
    lag_ms = _Call(HealthApi.lag_ms)


class Kernel(_Part[AsyncKernel]):
    """A kernel whose verbs block. Takes the arguments of `segue.Kernel` and has the same parts and shortcuts.

    Use it as `with Kernel(…) as kernel`, or with `start` and `close`. Any thread may call it, but not code
    that runs in its own event loop, such as the agent. Open it in the process that uses it: after a fork, the
    thread that runs its loop is missing.
    """

    @_made_like(AsyncKernel)
    def __init__(self, kernel: AsyncKernel) -> None:
        loop = LoopThread(kernel.name)
        super().__init__(loop, lambda: kernel)
        self._kernel = kernel
        self.sessions = BlockingSessions(loop, lambda: kernel.sessions)
        self.turns = BlockingTurns(loop, lambda: kernel.turns)
        self.log = BlockingLog(loop, lambda: kernel.log)
        self.jobs = BlockingJobs(loop, lambda: kernel.jobs)
        self.runs = BlockingRuns(loop, lambda: kernel.runs)
        self.recalls = BlockingRecalls(loop, lambda: kernel.recalls)
        self.scheduled_messages = BlockingScheduledMessages(loop, lambda: kernel.scheduled_messages)
        self.memory = BlockingMemory(loop, lambda: kernel.memory)
        self.guests = BlockingGuests(loop, lambda: kernel.guests)
        self.health = BlockingHealth(loop, lambda: kernel.health)
        self.receive = self.turns.receive
        self.wait = self.turns.wait
        self.ask = self.turns.ask
        self.schedule = self.jobs.add
        self.messages = self.log.messages
        self.follow = self.log.follow

    run = _Call(AsyncKernel.run)
    drain = _Call(AsyncKernel.drain)
    audit = _Call(AsyncKernel.audit)

    @property
    def is_open(self) -> bool:
        return self._kernel.is_open

    def __enter__(self) -> Self:
        self._open(self._kernel.__aenter__)
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def start(self) -> Self:
        """Open the kernel if it is not open, and run its workers in the background until `close`."""
        self._open(self._kernel.start)
        return self

    def close(self) -> None:
        """Stop the workers, close the database and end the thread. Closing it twice does nothing."""
        if self._loop.is_running:
            try:
                self._loop.run(self._kernel.close)
            finally:
                self._loop.stop()

    def _open(self, opening: Callable[[], Coroutine[Any, Any, AsyncKernel]]) -> None:
        self._loop.start()
        try:
            self._loop.run(opening)
        except BaseException:
            if not self._kernel.is_open:
                self._loop.stop()
            raise
