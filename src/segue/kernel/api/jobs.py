"""Jobs: makes, reads, changes, pauses, resumes, skips, explains and deletes them."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import TypeAlias

from segue.errors import ChangedMeanwhile, Conflict, DuplicateId, NotFound, NotHere, NotPrivateChat
from segue.kernel.api.context import OPERATOR, ApiContext, SessionRef
from segue.kernel.api.cost.budgets import check_price, raise_budget
from segue.kernel.api.cost.forecasts import Preview, forecast_session, preview
from segue.kernel.api.explain_facts import gather_facts, unmet_conditions
from segue.kernel.transactions import fire, jobs
from segue.kernel.transactions.idempotency import Request
from segue.model.action import Action, Ask
from segue.model.cost.forecast import Forecast
from segue.model.explain import Explanation, explain
from segue.model.policy import Policy
from segue.model.prompts import Mode
from segue.model.records import NEWEST, Asker, Job, Owner, PageStart, Session
from segue.model.schedule import check_rhythm, skipped_slot, with_first_slot, with_slot
from segue.model.states import JobKind, JobState
from segue.model.text_checks import MAX_NAME, check_text
from segue.record import positional
from segue.times.clock import to_moment
from segue.times.trigger import At, Trigger

_MOST_READS = 10
"""How often a change reads the job again because another writer was faster."""

_AUTOMATIONS = (JobKind.CRON, JobKind.LEGACY)


@positional
class OwnedJob:
    """A job and the session that it belongs to. Pass it on instead of the id: the owner was checked."""

    job: Job
    session: Session


JobRef: TypeAlias = str | OwnedJob
"""A job's id, or a job that the caller has loaded."""


