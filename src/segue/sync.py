"""Blocking kernel: the verbs of `segue.Kernel` without `await`, for scripts, notebooks and Celery tasks.

    with Kernel("sqlite:///agent.db", agent=my_agent) as kernel:
        kernel.receive("chat:anna", "Good morning")
        kernel.drain()

A thread runs the event loop; each call waits until that loop has done it. The agent stays async and runs
there. Each verb below is the async method itself, so its parameters, its result and its documentation are
the same.
"""

from collections.abc import Callable, Coroutine
from typing import Any, Self

from segue.kernel.api.calendar.calendar import CalendarApi
from segue.kernel.api.days import DaysApi
from segue.kernel.api.files import FilesApi
from segue.kernel.api.guests import GuestsApi
from segue.kernel.api.health import HealthApi
from segue.kernel.api.jobs import JobsApi
from segue.kernel.api.log import LogApi
from segue.kernel.api.memory import MemoryApi
from segue.kernel.api.push import PushApi
from segue.kernel.api.recalls import RecallsApi
from segue.kernel.api.replies import RepliesApi
from segue.kernel.api.runs import RunsApi
from segue.kernel.api.scheduled_messages import ScheduledMessagesApi
from segue.kernel.api.sessions import SessionsApi
from segue.kernel.api.turns import TurnsApi
from segue.kernel.kernel import Kernel as AsyncKernel
from segue.kernel.loop_thread import BlockingCall, BlockingPart, BlockingStream, LoopThread, made_like


class BlockingSessions(BlockingPart[SessionsApi]):
    open = BlockingCall(SessionsApi.open)
    get = BlockingCall(SessionsApi.get)
    find = BlockingCall(SessionsApi.find)
    by_id = BlockingCall(SessionsApi.by_id)
    overview = BlockingCall(SessionsApi.overview)
    overview_of = BlockingCall(SessionsApi.overview_of)
    overviews = BlockingCall(SessionsApi.overviews)
    update = BlockingCall(SessionsApi.update)
    suggest_zone = BlockingCall(SessionsApi.suggest_zone)
    lane_of = BlockingCall(SessionsApi.lane_of)
    delete = BlockingCall(SessionsApi.delete)
    list = BlockingCall(SessionsApi.list)
    mark_read = BlockingCall(SessionsApi.mark_read)
    send_held = BlockingCall(SessionsApi.send_held)
    budget = BlockingCall(SessionsApi.budget)
    raise_budget = BlockingCall(SessionsApi.raise_budget)


class BlockingTurns(BlockingPart[TurnsApi]):
    receive = BlockingCall(TurnsApi.receive)
    ask = BlockingStream(TurnsApi.ask)
    wait = BlockingCall(TurnsApi.wait)
    get = BlockingCall(TurnsApi.get)
    load = BlockingCall(TurnsApi.load)
    follow = BlockingStream(TurnsApi.follow)
    running = BlockingCall(TurnsApi.running)
    list = BlockingCall(TurnsApi.list)
    stop = BlockingCall(TurnsApi.stop)
    stop_turn = BlockingCall(TurnsApi.stop_turn)
    cancel = BlockingCall(TurnsApi.cancel)
    replaced_by = BlockingCall(TurnsApi.replaced_by)


class BlockingLog(BlockingPart[LogApi]):
    messages = BlockingCall(LogApi.messages)
    newest = BlockingCall(LogApi.newest)
    events = BlockingCall(LogApi.events)
    page = BlockingCall(LogApi.page)
    follow = BlockingStream(LogApi.follow)
    search = BlockingCall(LogApi.search)
    export = BlockingStream(LogApi.export)
    deliveries = BlockingCall(LogApi.deliveries)
    write = BlockingCall(LogApi.write)
    write_all = BlockingCall(LogApi.write_all)
    import_all = BlockingCall(LogApi.import_all)
    say = BlockingCall(LogApi.say)


class BlockingJobs(BlockingPart[JobsApi]):
    add = BlockingCall(JobsApi.add)
    load = BlockingCall(JobsApi.load)
    get = BlockingCall(JobsApi.get)
    is_taken = BlockingCall(JobsApi.is_taken)
    update = BlockingCall(JobsApi.update)
    pause = BlockingCall(JobsApi.pause)
    resume = BlockingCall(JobsApi.resume)
    skip = BlockingCall(JobsApi.skip)
    delete = BlockingCall(JobsApi.delete)
    explain = BlockingCall(JobsApi.explain)
    preview = BlockingCall(JobsApi.preview)
    forecast = BlockingCall(JobsApi.forecast)
    unmet = BlockingCall(JobsApi.unmet)
    pending = BlockingCall(JobsApi.pending)
    protected = BlockingCall(JobsApi.protected)
    list = BlockingCall(JobsApi.list)
    is_listed_in = BlockingCall(JobsApi.is_listed_in)
    raise_budget = BlockingCall(JobsApi.raise_budget)


class BlockingDays(BlockingPart[DaysApi]):
    get = BlockingCall(DaysApi.get)
    add = BlockingCall(DaysApi.add)
    delete = BlockingCall(DaysApi.delete)
    list = BlockingCall(DaysApi.list)
    of_session = BlockingCall(DaysApi.of_session)
    applied = BlockingCall(DaysApi.applied)


class BlockingCalendar(BlockingPart[CalendarApi]):
    share = BlockingCall(CalendarApi.share)
    shared_at = BlockingCall(CalendarApi.shared_at)
    revoke = BlockingCall(CalendarApi.revoke)
    read = BlockingCall(CalendarApi.read)
    export = BlockingCall(CalendarApi.export)
    import_events = BlockingCall(CalendarApi.import_events)


