"""Looking: what is there, for its owner and for the operator of the account."""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace

from segue.errors import NotFound
from segue.kernel.live.bell import Bell, Name
from segue.kernel.live.follow import follow
from segue.kernel.live.hub import Heard, Hub
from segue.kernel.transactions import counts, unified
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
    """The part of a kernel that reads; the verbs that write stand on it."""

    store: Store
    clock: Clock
    bell: Bell
    hub: Hub
    ids: Ids
    settings: Settings
    functions: Mapping[str, Function]
    networks: frozenset[str]
    """The channels whose chats are users of their own."""
    workers: Workforce

    async def session(self, key: str, *, owner: Asker = OPERATOR) -> Session:
        """The `Session`. Raises `NotFound`, and `AmbiguousKey` when several users of the account have one."""
        found = await self.find(key, owner=owner)
        if found is None:
            raise NotFound(f"there is no session {key}")
        return found

    async def find(self, key: str, *, owner: Asker = OPERATOR) -> Session | None:
        """As `session`; `None` if there is none."""
        return await self.store.session_found(owner.lookup(check_key(key), self.networks), key)

    async def sessions(self, *, owner: Asker = OPERATOR, limit: int = 100) -> list[Session]:
        """The owner's sessions, the most recently spoken to first."""
        return await self.store.sessions(owner, limit)

    def is_shared(self, key: str) -> bool:
        """Whether a chat shares its conversation with the others of its owner."""
        return self.settings.unified_session and key.partition(":")[0] not in unified.APART

    async def lane_of(self, session: Session) -> Session:
        """The session that its turns run in: itself, or in unified mode the common one."""
        if not self.is_shared(session.key):
            return session
        return await self.store.session(session.owner, unified.KEY) or session

    def zone_in(self, session: Session | None, given: str | None = None) -> str | None:
        """The zone of a time that names none: the one that is given, else the session's own, else
        `Settings.timezone`. With None for a session that is not there yet, that of the settings. None means
        that there is no zone, and a time on the clock is refused.
        """
        if given is not None:
            check_zone(given)
            return given
        return (session.timezone if session else None) or self.settings.timezone

    async def overview(self, key: str, *, owner: Asker = OPERATOR) -> Overview:
        """The session's `Overview`. Raises `NotFound`."""
        session = await self.session(key, owner=owner)
        if not await counts.are_right(self.store, session):
            await self.store.commit(counts.rebuild, session.id, self.clock.ms())
            self.bell.ring(Name.ARCHIVIST)
        return await self.overview_of(session.id)

    async def overview_of(self, session_id: str) -> Overview:
        """The same by the session's id, for any owner."""
        there = await self.store.overview(session_id)
        place = await self.lane_of(there.session)
        if place.id == session_id:
            return there
        session = replace(there.session, holder=place.holder, ready_at=place.ready_at)
        return replace(there, session=session, queued=len(await self.store.queued_turns(place.id)))

    async def overviews(
        self,
        *,
        owner: Asker = OPERATOR,
        limit: int = 100,
        before: Place = NEWEST,
        pending_recall: bool = False,
    ) -> list[Overview]:
        """The owner's sessions with what is counted in them, the most recently spoken to first. `before` is the
        `place` of the last one that was seen. `pending_recall` leaves out those without one.
        """
        return await self.store.overviews(owner, limit=limit, before=before, pending_recall=pending_recall)

    async def turn(self, turn_id: str, *, owner: Asker = OPERATOR) -> Turn:
        """The `Turn`. Raises `NotFound`."""
        turn = await self.store.turn(turn_id)
        session = await self.store.session_by_id(turn.session_id)
        if not owner.reaches(session.owner):
            raise NotFound(f"there is no turn {turn_id}")
        return turn

    async def job(self, job_id: str, *, owner: Asker = OPERATOR) -> Job:
        """The `Job`. Raises `NotFound`, also for one that was removed."""
        job = await self.store.job(job_id)
        session = await self.store.session_by_id(job.session_id)
        if not owner.reaches(session.owner) or job.state is JobState.REMOVED:
            raise NotFound(f"there is no job {job_id}")
        return job

    async def jobs(self, key: str, *, owner: Asker = OPERATOR, limit: int = 100) -> list[Job]:
        """The session's jobs, oldest first, also those that ended; not those that were removed."""
        session = await self.session(key, owner=owner)
        found = await self.store.jobs(session.id, limit)
        shared = await self.shared_jobs_of(session)
        return found if shared is None else [*found, *await self.store.jobs(shared.id, limit)][:limit]

    async def shared_jobs_of(self, session: Session) -> Session | None:
        """The session whose jobs a chat lists beside its own, in unified mode with `unified_owner="unified"`;
        otherwise None.
        """
        if self.settings.unified_owner is not UnifiedOwner.UNIFIED:
            return None
        place = await self.lane_of(session)
        return None if place.id == session.id else place

    async def runs(
        self, key: str, *, owner: Asker = OPERATOR, limit: int = 100, before: Place = NEWEST
    ) -> list[Run]:
        """The session's runs, newest first. `before` is the `place` of the last one that was seen."""
        return await self.store.runs_of_session((await self.session(key, owner=owner)).id, limit, before)

    async def record(self, run_id: str, *, owner: Asker = OPERATOR) -> Run:
        """The `Run` of that id. Raises `NotFound`."""
        run = await self.store.run(run_id)
        session = await self.store.session_by_id(run.session_id)
        if not owner.reaches(session.owner):
            raise NotFound(f"there is no run {run_id}")
        return run

    async def runs_of(
        self, job_id: str, *, owner: Asker = OPERATOR, limit: int = 100, before: int | None = None
    ) -> list[Run]:
        """A job's runs, newest first, of slots before that moment (milliseconds); also of a job that was
        removed.
        """
        job = await self.store.job(job_id)
        if not owner.reaches((await self.store.session_by_id(job.session_id)).owner):
            raise NotFound(f"there is no job {job_id}")
        return await self.store.runs_of_job(job_id, limit, NEWEST.at if before is None else before)

    async def deliveries(self, key: str, *, owner: Asker = OPERATOR, limit: int = 100) -> list[Delivery]:
        """The session's deliveries, newest first."""
        return await self.store.deliveries((await self.session(key, owner=owner)).id, limit)

    async def messages(
        self, key: str, *, owner: Asker = OPERATOR, after: int = 0, limit: int = 100
    ) -> list[Message]:
        """The transcript after a number, oldest first."""
        session = await self.session(key, owner=owner)
        events = await self.store.messages(session.id, after=after, limit=limit)
        return [message for event in events if (message := message_of(event))]

    async def events(
        self, key: str, *, owner: Asker = OPERATOR, after: int = 0, limit: int = 100
    ) -> list[Event]:
        """The log after a number, oldest first."""
        session = await self.session(key, owner=owner)
        return await self.store.events(session.id, after=after, limit=limit)

    async def told(self, key: str, *, owner: Asker = OPERATOR, before: int, limit: int = 100) -> list[Event]:
        """What a reader of the conversation is shown of it: the newest of its words, tool calls and waiting
        turns before a number, oldest first.
        """
        session = await self.session(key, owner=owner)
        return await self.store.told(session.id, before=before, limit=limit)

    async def follow(
        self, key: str, *, owner: Asker = OPERATOR, after: int | None = 0, came_at: int | None = None
    ) -> AsyncGenerator[Heard]:
        """`async for`: the events after a number, each once and in order, then what happens, as it happens, with
        live text between. With `after=None` it begins where the turn under way began, or now. It does not end
        by itself. Who takes what is newer than `came_at` for news is given the text of turns that ended
        between then and now, before their end. Raises `NotFound`.
        """
        session = await self.session(key, owner=owner)
        if after is None:
            after = await self._beginning(session)
        place = await self.lane_of(session)
        async for heard in follow(
            self.store, self.hub, self.workers.turns, session.id, after, lane_id=place.id, came_at=came_at
        ):
            yield heard

    async def _beginning(self, session: Session) -> int:
        running = await self.store.running_turn((await self.lane_of(session)).id)
        start = await self.store.start_of_turn(session.id, running.id) if running else None
        return session.last_seq if start is None else start - 1

    async def audit(self) -> dict[str, list[str]]:
        """The invariants that do not hold, each with the ids it was found broken in. Empty is well."""
        return await self.store.audit(horizon=self.clock.ms() - 3_600_000)
