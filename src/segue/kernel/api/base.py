"""Reads and owner checks: every lookup by an owner, or by the operator of an account."""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace

from segue.errors import NotFound
from segue.kernel.live.bell import Bell
from segue.kernel.live.follow import follow
from segue.kernel.live.hub import Heard, Hub
from segue.kernel.transactions import archive, unified
from segue.kernel.transactions.result import Name
from segue.kernel.workers.worker_context import Function
from segue.kernel.workers.workforce import Workforce
from segue.model.records import (
    NEWEST,
    Asker,
    Delivery,
    Event,
    Ids,
    Job,
    Operator,
    Overview,
    Place,
    Run,
    Session,
    Turn,
)
from segue.model.settings import Settings, check_zone
from segue.model.states import JobState, UnifiedOwner
from segue.model.text_checks import check_key
from segue.model.transcript import Message, message_of
from segue.store.store import Store
from segue.times.clock import Clock

OPERATOR = Operator()
"""A call without `owner=`: it reaches the sessions of every user of the account `default`."""


class ApiBase:
    """Reads sessions, turns, jobs, runs and logs. The classes that write derive from it."""

    store: Store
    clock: Clock
    bell: Bell
    hub: Hub
    ids: Ids
    settings: Settings
    functions: Mapping[str, Function]
    networks: frozenset[str]
    """The channels on which each chat is a user of its own."""
    workers: Workforce

    async def session(self, key: str, *, owner: Asker = OPERATOR) -> Session:
        """Returns the `Session` of a key. Raises `NotFound`; `AmbiguousKey` when several users have one."""
        session = await self.find(key, owner=owner)
        if session is None:
            raise NotFound(f"there is no session {key}")
        return session

    async def find(self, key: str, *, owner: Asker = OPERATOR) -> Session | None:
        """Returns the `Session` of a key, or None if there is none. Raises `BadKey`, `AmbiguousKey`."""
        return await self.store.session_found(owner.lookup(check_key(key), self.networks), key)

    async def sessions(self, *, owner: Asker = OPERATOR, limit: int = 100) -> list[Session]:
        """Returns the owner's sessions, the one with the newest message first."""
        return await self.store.sessions(owner, limit)

    def is_shared(self, key: str) -> bool:
        """Returns whether a chat shares one conversation with its owner's other chats (unified mode)."""
        return self.settings.unified_session and key.partition(":")[0] not in unified.APART

    async def lane_of(self, session: Session) -> Session:
        """Returns the session that a session's turns run in: itself, or in unified mode the common one."""
        if not self.is_shared(session.key):
            return session
        return await self.store.session(session.owner, unified.KEY) or session

    def zone_in(self, session: Session | None, given: str | None = None) -> str | None:
        """Returns the zone for a time that names none: `given`, else the session's, else `Settings.timezone`.

        Pass None for a session that does not exist yet. None as the result means that no zone is known, and
        a clock time is refused. Raises `BadSetting` if `given` is not a zone.
        """
        if given is not None:
            check_zone(given)
            return given
        return (session.timezone if session else None) or self.settings.timezone

    async def overview(self, key: str, *, owner: Asker = OPERATOR) -> Overview:
        """Returns the session's `Overview`. Raises `NotFound`."""
        session = await self.session(key, owner=owner)
        if not await archive.counts_are_right(self.store, session):
            await self.store.commit(archive.recount, session.id, self.clock.ms())
            self.bell.ring(Name.ARCHIVIST)
        return await self.overview_of(session.id)

    async def overview_of(self, session_id: str) -> Overview:
        """Returns the `Overview` of a session by its id, for any owner. Raises `NotFound`."""
        overview = await self.store.overview(session_id)
        lane = await self.lane_of(overview.session)
        if lane.id == session_id:
            return overview
        session = replace(overview.session, holder=lane.holder, ready_at=lane.ready_at)
        return replace(overview, session=session, queued=len(await self.store.queued_turns(lane.id)))

    async def overviews(
        self,
        *,
        owner: Asker = OPERATOR,
        limit: int = 100,
        before: Place = NEWEST,
        pending_recall: bool = False,
    ) -> list[Overview]:
        """Returns the owner's sessions with their counts, the one with the newest message first.

        `before` is the `place` of the last one of the previous page. `pending_recall` keeps only the sessions
        that have a pending recall.
        """
        return await self.store.overviews(owner, limit=limit, before=before, pending_recall=pending_recall)

    async def turn(self, turn_id: str, *, owner: Asker = OPERATOR) -> Turn:
        """Returns the `Turn` of an id. Raises `NotFound`."""
        turn = await self.store.turn(turn_id)
        session = await self.store.session_by_id(turn.session_id)
        if not owner.reaches(session.owner):
            raise NotFound(f"there is no turn {turn_id}")
        return turn

    async def job(self, job_id: str, *, owner: Asker = OPERATOR) -> Job:
        """Returns the `Job` of an id. Raises `NotFound`, also for a removed job."""
        job = await self.store.job(job_id)
        session = await self.store.session_by_id(job.session_id)
        if not owner.reaches(session.owner) or job.state is JobState.REMOVED:
            raise NotFound(f"there is no job {job_id}")
        return job

    async def jobs(self, key: str, *, owner: Asker = OPERATOR, limit: int = 100) -> list[Job]:
        """Returns the session's jobs, oldest first, including ended ones but not removed ones.

        Raises `NotFound`.
        """
        session = await self.session(key, owner=owner)
        own = await self.store.jobs(session.id, limit)
        shared = await self.shared_jobs_of(session)
        return own if shared is None else [*own, *await self.store.jobs(shared.id, limit)][:limit]

    async def shared_jobs_of(self, session: Session) -> Session | None:
        """Returns the session whose jobs a chat lists beside its own, or None.

        There is one only in unified mode with `unified_owner="unified"`.
        """
        if self.settings.unified_owner is not UnifiedOwner.UNIFIED:
            return None
        lane = await self.lane_of(session)
        return None if lane.id == session.id else lane

    async def runs(
        self, key: str, *, owner: Asker = OPERATOR, limit: int = 100, before: Place = NEWEST
    ) -> list[Run]:
        """Returns the session's runs, newest first. Raises `NotFound`.

        `before` is the `place` of the last one of the previous page.
        """
        return await self.store.runs_of_session((await self.session(key, owner=owner)).id, limit, before)

    async def record(self, run_id: str, *, owner: Asker = OPERATOR) -> Run:
        """Returns the `Run` of an id. Raises `NotFound`."""
        run = await self.store.run(run_id)
        session = await self.store.session_by_id(run.session_id)
        if not owner.reaches(session.owner):
            raise NotFound(f"there is no run {run_id}")
        return run

    async def runs_of(
        self, job_id: str, *, owner: Asker = OPERATOR, limit: int = 100, before: int | None = None
    ) -> list[Run]:
        """Returns a job's runs, newest first, also those of a removed job. Raises `NotFound`.

        `before` keeps only the runs of slots before that moment, in milliseconds.
        """
        job = await self.store.job(job_id)
        if not owner.reaches((await self.store.session_by_id(job.session_id)).owner):
            raise NotFound(f"there is no job {job_id}")
        return await self.store.runs_of_job(job_id, limit, NEWEST.at if before is None else before)

    async def deliveries(self, key: str, *, owner: Asker = OPERATOR, limit: int = 100) -> list[Delivery]:
        """Returns the session's deliveries, newest first. Raises `NotFound`."""
        return await self.store.deliveries((await self.session(key, owner=owner)).id, limit)

    async def messages(
        self, key: str, *, owner: Asker = OPERATOR, after: int = 0, limit: int = 100
    ) -> list[Message]:
        """Returns the messages of the transcript after the event number `after`, oldest first.

        Raises `NotFound`.
        """
        session = await self.session(key, owner=owner)
        events = await self.store.messages(session.id, after=after, limit=limit)
        return [message for event in events if (message := message_of(event))]

    async def events(
        self, key: str, *, owner: Asker = OPERATOR, after: int = 0, limit: int = 100
    ) -> list[Event]:
        """Returns the events of the log after the event number `after`, oldest first. Raises `NotFound`."""
        session = await self.session(key, owner=owner)
        return await self.store.events(session.id, after=after, limit=limit)

    async def told(self, key: str, *, owner: Asker = OPERATOR, before: int, limit: int = 100) -> list[Event]:
        """Returns the events that a chat view shows: the newest `limit` before the event number `before`.

        These are messages, tool calls and waiting turns, oldest first. Raises `NotFound`.
        """
        session = await self.session(key, owner=owner)
        return await self.store.told(session.id, before=before, limit=limit)

    async def follow(
        self, key: str, *, owner: Asker = OPERATOR, after: int | None = 0, came_at: int | None = None
    ) -> AsyncGenerator[Heard]:
        """Yields the events after a number, each once and in order, then new events and live text.

        Use it with `async for`; it does not end by itself. With `after=None` it begins at the start of the
        running turn, or now. `came_at` is the moment when the follower connected: for a turn that ended
        after it, the full text is sent before the end of the turn. Raises `NotFound`.
        """
        session = await self.session(key, owner=owner)
        if after is None:
            after = await self._start_of_running_turn(session)
        lane = await self.lane_of(session)
        async for heard in follow(
            self.store, self.hub, self.workers.turns, session.id, after, lane_id=lane.id, came_at=came_at
        ):
            yield heard

    async def _start_of_running_turn(self, session: Session) -> int:
        """The event number before the running turn's start; the newest number if no turn runs."""
        running = await self.store.running_turn((await self.lane_of(session)).id)
        start = await self.store.start_of_turn(session.id, running.id) if running else None
        return session.last_seq if start is None else start - 1

    async def audit(self) -> dict[str, list[str]]:
        """Returns the invariants that do not hold, each with the ids of the rows that break it.

        An empty result means that the database is consistent.
        """
        return await self.store.audit(horizon=self.clock.ms() - 3_600_000)