class BlockingRuns(BlockingPart[RunsApi]):
    get = BlockingCall(RunsApi.get)
    list = BlockingCall(RunsApi.list)
    usage = BlockingCall(RunsApi.usage)


class BlockingRecalls(BlockingPart[RecallsApi]):
    get = BlockingCall(RecallsApi.get)
    add = BlockingCall(RecallsApi.add)
    cancel = BlockingCall(RecallsApi.cancel)
    skip = BlockingCall(RecallsApi.skip)
    list = BlockingCall(RecallsApi.list)


class BlockingScheduledMessages(BlockingPart[ScheduledMessagesApi]):
    add = BlockingCall(ScheduledMessagesApi.add)
    get = BlockingCall(ScheduledMessagesApi.get)
    cancel = BlockingCall(ScheduledMessagesApi.cancel)
    list = BlockingCall(ScheduledMessagesApi.list)


class BlockingFiles(BlockingPart[FilesApi]):
    add = BlockingCall(FilesApi.add)
    get = BlockingCall(FilesApi.get)
    read = BlockingCall(FilesApi.read)
    of_message = BlockingCall(FilesApi.of_message)


class BlockingMemory(BlockingPart[MemoryApi]):
    commit = BlockingCall(MemoryApi.commit)
    archives = BlockingCall(MemoryApi.archives)
    archive = BlockingCall(MemoryApi.archive)
    archived_messages = BlockingCall(MemoryApi.archived_messages)
    undo = BlockingCall(MemoryApi.undo)
    task = BlockingCall(MemoryApi.task)
    tasks = BlockingCall(MemoryApi.tasks)
    embed_missing = BlockingCall(MemoryApi.embed_missing)
    cancel_task = BlockingCall(MemoryApi.cancel_task)
    get = BlockingCall(MemoryApi.get)
    search = BlockingCall(MemoryApi.search)
    update = BlockingCall(MemoryApi.update)
    delete = BlockingCall(MemoryApi.delete)
    delete_all = BlockingCall(MemoryApi.delete_all)
    owners = BlockingStream(MemoryApi.owners)
    context = BlockingCall(MemoryApi.context)
    auto_commit_index = BlockingCall(MemoryApi.auto_commit_index)
    list = BlockingCall(MemoryApi.list)


class BlockingReplies(BlockingPart[RepliesApi]):
    take = BlockingCall(RepliesApi.take)


class BlockingPush(BlockingPart[PushApi]):
    subscribe = BlockingCall(PushApi.subscribe)
    unsubscribe = BlockingCall(PushApi.unsubscribe)
    devices = BlockingCall(PushApi.devices)
    show = BlockingCall(PushApi.show)
    wait = BlockingCall(PushApi.wait)
    claim = BlockingCall(PushApi.claim)
    unread = BlockingCall(PushApi.unread)


class BlockingGuests(BlockingPart[GuestsApi]):
    receive = BlockingCall(GuestsApi.receive)
    allow = BlockingCall(GuestsApi.allow)
    bind = BlockingCall(GuestsApi.bind)
    delete = BlockingCall(GuestsApi.delete)
    list = BlockingCall(GuestsApi.list)


class BlockingHealth(BlockingPart[HealthApi]):
    check = BlockingCall(HealthApi.check)
    lag_ms = BlockingCall(HealthApi.lag_ms)


class Kernel(BlockingPart[AsyncKernel]):
    """A kernel whose verbs block. Takes the arguments of `segue.Kernel` and has the same parts and shortcuts.

    Use it as `with Kernel(…) as kernel`, or with `start` and `close`. Any thread may call it, but not code
    that runs in its own event loop, such as the agent. Open it in the process that uses it: after a fork, the
    thread that runs its loop is missing.
    """

    @made_like(AsyncKernel)
    def __init__(self, kernel: AsyncKernel) -> None:
        loop = LoopThread(kernel.name)
        super().__init__(loop, lambda: kernel)
        self._kernel = kernel
        self.sessions = BlockingSessions(loop, lambda: kernel.sessions)
        self.turns = BlockingTurns(loop, lambda: kernel.turns)
        self.log = BlockingLog(loop, lambda: kernel.log)
        self.jobs = BlockingJobs(loop, lambda: kernel.jobs)
        self.days = BlockingDays(loop, lambda: kernel.days)
        self.calendar = BlockingCalendar(loop, lambda: kernel.calendar)
        self.runs = BlockingRuns(loop, lambda: kernel.runs)
        self.recalls = BlockingRecalls(loop, lambda: kernel.recalls)
        self.scheduled_messages = BlockingScheduledMessages(loop, lambda: kernel.scheduled_messages)
        self.files = BlockingFiles(loop, lambda: kernel.files)
        self.memory = BlockingMemory(loop, lambda: kernel.memory)
        self.replies = BlockingReplies(loop, lambda: kernel.replies)
        self.guests = BlockingGuests(loop, lambda: kernel.guests)
        self.push = BlockingPush(loop, lambda: kernel.push)
        self.health = BlockingHealth(loop, lambda: kernel.health)
        self.receive = self.turns.receive
        self.wait = self.turns.wait
        self.ask = self.turns.ask
        self.schedule = self.jobs.add
        self.messages = self.log.messages
        self.follow = self.log.follow

    run = BlockingCall(AsyncKernel.run)
    drain = BlockingCall(AsyncKernel.drain)
    audit = BlockingCall(AsyncKernel.audit)

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
