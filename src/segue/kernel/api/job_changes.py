"""Makes, changes, pauses, resumes, skips and removes jobs."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from segue.errors import BadSetting, BadTrigger, ChangedMeanwhile, Conflict, DuplicateId
from segue.kernel.api.base import OPERATOR, ApiBase
from segue.kernel.transactions import fire, jobs, unified
from segue.kernel.transactions.idempotency import Request, run_once
from segue.kernel.transactions.result import Name, Result
from segue.model.action import Action, Ask, Call, Say
from segue.model.decision import End, PassOver, keeps_no_appointments
from segue.model.policy import Policy, jittered
from segue.model.records import Asker, Job, Owner, Session
from segue.model.states import JobKind, JobState, Outcome, UnifiedOwner
from segue.model.text_checks import MAX_NAME, check_text
from segue.store.database import Transaction
from segue.times.clock import to_moment, to_ms
from segue.times.trigger import At, Trigger, resolve

_MOST_READS = 10
"""How often a change reads the job again because another writer was faster."""

_KINDS = {Ask: JobKind.CRON, Say: JobKind.MESSAGE, Call: JobKind.SYSTEM}


class JobsBase(ApiBase):
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
        """Makes a job in a session, and returns the `Job`. A missing session is made.

        The default name is the first line of the action's text. A protected job cannot be changed, skipped
        or removed by a caller. Raises `BadKey`, `BadText`, `BadTime`, `BadTrigger`, `DuplicateId`;
        `BadSetting` for a `Call` of a function that this kernel does not have; `Conflict` for a second active
        job of kind `recall` in one session.
        """
        now = self.clock.ms()
        session, job_owner = await self._session_and_owner(key, owner, answers_in=_second_target(action))
        job = self._draft(
            session,
            trigger,
            action,
            now,
            name=name,
            policy=policy,
            kind=kind,
            account=job_owner.account,
            job_id=job_id,
        )
        job = replace(job, protected=protected)
        owning_key = self._owning_key(key, job.kind)
        return self.workers.context.announce(
            await self.store.commit(jobs.create, job_owner, owning_key, job, new_session_id=self.ids(now))
        )

    async def _session_and_owner(
        self, key: str, owner: Asker, *, answers_in: str | None = None
    ) -> tuple[Session | None, Owner]:
        """The session that a job is made in, and the owner of the job, which is the session's.

        `answers_in`: the session in which a legacy job answers. Its owner owns the job; otherwise the answer
        could show one user's memories to another.
        """
        if answers_in is not None:
            _, owner = await self._session_and_owner(answers_in, owner)
        session = await self.find(key, owner=owner)
        return session, owner.lookup(key, self.networks).owner if session is None else session.owner

    def _draft(
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
        """A checked job with its first slot, not stored yet."""
        self._check_function(action)
        _refuse_second_target(action, kind)
        trigger = self._resolve(trigger, session, now)
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
        return _with_first_slot(job, now)

    async def keep(
        self, key: str, trigger: Trigger, action: Action, *, job_id: str, name: str, owner: Asker = OPERATOR
    ) -> Job:
        """Makes a protected job of the system under a fixed id, or resumes it if it was paused.

        Returns the `Job`. Raises what `schedule` raises, except `DuplicateId`.
        """
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
            return await self._apply(job_id, owner, self._resume_protected)

    async def pause(self, job_id: str, *, reason: str = "paused by request", owner: Asker = OPERATOR) -> Job:
        """Pauses a job: it has no slot until it is resumed. Returns the `Job`.

        A run that waits or runs goes on. Raises `Conflict` when the job is not active or is protected,
        `NotFound`.
        """

        async def apply(job: Job) -> Job:
            if job.state is not JobState.ACTIVE:
                raise Conflict(f"job {job_id} is {job.state}; only an active one can be paused")
            return await self._change(
                replace(job, state=JobState.PAUSED, state_reason=reason, slot=None, next_at=None)
            )

        return await self._apply(job_id, owner, apply)

    async def resume(self, job_id: str, *, owner: Asker = OPERATOR) -> Job:
        """Resumes a paused job from now on, with its failures reset to zero. Returns the `Job`.

        A one-shot job whose moment has passed is late, and its policy decides. Raises `Conflict` when the job
        is not paused or is protected, `BadTrigger` when no slot is left, `NotFound`.
        """

        async def apply(job: Job) -> Job:
            if job.state is not JobState.PAUSED:
                raise Conflict(f"job {job_id} is {job.state}; only a paused one can be resumed")
            active = replace(job, state=JobState.ACTIVE, state_reason=None, failures=0)
            if isinstance(job.trigger, At):
                # Its moment may have passed: the policy decides how late is too late.
                return await self._change(_with_slot(active, job.trigger.moment))
            return await self._change(_with_first_slot(active, self.clock.ms()))

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
        """Changes the given fields of a job, and returns the `Job`.

        A new trigger counts from now; a new policy keeps the next slot. Raises what `schedule` raises,
        `NotFound`, and `ChangedMeanwhile` (a `Conflict`) when another edit came in between or the job ended.
        A run that fired in between is no conflict.
        """
        self._check_function(action)
        if name is not None:
            check_text(name, "the name of a job", longest=MAX_NAME)

        async def apply(job: Job) -> Job:
            now = self.clock.ms()
            new = trigger
            if new is not None:
                session = await self.store.session_by_id(job.session_id)
                new = self._resolve(new, session, now)
            edited = replace(
                job,
                name=name or job.name,
                trigger=new or job.trigger,
                action=action or job.action,
                policy=policy or job.policy,
            )
            if job.state is JobState.ACTIVE and new:
                edited = _with_first_slot(edited, now)
            elif policy and job.slot is not None:
                # Keep the slot: it may be due already, and every slot must end as a row.
                edited = _with_slot(edited, to_moment(job.slot))
            return await self._change(edited)

        return await self._apply(job_id, owner, apply, unless_edited=True)

    async def skip(self, job_id: str, *, owner: Asker = OPERATOR) -> Job:
        """Skips the job's next slot, which is recorded as skipped. Returns the `Job`.

        Raises `Conflict` when there is no next slot or the job is protected, `NotFound`.
        """

        async def apply(job: Job) -> Job:
            _refuse_protected(job)
            if job.state is not JobState.ACTIVE or job.slot is None:
                raise Conflict(f"job {job_id} has no next slot to skip")
            now = self.clock.ms()
            skipped = await self.store.commit(fire.pass_over, job, _skip_slot(job, job.slot, now), now)
            if skipped is None:
                raise ChangedMeanwhile(f"job {job_id} was changed meanwhile; read it again")
            self.workers.context.announce(skipped)
            self.bell.ring(Name.TIMER)
            return await self.store.job(job_id)

        return await self._apply(job_id, owner, apply)

    async def remove(self, job_id: str, *, owner: Asker = OPERATOR) -> Job:
        """Removes a job: no run of it starts after this returns. Returns the removed `Job`.

        A waiting run and an unsent message are cancelled; a run that has started goes on to its end. The
        records of its runs stay. Raises `Conflict` for a protected job, `NotFound`.
        """

        async def apply(job: Job) -> Job:
            _refuse_protected(job)
            removed = await self.store.commit(jobs.remove, job, "its job was removed", self.clock.ms())
            return self.workers.context.announce(removed)

        return await self._apply(job_id, owner, apply)

    async def _apply(
        self,
        job_id: str,
        owner: Asker,
        apply: Callable[[Job], Awaitable[Job]],
        *,
        unless_edited: bool = False,
    ) -> Job:
        """Read a job and apply a change to it. When the job fired in between, read and apply again."""
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

    async def _resume_protected(self, job: Job) -> Job:
        if job.state is not JobState.PAUSED:
            return job
        now = self.clock.ms()
        active = _with_first_slot(replace(job, state=JobState.ACTIVE, state_reason=None, failures=0), now)
        return self.workers.context.announce(await self.store.commit(jobs.change, active, now))

    def _owning_key(self, key: str, kind: JobKind) -> str:
        """The key of the session that owns a new job: the given one, or in unified mode the common one."""
        shared = self.settings.unified_owner is UnifiedOwner.UNIFIED and self.is_shared(key)
        return unified.KEY if shared and kind is JobKind.CRON else key

    def _check_function(self, action: Action | None) -> None:
        if isinstance(action, Call) and action.function not in self.functions:
            raise BadSetting(
                f"no function is registered as {action.function!r}; give it to Kernel(functions=…)"
            )

    def _resolve(self, trigger: Trigger, session: Session | None, now: int) -> Trigger:
        return resolve(trigger, now=to_moment(now), zone=self.zone_in(session))

    async def _create_once(
        self, request: Request | None, work: Callable[[], Transaction[Result[Job]]], now: int
    ) -> Job:
        """The job that the work makes, or that the first request of the same name made."""
        return self.workers.context.announce(
            await self.store.commit(run_once, request, work, now, keep=_to_json, again=_from_json)
        )

    async def _change(self, job: Job) -> Job:
        _refuse_protected(job)
        return self.workers.context.announce(await self.store.commit(jobs.change, job, self.clock.ms()))


def _to_json(changed: Result[Job]) -> Mapping[str, Any]:
    return {"job_id": changed.value.id}


def _from_json(data: Mapping[str, Any]) -> Transaction[Result[Job]]:
    return Result(value=(yield from jobs.load(data["job_id"])))


def _with_first_slot(job: Job, now: int) -> Job:
    """The job with its first slot from now on. Raises BadTrigger when there is none."""
    slot = job.trigger.first(to_moment(now))
    if slot is None:
        raise BadTrigger(f"{job.trigger} names no moment that is still to come")
    return _with_slot(job, slot)


def _with_slot(job: Job, slot: datetime) -> Job:
    if job.policy.until is not None and slot > job.policy.until:
        raise BadTrigger(f"the first slot of {job.trigger} lies after the policy's until")
    look_at = to_ms(jittered(slot, job.policy, job.id))
    return replace(job, slot=to_ms(slot), next_at=look_at, state_reason=None)


def _content(job: Job) -> tuple[object, ...]:
    """The fields that users set, and the state: a difference means that a user changed the job."""
    return job.name, job.trigger, job.action, job.policy, job.state


def _skip_slot(job: Job, next_slot: int, now: int) -> PassOver:
    slot = to_moment(next_slot)
    relative = keeps_no_appointments(job.trigger)
    later = job.trigger.next_after(max(slot, to_moment(now)) if relative else slot)
    return PassOver(
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
