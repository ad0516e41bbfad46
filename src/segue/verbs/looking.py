"""Looking: what is there, for its owner and for nobody else."""

from collections.abc import AsyncGenerator, Mapping

from segue import sessions
from segue.bell import Bell, Name
from segue.clock import Clock
from segue.errors import NotFound
from segue.follow import follow
from segue.hub import Heard, Hub
from segue.model import NEWEST, Delivery, Event, Ids, Job, Overview, Owner, Place, Run, Session, Turn
from segue.runner import Function
from segue.settings import Settings
from segue.states import JobState
from segue.store.store import Store
from segue.text import check_key
from segue.transcript import Message, message_of
from segue.workforce import Workforce

ME = Owner()


class Looking:
    """The part of a kernel that reads; the verbs that write stand on it."""

    store: Store
    clock: Clock
    bell: Bell
    hub: Hub
    ids: Ids
    settings: Settings
    functions: Mapping[str, Function]
    workers: Workforce

    async def session(self, key: str, *, owner: Owner = ME) -> Session:
        found = await self.store.session(owner, check_key(key))
        if found is None:
            raise NotFound(f"there is no session {key}")
        return found

    async def sessions(self, *, owner: Owner = ME, limit: int = 100) -> list[Session]:
        return await self.store.sessions(owner, limit)

    async def overview(self, key: str, *, owner: Owner = ME) -> Overview:
        return await self.store.overview((await self.session(key, owner=owner)).id)

    async def overviews(
        self, *, owner: Owner = ME, limit: int = 100, before: Place = NEWEST, pending_recall: bool = False
    ) -> list[Overview]:
        """The most recently spoken to first; `pending_recall` leaves out those that have none."""
        return await self.store.overviews(owner, limit=limit, before=before, pending_recall=pending_recall)

    async def delete(self, key: str, *, with_jobs: bool = False, owner: Owner = ME) -> None:
        """Delete a session; `SessionHasJobs` names the jobs that would go with it."""
        await self.store.commit(sessions.delete, owner, check_key(key), with_jobs=with_jobs)
        self.bell.ring(Name.KEEPER)
        self.hub.look_again()  # whoever waits for a turn of it looks, and finds it gone

    async def turn(self, turn_id: str, *, owner: Owner = ME) -> Turn:
        turn = await self.store.turn(turn_id)
        session = await self.store.session_by_id(turn.session_id)
        if session.owner != owner:
            raise NotFound(f"there is no turn {turn_id}")
        return turn

    async def job(self, job_id: str, *, owner: Owner = ME) -> Job:
        job = await self.store.job(job_id)
        session = await self.store.session_by_id(job.session_id)
        if session.owner != owner or job.state is JobState.REMOVED:
            raise NotFound(f"there is no job {job_id}")
        return job

    async def jobs(self, key: str, *, owner: Owner = ME, limit: int = 100) -> list[Job]:
        return await self.store.jobs((await self.session(key, owner=owner)).id, limit)

    async def runs(
        self, key: str, *, owner: Owner = ME, limit: int = 100, before: Place = NEWEST
    ) -> list[Run]:
        """The session's runs, newest first."""
        return await self.store.runs_of_session((await self.session(key, owner=owner)).id, limit, before)

    async def record(self, run_id: str, *, owner: Owner = ME) -> Run:
        """The record of one run."""
        run = await self.store.run(run_id)
        session = await self.store.session_by_id(run.session_id)
        if session.owner != owner:
            raise NotFound(f"there is no run {run_id}")
        return run

    async def runs_of(
        self, job_id: str, *, owner: Owner = ME, limit: int = 100, before: int = NEWEST.at
    ) -> list[Run]:
        """A job's runs, newest first, of slots before that moment; also those of one that was removed."""
        job = await self.store.job(job_id)
        if (await self.store.session_by_id(job.session_id)).owner != owner:
            raise NotFound(f"there is no job {job_id}")
        return await self.store.runs_of_job(job_id, limit, before)

    async def deliveries(self, key: str, *, owner: Owner = ME, limit: int = 100) -> list[Delivery]:
        return await self.store.deliveries((await self.session(key, owner=owner)).id, limit)

    async def messages(
        self, key: str, *, owner: Owner = ME, after: int = 0, limit: int = 100
    ) -> list[Message]:
        session = await self.session(key, owner=owner)
        events = await self.store.messages(session.id, after=after, limit=limit)
        return [message for event in events if (message := message_of(event))]

    async def events(self, key: str, *, owner: Owner = ME, after: int = 0, limit: int = 100) -> list[Event]:
        session = await self.session(key, owner=owner)
        return await self.store.events(session.id, after=after, limit=limit)

    async def told(self, key: str, *, owner: Owner = ME, before: int, limit: int = 100) -> list[Event]:
        """What a reader of the conversation is shown: the newest events before a number, oldest first."""
        session = await self.session(key, owner=owner)
        return await self.store.told(session.id, before=before, limit=limit)

    async def follow(self, key: str, *, owner: Owner = ME, after: int | None = 0) -> AsyncGenerator[Heard]:
        """The log from a number on, and then what happens, as it happens.

        Without a number it is followed from the start of the turn under way, or from now on.
        """
        session = await self.session(key, owner=owner)
        if after is None:
            after = await self._beginning(session)
        async for heard in follow(self.store, self.hub, self.workers.turns, session.id, after):
            yield heard

    async def _beginning(self, session: Session) -> int:
        running = await self.store.running_turn(session.id)
        start = await self.store.start_of_turn(session.id, running.id) if running else None
        return session.last_seq if start is None else start - 1

    async def audit(self) -> dict[str, list[str]]:
        """The invariants that do not hold. Empty is well."""
        return await self.store.audit(horizon=self.clock.ms() - 3_600_000)
