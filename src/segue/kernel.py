"""The kernel: opens the house, runs its workers, and holds the public verbs.

    async with Kernel("sqlite:///agent.db", agent=my_agent) as kernel:
        await kernel.schedule("telegram:42", Cron("0 9 * * 1-5", tz="Europe/Berlin"), Ask("What is new?"))
        await kernel.run()

The verbs work whether or not `run` is under way, here or in another process: they write a row and ring.
"""

import os
import random
import socket
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Self

from segue import jobs, lane, sessions
from segue.action import Action, Ask, Call, Say
from segue.agent import Agent, AgentFunction, as_agent
from segue.bell import Bell, Name
from segue.channel import Channel
from segue.clock import Clock, SystemClock, to_moment, to_ms
from segue.decision import End, Pass
from segue.errors import BadSetting, BadTrigger, Conflict, NotFound
from segue.follow import follow
from segue.hub import Heard, Hub
from segue.jobs import Changed
from segue.lane import Admission, Admitted, Left
from segue.model import Delivery, Event, Ids, Job, Owner, Run, Session, Turn
from segue.policy import Policy, jittered
from segue.runner import Function
from segue.settings import Settings
from segue.states import JobKind, JobState, Outcome, TurnState, WhenBusy
from segue.store.database import Database
from segue.store.opening import open_database
from segue.store.store import Store
from segue.text import MAX_NAME, check_key, check_text
from segue.transcript import Message, message_of
from segue.trigger import At, Cron, Idle, Trigger, resolve
from segue.workforce import Workforce

ME = Owner()
_OVER = (TurnState.DONE, TurnState.FAILED, TurnState.CANCELLED)
_KINDS = {Ask: JobKind.CRON, Say: JobKind.MESSAGE, Call: JobKind.SYSTEM}


