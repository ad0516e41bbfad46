"""Ordering: how jobs are made, changed and removed."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from segue.errors import BadSetting, BadTrigger, ChangedMeanwhile, Conflict, DuplicateId, NotFound
from segue.kernel.api.base import OPERATOR, Looking
from segue.kernel.live.bell import Name
from segue.kernel.transactions import fire, jobs, unified
from segue.kernel.transactions.idempotency import Request, once
from segue.kernel.transactions.jobs import Changed
from segue.model.action import Action, Ask, Call, Say, View
from segue.model.decision import End, Pass, keeps_no_appointments
from segue.model.explain import Explanation, Facts, explain, stands_for
from segue.model.policy import Policy, jittered
from segue.model.prompts import Mode
from segue.model.records import NEWEST, Asker, Job, Owner, Place, Run, Session, Turn
from segue.model.schedule import check_rhythm
from segue.model.states import JobKind, JobState, Outcome, UnifiedOwner
from segue.model.text_checks import MAX_NAME, check_text
from segue.store.database import Transaction
from segue.times.clock import to_moment, to_ms
from segue.times.trigger import At, Trigger, resolve

_MOST_READS = 10
"""How often a verb reads a job that is changed each time before it can write."""

_KINDS = {Ask: JobKind.CRON, Say: JobKind.MESSAGE, Call: JobKind.SYSTEM}


class Ordering(Looking):
    async def schedule(
        self,
        key: str,
        trigger: Trigger,
        action: Action,
        *,
        name: str | None = None,
        policy: Policy | None = None,
        kind: JobKind | None = None,
        owner: Asker = OPERATOR,
        job_id: str | None = None,
        protected: bool = False,
    ) -> Job:
        """A standing order: when this comes, do that, in this conversation."""
        now = self.clock.ms()
        session, whose = await self._owned(key, owner, speaks_in=_second_target(action))
        job = self._drafted(
            session,
            trigger,
            action,
            now,
            name=name,
            policy=policy,
            kind=kind,
            account=whose.account,
            job_id=job_id,
        )
        job = replace(job, protected=protected)
        home = self._home(key, job.kind)
        return self._changed(
            await self.store.commit(jobs.create, whose, home, job, new_session_id=self.ids(now))
        )

    async def _owned(
        self, key: str, owner: Asker, *, speaks_in: str | None = None
    ) -> tuple[Session | None, Owner]:
        """The session that a job is made in, and its owner: what is made for a session is its owner's.

        `speaks_in`: the session in which a legacy job speaks. The job belongs to the owner of that one, or
        the memory of another user would be in the words that its readers get.
        """
        if speaks_in is not None:
            _, owner = await self._owned(speaks_in, owner)
        session = await self.find(key, owner=owner)
        return session, owner.lookup(key, self.networks).owner if session is None else session.owner

    def _drafted(
        self,
        session: Session | None,
        trigger: Trigger,
        action: Action,
        now: int,
        *,
        name: str | None = None,
        policy: Policy | None = None,
        kind: JobKind | None = None,
        account: str,
        job_id: str | None = None,
    ) -> Job:
        """A job that was checked and aimed, and is not stored yet."""
        self._check_function(action)
        _refuse_second_target(action, kind)
        trigger = self._resolved(trigger, session, now)
        job = Job(
            id=check_text(job_id, "a job id", longest=MAX_NAME) if job_id is not None else self.ids(now),
            session_id="",
            account=account,
            kind=kind or _KINDS[type(action)],
            name=check_text(name or _title(action), "the name of a job", longest=MAX_NAME),
            state=JobState.ACTIVE,
            state_reason=None,
            protected=False,
            trigger=trigger,
            action=action,
            policy=policy or Policy(),
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
        return _aimed(job, now)

    async def keep(
        self, key: str, trigger: Trigger, action: Action, *, job_id: str, name: str, owner: Asker = OPERATOR
    ) -> Job:
        """A protected job of the system: made if it is missing, and set going again if it had given up."""
        try:
            return await self.schedule(
                key,
                trigger,
                action,
                name=name,
                kind=JobKind.SYSTEM,
                owner=owner,
                job_id=job_id,
                protected=True,
            )
        except DuplicateId:
            return await self._apply(job_id, owner, self._set_going)

    async def pause(self, job_id: str, *, reason: str = "paused by request", owner: Asker = OPERATOR) -> Job:
        async def apply(job: Job) -> Job:
            if job.state is not JobState.ACTIVE:
                raise Conflict(f"job {job_id} is {job.state}; only an active one can be paused")
            return await self._change(
                replace(job, state=JobState.PAUSED, state_reason=reason, slot=None, next_at=None)
            )

        return await self._apply(job_id, owner, apply)

    async def resume(self, job_id: str, *, owner: Asker = OPERATOR) -> Job:
        async def apply(job: Job) -> Job:
            if job.state is not JobState.PAUSED:
                raise Conflict(f"job {job_id} is {job.state}; only a paused one can be resumed")
            active = replace(job, state=JobState.ACTIVE, state_reason=None, failures=0)
            if isinstance(job.trigger, At):
                # Its moment may have passed meanwhile: its policy decides how late is too late.
                return await self._change(_aimed_at(active, job.trigger.moment))
            return await self._change(_aimed(active, self.clock.ms()))

        return await self._apply(job_id, owner, apply)

    async def edit(
        self,
        job_id: str,
        *,
        name: str | None = None,
        trigger: Trigger | None = None,
        action: Action | None = None,
        policy: Policy | None = None,
        owner: Asker = OPERATOR,
    ) -> Job:
        """Change what is given. A new trigger counts from now.

        `Conflict` when another edit came in between, or its last slot: what is asked for here may have been
        asked for because of what was read.
        """
        self._check_function(action)
        if name is not None:
            check_text(name, "the name of a job", longest=MAX_NAME)

        async def apply(job: Job) -> Job:
            now = self.clock.ms()
            new = trigger
            if new is not None:
                session = await self.store.session_by_id(job.session_id)
                new = self._resolved(new, session, now)
            edited = replace(
                job,
                name=name or job.name,
                trigger=new or job.trigger,
                action=action or job.action,
                policy=policy or job.policy,
            )
            if job.state is JobState.ACTIVE and new:
                edited = _aimed(edited, now)
            elif policy and job.slot is not None:
                # The slot stays, for it may be due already: every slot ends as a row.
                edited = _aimed_at(edited, to_moment(job.slot))
            return await self._change(edited)

        return await self._apply(job_id, owner, apply, unless_edited=True)

    async def skip(self, job_id: str, *, owner: Asker = OPERATOR) -> Job:
        """Let the next slot go by; it is recorded as skipped."""

        async def apply(job: Job) -> Job:
            _refuse_protected(job)
            if job.state is not JobState.ACTIVE or job.slot is None:
                raise Conflict(f"job {job_id} has no next slot to skip")
            now = self.clock.ms()
            taken = await self.store.commit(fire.pass_over, job, _skipped(job, job.slot, now), now)
            if taken is None:
                raise ChangedMeanwhile(f"job {job_id} was changed meanwhile; read it again")
            self.hub.publish(taken.events)
            self.bell.ring(Name.TIMER)
            return await self.store.job(job_id)

        return await self._apply(job_id, owner, apply)

    async def remove(self, job_id: str, *, owner: Asker = OPERATOR) -> Job:
        """No start after this returns; a run that has started goes on to its end."""

        async def apply(job: Job) -> Job:
            _refuse_protected(job)
            removed = await self.store.commit(jobs.remove, job, "its job was removed", self.clock.ms())
            return self._changed(removed)

        return await self._apply(job_id, owner, apply)

    async def _apply(
        self,
        job_id: str,
        owner: Asker,
        apply: Callable[[Job], Awaitable[Job]],
        *,
        unless_edited: bool = False,
    ) -> Job:
        """Read a job and apply a verb to it. When the job fired in between, read and apply again."""
        job = await self.job(job_id, owner=owner)
        for _ in range(_MOST_READS - 1):
            try:
                return await apply(job)
            except ChangedMeanwhile:
                again = await self.job(job_id, owner=owner)
                if unless_edited and _content(again) != _content(job):
                    raise
                job = again
        return await apply(job)

    async def _set_going(self, job: Job) -> Job:
        if job.state is not JobState.PAUSED:
            return job
        now = self.clock.ms()
        active = _aimed(replace(job, state=JobState.ACTIVE, state_reason=None, failures=0), now)
        return self._changed(await self.store.commit(jobs.change, active, now))

    def _home(self, key: str, kind: JobKind) -> str:
        """Whose a job is that is made in a session: that session's, unless all chats own their jobs."""
        together = self.settings.unified_owner is UnifiedOwner.UNIFIED and self.is_shared(key)
        return unified.KEY if together and kind is JobKind.CRON else key

    def _check_function(self, action: Action | None) -> None:
        if isinstance(action, Call) and action.function not in self.functions:
            raise BadSetting(
                f"no function is registered as {action.function!r}; give it to Kernel(functions=…)"
            )

    def _resolved(self, trigger: Trigger, session: Session | None, now: int) -> Trigger:
        return resolve(trigger, now=to_moment(now), zone=self.zone_in(session))

    async def _made_once(
        self, request: Request | None, work: Callable[[], Transaction[Changed]], now: int
    ) -> Job:
        """The job that the work makes, or made when it was asked for under the same name before."""
        return self._changed(await self.store.commit(once, request, work, now, keep=_kept, again=_again))

    async def _change(self, job: Job) -> Job:
        _refuse_protected(job)
        return self._changed(await self.store.commit(jobs.change, job, self.clock.ms()))

    def _changed(self, changed: Changed) -> Job:
        self.hub.publish(changed.events)
        # The courier too: a message that is taken back may have been what others waited behind.
        self.bell.ring(Name.TIMER, Name.COURIER)
        if changed.ready is not None:
            self.bell.ring(Name.USER, Name.SCHEDULE)
        return changed.job


