"""Kernel: opens the database, runs the workers, and has the parts of the API.

    async with Kernel("sqlite:///agent.db", agent=my_agent) as kernel:
        await kernel.schedule("telegram:42", Cron("0 9 * * 1-5", tz="Europe/Berlin"), Ask("What is new?"))
        await kernel.run()

The methods work whether or not `run` is running, here or in another process: they write a row and ring.
"""

import os
import random
import socket
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from datetime import datetime
from typing import TYPE_CHECKING, Self

from segue.errors import AlreadyOpen, AlreadyRunning, NotOpen
from segue.kernel.api.calendar.calendar import CalendarApi
from segue.kernel.api.context import ApiContext
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
from segue.kernel.drain import Drain, Drained
from segue.kernel.live.bell import Bell
from segue.kernel.live.hub import Hub
from segue.kernel.live.observers import Observers
from segue.kernel.live.running import WATCHED_MS, CrashSuspects, RunningTurns
from segue.kernel.transactions.result import Name
from segue.kernel.worker_task import WorkerTask
from segue.kernel.workers.worker_context import Function
from segue.kernel.workers.workforce import ChannelListener, Workforce
from segue.memory.embedding import Embedder
from segue.memory.extraction import Extractor
from segue.memory.reader import MemoryReader
from segue.memory.rules import RuleExtractor
from segue.model.agent import Agent, AgentFunction, as_agent
from segue.model.channel import Channel, network_names
from segue.model.evaluation import EvaluateResponse, evaluate_response
from segue.model.records import Ids
from segue.model.settings import Settings
from segue.store.database import Database
from segue.store.open import open_database
from segue.store.store import Store
from segue.times.clock import Clock, SystemClock