class JobsApi:
    """Triggers with an action and a policy, in a session: `kernel.jobs`."""

    def __init__(self, context: ApiContext) -> None:
        self._context = context

    async def add(
        self,
        key: SessionRef,
        trigger: Trigger,
        action: Action,
        *,
        name: str | None = None,
        policy: Policy | None = None,
        kind: JobKind | None = None,
        owner: Asker = OPERATOR,
        job_id: str | None = None,
        protected: bool = False,
        limits: bool = False,
        request: Request | None = None,
    ) -> Job:
        """Makes a job in a session, and returns the `Job`. A missing session is made.

        The default name is the first line of the action's text. A protected job belongs to the system: no
        caller can change, skip or delete it; if one of that `job_id` exists it is returned, and resumed if it
        was paused. `limits` applies the limits for users of the settings: how often a job runs, and how many
        a session has. Raises `BadKey`, `BadText`, `BadTime`, `BadTrigger`, `DuplicateId`, `TooManyJobs`;
        `NotHere` for a condition on a job of another session; `NotPrivateChat` for the mode `say` in a group;
        `BadSetting` for a `Call` of a function and `UnknownModel` for a model that this kernel does not have;
        `Conflict` for a second active job of kind `recall` in one session.
        """
        context = self._context
        now = context.clock.ms()
        session, job_owner = await self._session_and_owner(key, owner, answers_in=_second_target(action))
        job = context.draft(
            session,
            await context.with_days(trigger, job_owner.account),
            action,
            now,
            owner=job_owner,
            name=name,
            policy=policy,
            kind=kind,
            job_id=job_id,
        )
        if limits:
            self._check_rhythm(job.trigger, now)
        if job.policy.budget is not None:
            await check_price(context, job.policy.budget, job.action, None)
        await self._check_conversation(job, session)
        work = partial(
            jobs.create,
            job_owner,
            context.owning_key(key if isinstance(key, str) else key.key, job.kind),
            replace(job, protected=protected),
            new_session_id=context.ids(now),
            most=context.settings.jobs_per_session if limits else None,
        )
        try:
            return await context.create_once(request, work, now)
        except DuplicateId:
            if not protected:
                raise
            return await self._apply(job.id, owner, self._resume_protected)

    async def preview(
        self,
        key: SessionRef,
        trigger: Trigger,
        action: Action,
        *,
        name: str | None = None,
        policy: Policy | None = None,
        limits: bool = False,
        owner: Asker = OPERATOR,
    ) -> Preview:
        """Returns what `add` would make: a `Preview` with the `job`, its `next` runs, the tokens of its
        prompt and of the session's context now, and `warnings`. Nothing is stored. Raises what `add` raises.
        """
        context = self._context
        now = context.clock.ms()
        session, job_owner = await self._session_and_owner(key, owner)
        trigger = await context.with_days(trigger, job_owner.account)
        job = context.draft(session, trigger, action, now, owner=job_owner, name=name, policy=policy)
        if limits:
            self._check_rhythm(job.trigger, now)
        if job.policy.budget is not None:
            await check_price(context, job.policy.budget, job.action, None)
        return await preview(context, session, job)

    async def _session_and_owner(
        self, key: SessionRef, owner: Asker, *, answers_in: str | None = None
    ) -> tuple[Session | None, Owner]:
        """The session that a job is made in, and the owner of the job, which is the session's.

        `answers_in`: the session in which a legacy job answers. Its owner owns the job; otherwise the answer
        could show one user's memories to another.
        """
        if answers_in is not None:
            _, owner = await self._session_and_owner(answers_in, owner)
        if isinstance(key, Session):
            return key, key.owner
        session = await self._context.find(key, owner)
        if session is None:
            return None, owner.lookup(key, self._context.networks).owner
        return session, session.owner

    async def load(
        self, job: JobRef, *, kind: JobKind | None = None, removed: bool = False, owner: Asker = OPERATOR
    ) -> OwnedJob:
        """Returns a job with its session, to be passed to the other methods. Raises `NotFound`.

        `kind` is as in `get`. A removed job is found only with `removed`.
        """
        if isinstance(job, OwnedJob):
            return job
        found = await self._context.store.job(job)
        session = await self._context.session_of(found.session_id, owner, f"job {job}")
        if found.state is JobState.REMOVED and not removed:
            raise NotFound(f"there is no job {job}")
        if kind is not None and not _is_of(kind, found):
            raise NotFound(f"there is no {'automation' if kind is JobKind.CRON else kind} {job}")
        return OwnedJob(found, session)

    async def get(self, job_id: str, *, kind: JobKind | None = None, owner: Asker = OPERATOR) -> Job:
        """Returns the `Job` of an id. Raises `NotFound`, also for a removed job.

        `kind` finds only jobs of that kind; `cron` stands for all that the HTTP API calls automations: also
        imported jobs (`legacy`) and protected jobs of the system.
        """
        return (await self.load(job_id, kind=kind, owner=owner)).job

    async def is_taken(self, job_id: str) -> bool:
        """Returns whether any owner has a job of that id."""
        try:
            await self._context.store.job(job_id)
        except NotFound:
            return False
        return True

    async def update(
        self,
        job: JobRef,
        *,
        name: str | None = None,
        trigger: Trigger | None = None,
        action: Action | None = None,
        policy: Policy | None = None,
        limits: bool = False,
        owner: Asker = OPERATOR,
    ) -> Job:
        """Changes the given fields of a job, and returns the `Job`.

        A new trigger counts from now; a new policy keeps the next slot. `limits` is as in `add`. Raises what
        `add` raises, `NotFound`, `Conflict` for an ended or protected job, and `ChangedMeanwhile` (a
        `Conflict`) when another edit came in between or the job ended. A run that fired in between is no
        conflict.
        """
        self._context.check_action(action)
        if name is not None:
            check_text(name, "the name of a job", longest=MAX_NAME)
        found = await self.load(job, owner=owner)
        now = self._context.clock.ms()
        new = None
        if trigger is not None:
            trigger = await self._context.with_days(trigger, found.job.account)
            new = self._context.resolve(trigger, found.session, now)
        if new is not None and limits:
            self._check_rhythm(new, now)
        if policy is not None and policy.budget is not None:
            await check_price(self._context, policy.budget, action or found.job.action, found.job.id)

        async def apply(job: Job) -> Job:
            if job.state is JobState.ENDED:
                raise Conflict(f"job {job.id} is over ({job.state_reason}); make a new one instead")
            edited = replace(
                job,
                name=name or job.name,
                trigger=new or job.trigger,
                action=action or job.action,
                policy=policy or job.policy,
            )
            await self._check_conversation(edited, found.session)
            if job.state is JobState.ACTIVE and new:
                start = now if isinstance(new, At) else await self._context.skipped_until(job, now)
                edited = with_first_slot(edited, start)
            elif policy and job.slot is not None:
                # Keep the slot: it may be due already, and every slot must end as a row.
                edited = with_slot(edited, to_moment(job.slot))
            return await self._change(edited)

        return await self._apply(found, owner, apply, unless_edited=True)

    async def pause(self, job: JobRef, *, reason: str = "paused by request", owner: Asker = OPERATOR) -> Job:
        """Pauses a job: it has no slot until it is resumed. Returns the `Job`.

        A run that waits or runs goes on. Raises `Conflict` when the job is not active or is protected,
        `NotFound`.
        """

        async def apply(job: Job) -> Job:
            if job.state is not JobState.ACTIVE:
                raise Conflict(f"job {job.id} is {job.state}; only an active one can be paused")
            return await self._change(
                replace(job, state=JobState.PAUSED, state_reason=reason, slot=None, next_at=None)
            )

        return await self._apply(job, owner, apply)

    async def resume(self, job: JobRef, *, owner: Asker = OPERATOR) -> Job:
        """Resumes a paused job from now on, with its failures reset to zero. Returns the `Job`.

        A one-shot job whose moment has passed is late, and its policy decides. Raises `Conflict` when the job
        is not paused or is protected, `BadTrigger` when no slot is left, `NotFound`.
        """

        async def apply(job: Job) -> Job:
            if job.state is not JobState.PAUSED:
                raise Conflict(f"job {job.id} is {job.state}; only a paused one can be resumed")
            active = replace(job, state=JobState.ACTIVE, state_reason=None, failures=0)
            if isinstance(job.trigger, At):
                # Its moment may have passed: the policy decides how late is too late.
                return await self._change(with_slot(active, job.trigger.moment))
            start = await self._context.skipped_until(job, self._context.clock.ms())
            return await self._change(with_first_slot(active, start))

        return await self._apply(job, owner, apply)

    async def skip(self, job: JobRef, *, owner: Asker = OPERATOR) -> Job:
        """Skips the job's next slot, which is recorded as skipped. Returns the `Job`.

        Raises `Conflict` when there is no next slot or the job is protected, `NotFound`.
        """
        context = self._context

        async def apply(job: Job) -> Job:
            _refuse_protected(job)
            if job.state is not JobState.ACTIVE or job.slot is None:
                raise Conflict(f"job {job.id} has no next slot to skip")
            now = context.clock.ms()
            skipped = await context.store.commit(fire.pass_over, job, skipped_slot(job, job.slot, now), now)
            if skipped is None:
                raise ChangedMeanwhile(f"job {job.id} was changed meanwhile; read it again")
            context.announce(skipped)
            return await context.store.job(job.id)

        return await self._apply(job, owner, apply)

    async def delete(self, job: JobRef, *, owner: Asker = OPERATOR) -> Job:
        """Deletes a job: no run of it starts after this returns. Returns the removed `Job`.

        A waiting run and an unsent message are cancelled; a run that has started goes on to its end. The
        records of its runs stay. Raises `Conflict` for a protected job, `NotFound`.
        """
        context = self._context

        async def apply(job: Job) -> Job:
            _refuse_protected(job)
            removed = await context.store.commit(jobs.remove, job, "its job was removed", context.clock.ms())
            return context.announce(removed)

        return await self._apply(job, owner, apply)

    async def explain(
        self, job: JobRef, *, slot: datetime | None = None, owner: Asker = OPERATOR
    ) -> Explanation:
        """Returns why a slot ran, waited, was skipped or missed; without a slot, the state of the job.

        The `Explanation` has a `verdict`, `sentences` for people (`text`), the `facts` that decided it, and
        the `next` five moments. A removed job is explained too, as its runs still exist. Raises `NotFound`.
        """
        found = await self.load(job, removed=True, owner=owner)
        return explain(await gather_facts(self._context, found.job, found.session, slot))

    async def forecast(self, key: SessionRef, *, days: int = 30, owner: Asker = OPERATOR) -> Forecast:
        """Returns what the session's active jobs will do in the next 1 to 366 days, and what that costs.

        Nothing is written and no model is asked. More than 5,000 slots are counted, not listed. Raises
        `BadTime` for other numbers of days, `NotFound`.
        """
        return await forecast_session(self._context, await self._context.session(key, owner), days)

    async def raise_budget(self, job: JobRef, *, owner: Asker = OPERATOR) -> Job:
        """Gives a job's budget as much again until its period ends. Raises `Conflict` if it has none."""
        found = await self.load(job, owner=owner)
        await raise_budget(self._context, found.session, found.job)
        return found.job

    async def pending(self, session: Session) -> frozenset[str]:
        """Returns the ids of the session's jobs that have a queued or running run."""
        return frozenset(await self._context.store.jobs_at_work(session.id))

    async def unmet(self, job: Job, session: Session) -> str | None:
        """Returns why conditions rule out the next slot if nothing more is said; None if they do not."""
        return await unmet_conditions(self._context, job, session) if job.policy.when else None

    async def protected(self, *, owner: Asker = OPERATOR, limit: int = 100) -> list[Job]:
        """Returns the system's own jobs in the owner's sessions."""
        return await self._context.store.protected_jobs(owner.own, limit)

    async def list(
        self,
        key: SessionRef,
        *,
        kind: JobKind | None = None,
        ended: bool = False,
        owner: Asker = OPERATOR,
        limit: int = 100,
        before: PageStart = NEWEST,
    ) -> list[Job]:
        """Returns a session's active and paused jobs, newest first; with `ended`, the ended ones too.

        `kind` lists only jobs of that kind; `cron` stands for imported jobs (`legacy`) too. `before` is the
        `page_start` of the last one of the previous page. Raises `NotFound`.
        """
        store = self._context.store
        session = await self._context.session(key, owner)
        own = await store.jobs(session.id, kind=kind, limit=limit, before=before, ended=ended)
        if (shared := await self._context.shared_jobs_of(session)) is None:
            return own
        own += await store.jobs(shared.id, kind=kind, limit=limit, before=before, ended=ended)
        return sorted(own, key=lambda job: job.page_start, reverse=True)[:limit]

    async def is_listed_in(self, job: OwnedJob, key: SessionRef, *, owner: Asker = OPERATOR) -> bool:
        """Returns whether `list` shows a job in this session: as its own, or as a shared one."""
        session = await self._context.session(key, owner)
        if job.session.id == session.id:
            return True
        shared = await self._context.shared_jobs_of(session)
        return shared is not None and job.session.id == shared.id

    async def _apply(
        self,
        ref: JobRef,
        owner: Asker,
        apply: Callable[[Job], Awaitable[Job]],
        *,
        unless_edited: bool = False,
    ) -> Job:
        """Apply a change to a job. When the job fired in between, read it and apply the change again."""
        job = (await self.load(ref, owner=owner)).job
        for _ in range(_MOST_READS - 1):
            try:
                return await apply(job)
            except ChangedMeanwhile:
                again = await self._context.store.job(job.id)
                if again.state is JobState.REMOVED:
                    raise NotFound(f"there is no job {job.id}") from None
                if unless_edited and _content(again) != _content(job):
                    raise
                job = again
        return await apply(job)

    async def _change(self, job: Job) -> Job:
        _refuse_protected(job)
        return await self._store(job, self._context.clock.ms())

    async def _store(self, job: Job, now: int) -> Job:
        changed = await self._context.store.commit(jobs.change, job, now)
        if changed.value.next_at is not None:
            # The moment of a resumed job may have passed, and a new policy may move a due slot back.
            self._context.store.is_due(changed.value.next_at)
        return self._context.announce(changed)

    async def _resume_protected(self, job: Job) -> Job:
        if job.state is not JobState.PAUSED:
            return job
        now = self._context.clock.ms()
        active = replace(job, state=JobState.ACTIVE, state_reason=None, failures=0)
        return await self._store(with_first_slot(active, now), now)

    async def _check_conversation(self, job: Job, session: Session | None) -> None:
        """Raises `NotPrivateChat` and `NotHere`."""
        says = isinstance(job.action, Ask) and job.action.mode is Mode.SAY
        if says and session is not None and session.chat_type != "private":
            raise NotPrivateChat(
                f"{session.key} is a group, and the mode say is for chats with one person; use the mode turn"
            )
        for named in {condition.job for condition in job.policy.when or () if condition.job}:
            try:
                other = await self._context.store.job(named)
            except NotFound:
                other = None
            here = session is not None and other is not None and other.session_id == session.id
            if not here or named == job.id:
                raise NotHere(
                    f"a condition looks at another job of the same session, and {named} is not one; the list "
                    "of the session's jobs has their ids"
                )

    def _check_rhythm(self, trigger: Trigger, now: int) -> None:
        least = timedelta(seconds=self._context.settings.least_interval_seconds)
        check_rhythm(trigger, least, to_moment(now))


def _is_of(kind: JobKind, job: Job) -> bool:
    if kind is JobKind.CRON:
        return job.kind in _AUTOMATIONS or job.protected
    return job.kind is kind


def _content(job: Job) -> tuple[object, ...]:
    """The fields that users set, and the state: a difference means that a user changed the job."""
    return job.name, job.trigger, job.action, job.policy, job.state


def _refuse_protected(job: Job) -> None:
    if job.protected:
        raise Conflict(f"job {job.id} belongs to the system and cannot be changed")


def _second_target(action: Action) -> str | None:
    return action.to if isinstance(action, Ask) else None