def _kept(changed: Changed) -> Mapping[str, Any]:
    return {"job_id": changed.job.id}


def _again(kept: Mapping[str, Any]) -> Transaction[Changed]:
    return Changed(job=(yield from jobs.load(kept["job_id"])))


def _aimed(job: Job, now: int) -> Job:
    """At its first slot from now on, or BadTrigger when there is none to come."""
    slot = job.trigger.first(to_moment(now))
    if slot is None:
        raise BadTrigger(f"{job.trigger} names no moment that is still to come")
    return _aimed_at(job, slot)


def _aimed_at(job: Job, slot: datetime) -> Job:
    if job.policy.until is not None and slot > job.policy.until:
        raise BadTrigger(f"the first slot of {job.trigger} lies after the policy's until")
    look_at = to_ms(jittered(slot, job.policy, job.id))
    return replace(job, slot=to_ms(slot), next_at=look_at, state_reason=None)


def _content(job: Job) -> tuple[object, ...]:
    """What people set, and whether the job is still going."""
    return job.name, job.trigger, job.action, job.policy, job.state


def _skipped(job: Job, next_slot: int, now: int) -> Pass:
    slot = to_moment(next_slot)
    relative = keeps_no_appointments(job.trigger)
    later = job.trigger.next_after(max(slot, to_moment(now)) if relative else slot)
    return Pass(
        slot=slot,
        outcome=Outcome.SKIPPED,
        reason="skipped by request",
        next=later,
        end=None if later else End.PASSED_OVER,
    )