class Kernel:
    """Opens the database, runs the workers and has the parts of the API.

    Use it as `async with Kernel(…) as kernel`: on entry it opens the database and brings its tables up to
    date, on exit it closes it. `docs/reference/settings.md` explains the arguments. Raises `BadSetting` for
    an argument that cannot be used, `StoreUnusable` or `SchemaTooNew` for a database that must not be
    changed.

    The parts are `sessions`, `turns`, `replies`, `jobs`, `days`, `calendar`, `runs`, `recalls`,
    `scheduled_messages`, `memory`, `log`, `files`, `guests`, `push` and `health`. For what most programs do
    there are shortcuts: `receive`, `wait` and `ask` of `turns`, `schedule` (`jobs.add`), `messages` and
    `follow` of `log`. The methods write rows and wake the workers. They work whether or not `run` is active,
    in this process or in another. All of them raise `StoreError` when the database cannot do it.

    `owner=OPERATOR` stands for `Operator("default", "default")`: a call without `owner=` finds a session by
    its key among all users of the account, the operator's own first, else the only one. If several users
    have one, it raises `AmbiguousKey`; `owner=Owner(account, user)` says which. A new session belongs to the
    user that its key names (`telegram:42` to the user `telegram:42`), else to the user `default`.

    In place of a session's key, a method that takes a `SessionRef` takes a `Session` that the caller has
    loaded, and in place of a job's id the `OwnedJob` of `jobs.load`. Their owner was checked when they were
    loaded, and is not checked again.
    """

    def __init__(
        self,
        database: str | Database,
        *,
        agent: Agent | AgentFunction,
        channels: Iterable[Channel] | None = None,
        functions: Mapping[str, Function] | None = None,
        evaluate_response: EvaluateResponse = evaluate_response,
        extractor: Extractor | None = None,
        embedder: Embedder | None = None,
        settings: Settings | None = None,
        clock: Clock | None = None,
        rng: random.Random | None = None,
        name: str | None = None,
    ) -> None:
        self._database = database
        self._agent = as_agent(agent)
        self._channels = None if channels is None else tuple(channels)
        self.channels = {channel.name: channel for channel in self._channels or ()}
        self.networks = network_names(self.channels.values())
        self.functions = dict(functions or {})
        self.evaluate_response = evaluate_response
        self.observers = Observers()
        self._extractor = extractor or RuleExtractor()
        self._embedder = embedder
        self._clock = clock
        self.settings = settings or Settings()
        self._identity = (rng, name)
        self._identify()
        self._closing: AsyncExitStack | None = None
        self._worker_task: WorkerTask | None = None
        self._working = False

    def _identify(self) -> None:
        """Take a name and a source of ids that no other process has, not even one forked from this one."""
        rng, name = self._identity
        self._process = os.getpid()
        self._rng = rng or random.Random()
        self.ids = Ids(self._rng)
        self.name = name or f"{socket.gethostname()}/{self._process}/{self._rng.getrandbits(32):08x}"

    @property
    def is_open(self) -> bool:
        return self._closing is not None

    async def __aenter__(self) -> Self:
        if self.is_open:
            raise AlreadyOpen(
                "this kernel is open already: open it in one place, with `async with`, with "
                "`await kernel.start()`, or by mounting it"
            )
        if self._process != os.getpid():
            self._identify()
        async with AsyncExitStack() as opening:
            database = self._database
            if isinstance(database, str):
                database = await open_database(database)
                opening.push_async_callback(database.close)
            self.clock = self._clock or SystemClock(database.wall_ms)
            self.store = Store(database, self.clock)
            self.memory_reader = MemoryReader(self.store, self._embedder)
            self.bell = Bell(self.clock)
            self.hub = Hub()
            context = ApiContext(
                store=self.store,
                clock=self.clock,
                bell=self.bell,
                hub=self.hub,
                ids=self.ids,
                rng=self._rng,
                turns=RunningTurns(),
                crash_suspects=CrashSuspects(self.clock),
                agent=self._agent,
                functions=self.functions,
                evaluate_response=self.evaluate_response,
                extractor=self._extractor,
                channels=None if self._channels is None else self.channels,
                settings=self.settings,
                holder=self.name,
                observers=self.observers,
                kernel=self,
                memory=self.memory_reader,
                networks=self.networks,
            )
            self.workers = Workforce(context)
            self._make_api(context)
            await opening.enter_async_context(database.watch(self._on_external_write, self._on_watched))
            self._closing = opening.pop_all()
        return self

    def _make_api(self, context: ApiContext) -> None:
        self.files = FilesApi(context)
        self.log = LogApi(context, self.files)
        self.turns = TurnsApi(context, self.log, self.files)
        self.sessions = SessionsApi(context, self.turns)
        self.jobs = JobsApi(context)
        self.days = DaysApi(context)
        self.calendar = CalendarApi(context, self.jobs)
        self.runs = RunsApi(context, self.jobs)
        self.recalls = RecallsApi(context, self.jobs)
        self.scheduled_messages = ScheduledMessagesApi(context)
        self.memory = MemoryApi(context)
        self.replies = RepliesApi(context, self.files)
        self.guests = GuestsApi(context, self.sessions, self.replies, self.files)
        self.push = PushApi(context)
        self.health = HealthApi(context)
        # Shortcuts
        self.receive = self.turns.receive
        self.wait = self.turns.wait
        self.ask = self.turns.ask
        self.schedule = self.jobs.add
        self.messages = self.log.messages
        self.follow = self.log.follow

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def start(self) -> Self:
        """Open the kernel if it is not open, and run its workers in the background until `close`.

        For programs that cannot use `async with`. Raises `AlreadyRunning` if its workers run.
        """
        if not self.is_open:
            await self.__aenter__()
        self._begin_work()
        self._worker_task = WorkerTask(self._run_workers(listen=True))
        return self

    async def close(self) -> None:
        """Stop the workers that `start` has started, as `run` does when it is cancelled, and close the
        database. A closed kernel can be opened again. Closing it twice does nothing."""
        closing, self._closing = self._closing, None
        worker_task, self._worker_task = self._worker_task, None
        try:
            if worker_task is not None:
                await worker_task.stop()
        finally:
            self._working = False
            if closing is not None:
                await closing.aclose()

    async def drain(self, until: datetime | None = None) -> Drained:
        """Run everything that is due now to its end, and say when something is due next.

        For hosts that run from time to time, such as serverless functions. At `until`, turns that are still
        running are treated as when a grace period ends. Raises `AlreadyRunning` if the workers run.
        """
        self._begin_work()
        try:
            return await Drain(self.workers, self.store, self.clock, self.bell).run(until)
        finally:
            self._working = False

    async def run(self, *, listen: bool = True) -> None:
        """Run the workers until cancelled. Then no new work starts, and running turns and sends get the grace
        period of the settings to end. `listen`: also receive messages from channels; only one process may.
        """
        self._begin_work()
        await self._run_workers(listen=listen)

    async def _run_workers(self, *, listen: bool) -> None:
        listeners = [
            ChannelListener(channel, self.guests.inbox(channel))
            for channel in self.channels.values()
            if listen
        ]
        try:
            await self.workers.run(listeners)
        finally:
            self._working = False

    def _begin_work(self) -> None:
        if self._working:
            raise AlreadyRunning(
                "the workers of this kernel run already: call `run`, `start` or `drain` in one place only; "
                "a mounted kernel is run by its application"
            )
        self._working = True

    async def audit(self) -> dict[str, list[str]]:
        """Returns the invariants that do not hold, each with the ids of the rows that break it.

        An empty result means that the database is consistent.
        """
        return await self.store.audit(horizon=self.clock.ms() - 3_600_000)

    def _on_external_write(self) -> None:
        """Another process wrote to the database: workers and followers check for news."""
        self.bell.ring_all()
        self.hub.look_again()

    def _on_watched(self, turn_id: str) -> None:
        """Another process follows a turn: if it runs here, its drafts are stored more often for a while."""
        if turn := self.workers.turns.get(turn_id):
            now = self.clock.steady_ms()
            if turn.watched_until < now:
                self.bell.ring(Name.KEEPER)
            turn.watched_until = now + WATCHED_MS

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """A kernel has most of its attributes only while it is open."""
            if name.startswith("_") or self.is_open:
                raise AttributeError(f"a kernel has no attribute {name!r}")
            raise NotOpen(
                f"kernel.{name} needs an open kernel: use `async with kernel`, `await kernel.start()`, or "
                "mount it and let the application's lifespan begin"
            )