class Kernel:
    def __init__(
        self,
        database: str | Database,
        *,
        agent: Agent | AgentFunction,
        channels: Iterable[Channel] = (),
        functions: Mapping[str, Function] | None = None,
        settings: Settings | None = None,
        clock: Clock | None = None,
        rng: random.Random | None = None,
        name: str | None = None,
    ) -> None:
        self._database = database
        self._agent = as_agent(agent)
        self._channels = tuple(channels)
        self._functions = dict(functions or {})
        self._clock = clock
        self._rng = rng or random.Random()
        self.ids = Ids(self._rng)
        self.settings = settings or Settings()
        self.name = name or f"{socket.gethostname()}/{os.getpid()}/{self._rng.getrandbits(32):08x}"

    async def __aenter__(self) -> Self:
        owned = isinstance(self._database, str)
        database = await open_database(self._database) if isinstance(self._database, str) else self._database
        self.clock = self._clock or SystemClock(database.wall_ms)
        self.store = Store(database, self.clock)
        self.bell = Bell(self.clock)
        self.hub = Hub()
        self._owned = owned
        self.workers = Workforce(
            self.store,
            self.clock,
            self.bell,
            self.hub,
            name=self.name,
            agent=self._agent,
            functions=self._functions,
            channels=self._channels,
            settings=self.settings,
            ids=self.ids,
            rng=self._rng,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._owned:
            await self.store.database.close()

    async def run(self) -> None:
        """Run the workers until cancelled."""
        await self.workers.run()

    # Talking

    async def receive(
        self, key: str, text: str, *, owner: Owner = ME, when_busy: WhenBusy | str | None = None
    ) -> Admitted:
        """A user's message: it will be a turn of its session."""
        check_key(key)
        check_text(text, "a message")
        now = self.clock.ms()
        words = Admission(
            turn_id=self.ids(now),
            content=text,
            rank=now,
            not_before=now,
            timeout_ms=round(self.settings.turn_timeout_seconds * 1000),
        )
        mode = None if when_busy is None else WhenBusy(when_busy)
        admitted = await self.store.commit(
            lane.receive,
            owner,
            key,
            words,
            now,
            new_id=self.ids(now),
            when_busy=mode,
            default=self.settings.when_busy,
        )
        self.hub.publish(admitted.events)
        self.bell.ring(Name.USER, Name.TIMER, Name.KEEPER)
        return admitted

    async def wait(self, turn_id: str) -> Turn:
        """The turn, when it has ended. One that joined another ends with its host."""
        turn = await self.store.turn(turn_id)
        with self.hub.listen(turn.session_id) as listener:
            while True:
                turn = await self.store.turn(turn_id)
                if turn.joined_into is not None:
                    turn_id = turn.joined_into
                elif turn.state in _OVER:
                    return turn
                else:
                    await listener.next()

    async def write(self, key: str, role: str, text: str, *, owner: Owner = ME) -> Message:
        """Store a message without running the agent."""
        check_key(key)
        check_text(text, "a message")
        if role not in ("user", "assistant", "system"):
            raise BadSetting(f"a role is user, assistant or system, got {role!r}")
        now = self.clock.ms()
        events = await self.store.commit(sessions.write, owner, key, role, text, now, new_id=self.ids(now))
        self.hub.publish(events)
        self.bell.ring(Name.TIMER)
        message = message_of(events[0])
        assert message is not None  # it was written as one
        return message

    async def stop(self, key: str, *, owner: Owner = ME) -> str | None:
        """Ask the running turn to stop; its id, or None when nothing runs."""
        session = await self.session(key, owner=owner)
        stopped = await self.store.commit(lane.stop, session.id)
        self.bell.ring(Name.KEEPER)
        return stopped

    async def cancel(self, turn_id: str) -> None:
        """Take a turn that waits out of its lane."""
        now = self.clock.ms()
        self._left(await self.store.commit(lane.cancel, turn_id, "cancelled by request", now))

    # Jobs

    async def schedule(
        self,
        key: str,
        trigger: Trigger,
        action: Action,
        *,
        name: str | None = None,
        policy: Policy | None = None,
        kind: JobKind | None = None,
        owner: Owner = ME,
        job_id: str | None = None,
        protected: bool = False,
    ) -> Job:
        """A standing order: when this comes, do that, in this conversation."""
        check_key(key)
        now = self.clock.ms()
        policy = policy or Policy()
        if isinstance(action, Call) and action.function not in self._functions:
            raise BadSetting(
                f"no function is registered as {action.function!r}; give it to Kernel(functions=…)"
            )
        trigger = await self._resolved(trigger, key, owner)
        job = Job(
            id=check_text(job_id, "a job id", longest=MAX_NAME) if job_id is not None else self.ids(now),
            session_id="",
            account=owner.account,
            kind=kind or _KINDS[type(action)],
            name=check_text(name or _title(action), "the name of a job", longest=MAX_NAME),
            state=JobState.ACTIVE,
            state_reason=None,
            protected=protected,
            trigger=trigger,
            action=action,
            policy=policy,
            slot=None,
            next_at=None,
            revision=1,
            run_count=0,
            failures=0,
            last_run_at=None,
            last_outcome=None,
            last_error=None,
            created_at=now,
            updated_at=now,
        )
        job = self._aimed(job, now)
        return self._changed(
            await self.store.commit(jobs.create, owner, key, job, new_session_id=self.ids(now))
        )

    async def pause(self, job_id: str, *, reason: str = "paused by request", owner: Owner = ME) -> Job:
        job = await self.job(job_id, owner=owner)
        if job.state is not JobState.ACTIVE:
            raise Conflict(f"job {job_id} is {job.state}; only an active one can be paused")
        return await self._change(
            replace(job, state=JobState.PAUSED, state_reason=reason, slot=None, next_at=None)
        )

    async def resume(self, job_id: str, *, owner: Owner = ME) -> Job:
        job = await self.job(job_id, owner=owner)
        if job.state is not JobState.PAUSED:
            raise Conflict(f"job {job_id} is {job.state}; only a paused one can be resumed")
        active = replace(job, state=JobState.ACTIVE, state_reason=None, failures=0)
        return await self._change(self._aimed(active, self.clock.ms()))

    async def edit(
        self,
        job_id: str,
        *,
        name: str | None = None,
        trigger: Trigger | None = None,
        action: Action | None = None,
        policy: Policy | None = None,
        owner: Owner = ME,
    ) -> Job:
        """Change what is given. A new trigger or policy counts from now."""
        job = await self.job(job_id, owner=owner)
        if trigger is not None:
            session = await self.store.session_by_id(job.session_id)
            trigger = await self._resolved(trigger, session.key, session.owner)
        edited = replace(
            job,
            name=job.name if name is None else check_text(name, "the name of a job", longest=MAX_NAME),
            trigger=trigger or job.trigger,
            action=action or job.action,
            policy=policy or job.policy,
        )
        if job.state is JobState.ACTIVE and (trigger or policy):
            edited = self._aimed(edited, self.clock.ms())
        return await self._change(edited)

    async def skip(self, job_id: str, *, owner: Owner = ME) -> Job:
        """Let the next slot go by; it is recorded as skipped."""
        job = await self.job(job_id, owner=owner)
        if job.state is not JobState.ACTIVE or job.slot is None:
            raise Conflict(f"job {job_id} has no next slot to skip")
        slot = to_moment(job.slot)
        now = self.clock.ms()
        later = job.trigger.next_after(max(slot, to_moment(now)) if isinstance(job.trigger, Idle) else slot)
        skipped = Pass(
            slot=slot,
            outcome=Outcome.SKIPPED,
            reason="skipped by request",
            next=later,
            end=None if later else End.PASSED_OVER,
        )
        if await self.store.commit(jobs.pass_over, job, skipped, now) is None:
            raise Conflict(f"job {job_id} was changed meanwhile; read it again")
        self.bell.ring(Name.TIMER)
        return await self.store.job(job_id)

    async def remove(self, job_id: str, *, owner: Owner = ME) -> Job:
        """No start after this returns; a run that has started goes on to its end."""
        job = await self.job(job_id, owner=owner)
        if job.protected:
            raise Conflict(f"job {job_id} belongs to the system and cannot be removed")
        return self._changed(
            await self.store.commit(jobs.remove, job, "its job was removed", self.clock.ms())
        )

    # Looking

    async def session(self, key: str, *, owner: Owner = ME) -> Session:
        found = await self.store.session(owner, check_key(key))
        if found is None:
            raise NotFound(f"there is no session {key}")
        return found

    async def sessions(self, *, owner: Owner = ME, limit: int = 100) -> list[Session]:
        return await self.store.sessions(owner, limit)

    async def delete(self, key: str, *, with_jobs: bool = False, owner: Owner = ME) -> None:
        """Delete a session; `SessionHasJobs` names the jobs that would go with it."""
        await self.store.commit(sessions.delete, owner, check_key(key), with_jobs=with_jobs)
        self.bell.ring(Name.KEEPER)

    async def turn(self, turn_id: str) -> Turn:
        return await self.store.turn(turn_id)

    async def job(self, job_id: str, *, owner: Owner = ME) -> Job:
        job = await self.store.job(job_id)
        session = await self.store.session_by_id(job.session_id)
        if session.owner != owner or job.state is JobState.REMOVED:
            raise NotFound(f"there is no job {job_id}")
        return job

    async def jobs(self, key: str, *, owner: Owner = ME, limit: int = 100) -> list[Job]:
        return await self.store.jobs((await self.session(key, owner=owner)).id, limit)

    async def runs(self, key: str, *, owner: Owner = ME, limit: int = 100) -> list[Run]:
        """The session's runs, newest first."""
        return await self.store.runs_of_session((await self.session(key, owner=owner)).id, limit)

    async def runs_of(self, job_id: str, *, limit: int = 100) -> list[Run]:
        return await self.store.runs_of_job(job_id, limit)

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

    async def follow(self, key: str, *, owner: Owner = ME, after: int = 0) -> AsyncIterator[Heard]:
        """The log from a number on, and then what happens, as it happens."""
        session = await self.session(key, owner=owner)
        async for heard in follow(self.store, self.hub, session.id, after):
            yield heard

    async def audit(self) -> dict[str, list[str]]:
        """The invariants that do not hold. Empty is well."""
        return await self.store.audit(horizon=self.clock.ms() - 3_600_000)

    # What the verbs share

    async def _resolved(self, trigger: Trigger, key: str, owner: Owner) -> Trigger:
        session = await self.store.session(owner, key)
        zone = (session.timezone if session else None) or self.settings.timezone
        if zone is None and isinstance(trigger, Cron) and trigger.tz is None:
            raise BadTrigger(f"{trigger.expr!r} needs a zone: Cron({trigger.expr!r}, tz='Europe/Berlin')")
        return resolve(trigger, now=to_moment(self.clock.ms()), zone=zone)

    def _aimed(self, job: Job, now: int) -> Job:
        """With its next slot, or BadTrigger when there is none to come."""
        slot = job.trigger.first(to_moment(now))
        if slot is None and isinstance(job.trigger, At) and job.created_at != now:
            slot = (
                job.trigger.moment
            )  # it passed while the job was paused: its policy decides how late is too late
        if slot is None:
            raise BadTrigger(f"{job.trigger} names no moment that is still to come")
        if job.policy.until is not None and slot > job.policy.until:
            raise BadTrigger(f"the first slot of {job.trigger} lies after the policy's until")
        return replace(job, slot=to_ms(slot), next_at=to_ms(jittered(slot, job.policy, job.id)))

    async def _change(self, job: Job) -> Job:
        if job.protected:
            raise Conflict(f"job {job.id} belongs to the system and cannot be changed")
        return self._changed(await self.store.commit(jobs.change, job, self.clock.ms()))

    def _changed(self, changed: Changed) -> Job:
        self.hub.publish(changed.events)
        self.bell.ring(Name.TIMER)
        if changed.next_pool is not None:
            self.bell.ring(Name.USER, Name.SCHEDULE)
        return changed.job

    def _left(self, left: Left) -> None:
        self.hub.publish(left.events)
        self.bell.ring(Name.USER, Name.SCHEDULE)


def _title(action: Action) -> str:
    match action:
        case Ask(prompt=words) | Say(text=words):
            return words.strip().splitlines()[0][:80]
        case Call(function=function):
            return function