def _refuse_protected(job: Job) -> None:
    if job.protected:
        raise Conflict(f"job {job.id} belongs to the system and cannot be changed")


def _second_target(action: Action) -> str | None:
    return action.to if isinstance(action, Ask) else None


def _refuse_second_target(action: Action, kind: JobKind | None) -> None:
    elsewhere = isinstance(action, Ask) and (action.to is not None or action.channel_meta is not None)
    if elsewhere and kind is not JobKind.LEGACY:
        raise BadSetting("a job speaks in the session it belongs to; only a legacy one has another target")


def _title(action: Action) -> str:
    match action:
        case Ask(prompt=words) | Say(text=words):
            return words.strip().splitlines()[0][:80]
        case Call(function=function):
            return function


# MERGED: """Automating: a user's cron jobs, within the limits that users have, and why they ran or did not."""


_MOST_BLOCKERS = 10

_AUTOMATIONS = (JobKind.CRON, JobKind.LEGACY)


class Automating(Ordering):
    async def automate(
        self,
        key: str,
        trigger: Trigger,
        message: str,
        *,
        name: str | None = None,
        policy: Policy | None = None,
        mode: Mode = Mode.TURN,
        view: View = View.FULL,
        owner: Asker = OPERATOR,
        request: Request | None = None,
    ) -> Job:
        """A user's cron job: as `schedule`, but not too often, and not too many in a session."""
        now = self.clock.ms()
        action = Ask(check_text(message, "the message"), mode=mode, view=view)
        session, whose = await self._owned(key, owner)
        job = self._drafted(session, trigger, action, now, name=name, policy=policy, account=whose.account)
        self._check_rhythm(job.trigger, now)
        work = partial(
            jobs.create,
            whose,
            self._home(key, job.kind),
            job,
            new_session_id=self.ids(now),
            most=self.settings.jobs_per_session,
        )
        return await self._made_once(request, work, now)

    async def automation(self, job_id: str, *, owner: Asker = OPERATOR) -> Job:
        """One of the jobs that people read as automations, or a protected one of the system."""
        job = await self.job(job_id, owner=owner)
        if job.kind not in _AUTOMATIONS and not job.protected:
            raise NotFound(f"there is no automation {job_id}")
        return job

    async def automations(
        self,
        key: str,
        *,
        owner: Asker = OPERATOR,
        limit: int = 100,
        before: Place = NEWEST,
        ended: bool = False,
    ) -> list[Job]:
        """A session's own, the newest first; `ended` shows those too that are over."""
        session = await self.session(key, owner=owner)
        found = await self.store.automations(session.id, limit=limit, before=before, ended=ended)
        if (shared := await self.shared_jobs_of(session)) is None:
            return found
        found += await self.store.automations(shared.id, limit=limit, before=before, ended=ended)
        return sorted(found, key=lambda job: (job.created_at, job.id), reverse=True)[:limit]

    async def protected(self, *, owner: Asker = OPERATOR, limit: int = 100) -> list[Job]:
        """The system's own jobs, which nobody may change."""
        return await self.store.protected_jobs(owner.own, limit)

    async def amend(
        self,
        job_id: str,
        *,
        name: str | None = None,
        trigger: Trigger | None = None,
        message: str | None = None,
        policy: Policy | None = None,
        mode: Mode | None = None,
        view: View | None = None,
        owner: Asker = OPERATOR,
    ) -> Job:
        """Change what is given of an automation, within the limits that users have."""
        job = await self.automation(job_id, owner=owner)
        if job.state is JobState.ENDED:
            raise Conflict(f"job {job_id} is over ({job.state_reason}); make a new one instead")
        if trigger is not None:
            session = await self.store.session_by_id(job.session_id)
            now = self.clock.ms()
            trigger = self._resolved(trigger, session, now)
            self._check_rhythm(trigger, now)
        action = None
        if isinstance(before := job.action, Ask) and (message, mode, view) != (None, None, None):
            said = before.prompt if message is None else check_text(message, "the message")
            action = replace(before, prompt=said, mode=mode or before.mode, view=view or before.view)
        return await self.edit(job_id, name=name, trigger=trigger, action=action, policy=policy, owner=owner)

    async def explain(
        self, job_id: str, *, slot: datetime | None = None, owner: Asker = OPERATOR
    ) -> Explanation:
        """Why a slot ran or did not, or without one, how the job stands; and what comes next."""
        job = await self.store.job(job_id)
        session = await self.store.session_by_id(job.session_id)
        if not owner.reaches(
            session.owner
        ):  # one that was removed is explained too: its runs are still there
            raise NotFound(f"there is no job {job_id}")
        return explain(await self._facts(job, session, slot))

    async def _facts(self, job: Job, session: Session, asked: datetime | None) -> Facts:
        run = await self._run_of(job, asked)
        turn = await self._turn_of(run)
        lane = turn.session_id if turn else session.id
        held_up_by = await self.store.turns_before(turn, _MOST_BLOCKERS) if turn else []
        return Facts(
            job=job,
            session=session,
            now=to_moment(self.clock.ms()),
            zone=self.zone_in(session) or "UTC",
            run=run,
            asked=asked,
            turn=turn,
            running=await self.store.running_turn(lane),
            queued=await self.store.queued_turns(lane),
            held_up_by=held_up_by,
            at_work=await self.store.running_turns(),
            runners=self.settings.runners,
        )

    async def _run_of(self, job: Job, asked: datetime | None) -> Run | None:
        """Of that slot, or one that stands for it; without a slot, the newest."""
        if asked is None:
            newest = await self.store.runs_of_job(job.id, 1)
            return newest[0] if newest else None
        found = await self.store.runs_of_job(job.id, 1, before=to_ms(asked) + 1)
        return found[0] if found and stands_for(found[0], job, asked) else None

    async def _turn_of(self, run: Run | None) -> Turn | None:
        if run is None or run.turn_id is None:
            return None
        try:
            return await self.store.turn(run.turn_id)
        except NotFound:  # records of turns are pruned before those of runs
            return None

    def _check_rhythm(self, trigger: Trigger, now: int) -> None:
        check_rhythm(trigger, timedelta(seconds=self.settings.least_interval_seconds), to_moment(now))
