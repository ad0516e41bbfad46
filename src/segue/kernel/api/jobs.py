"""Users' jobs: makes and changes them within the users' limits, and explains why they ran or did not."""

from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from segue.errors import Conflict, NotFound
from segue.kernel.api.base import OPERATOR
from segue.kernel.api.job_changes import JobsBase
from segue.kernel.transactions import jobs
from segue.kernel.transactions.idempotency import Request
from segue.model.action import Ask, View
from segue.model.explain import ExplainFacts, Explanation, explain, stands_for
from segue.model.policy import Policy
from segue.model.prompts import Mode
from segue.model.records import NEWEST, Asker, Job, Place, Run, Session, Turn
from segue.model.schedule import check_rhythm
from segue.model.states import JobKind, JobState
from segue.model.text_checks import check_text
from segue.times.clock import to_moment, to_ms
from segue.times.trigger import Trigger

_MOST_BLOCKERS = 10

_CRON_JOBS = (JobKind.CRON, JobKind.LEGACY)


class JobsApi(JobsBase):
    async def add_cron_job(
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
        """Makes a job that asks the agent, within the limits for users, and returns the `Job`.

        Unlike `schedule`, it limits how often the job runs and how many jobs a session has. A repeated
        `request` returns the job of the first one. Raises `BadKey`, `BadText`, `BadTime`, `BadTrigger`,
        `TooManyJobs`.
        """
        now = self.clock.ms()
        action = Ask(check_text(message, "the message"), mode=mode, view=view)
        session, job_owner = await self._session_and_owner(key, owner)
        job = self._draft(session, trigger, action, now, name=name, policy=policy, account=job_owner.account)
        self._check_rhythm(job.trigger, now)
        work = partial(
            jobs.create,
            job_owner,
            self._owning_key(key, job.kind),
            job,
            new_session_id=self.ids(now),
            most=self.settings.jobs_per_session,
        )
        return await self._create_once(request, work, now)

    async def cron_job(self, job_id: str, *, owner: Asker = OPERATOR) -> Job:
        """Returns a cron job, or a protected job of the system, by its id. Raises `NotFound`."""
        job = await self.job(job_id, owner=owner)
        if job.kind not in _CRON_JOBS and not job.protected:
            raise NotFound(f"there is no automation {job_id}")
        return job

    async def cron_jobs(
        self,
        key: str,
        *,
        owner: Asker = OPERATOR,
        limit: int = 100,
        before: Place = NEWEST,
        ended: bool = False,
    ) -> list[Job]:
        """Returns a session's active and paused cron jobs, newest first; with `ended`, the ended ones too.

        Raises `NotFound`.
        """
        session = await self.session(key, owner=owner)
        cron_jobs = await self.store.cron_jobs(session.id, limit=limit, before=before, ended=ended)
        if (shared := await self.shared_jobs_of(session)) is None:
            return cron_jobs
        cron_jobs += await self.store.cron_jobs(shared.id, limit=limit, before=before, ended=ended)
        return sorted(cron_jobs, key=lambda job: (job.created_at, job.id), reverse=True)[:limit]

    async def protected(self, *, owner: Asker = OPERATOR, limit: int = 100) -> list[Job]:
        """Returns the system's own jobs in the owner's sessions."""
        return await self.store.protected_jobs(owner.own, limit)

    async def change_cron_job(
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
        """Changes the given fields of a cron job, within the limits for users, and returns the `Job`.

        Raises `Conflict` for an ended or protected job, `NotFound`, and what `add_cron_job` raises.
        """
        job = await self.cron_job(job_id, owner=owner)
        if job.state is JobState.ENDED:
            raise Conflict(f"job {job_id} is over ({job.state_reason}); make a new one instead")
        if trigger is not None:
            session = await self.store.session_by_id(job.session_id)
            now = self.clock.ms()
            trigger = self._resolve(trigger, session, now)
            self._check_rhythm(trigger, now)
        action = None
        if isinstance(before := job.action, Ask) and (message, mode, view) != (None, None, None):
            prompt = before.prompt if message is None else check_text(message, "the message")
            action = replace(before, prompt=prompt, mode=mode or before.mode, view=view or before.view)
        return await self.edit(job_id, name=name, trigger=trigger, action=action, policy=policy, owner=owner)

    async def explain(
        self, job_id: str, *, slot: datetime | None = None, owner: Asker = OPERATOR
    ) -> Explanation:
        """Returns why a slot ran, waited, was skipped or missed; without a slot, the state of the job.

        The `Explanation` has a `verdict`, `sentences` for people (`text`), the `facts` that decided it, and
        the `next` five moments. Raises `NotFound`.
        """
        # Not `self.job`: a removed job is explained too, as its runs still exist.
        job = await self.store.job(job_id)
        session = await self.store.session_by_id(job.session_id)
        if not owner.reaches(session.owner):
            raise NotFound(f"there is no job {job_id}")
        return explain(await self._facts(job, session, slot))

    async def _facts(self, job: Job, session: Session, slot: datetime | None) -> ExplainFacts:
        run = await self._run_of(job, slot)
        turn = await self._turn_of(run)
        lane = turn.session_id if turn else session.id
        held_up_by = await self.store.turns_before(turn, _MOST_BLOCKERS) if turn else []
        return ExplainFacts(
            job=job,
            session=session,
            now=to_moment(self.clock.ms()),
            zone=self.zone_in(session) or "UTC",
            run=run,
            asked=slot,
            turn=turn,
            running=await self.store.running_turn(lane),
            queued=await self.store.queued_turns(lane),
            held_up_by=held_up_by,
            at_work=await self.store.running_turns(),
            runners=self.settings.runners,
        )

    async def _run_of(self, job: Job, slot: datetime | None) -> Run | None:
        """The run that records this slot; without a slot, the newest run."""
        if slot is None:
            newest = await self.store.runs_of_job(job.id, 1)
            return newest[0] if newest else None
        runs = await self.store.runs_of_job(job.id, 1, before=to_ms(slot) + 1)
        return runs[0] if runs and stands_for(runs[0], job, slot) else None

    async def _turn_of(self, run: Run | None) -> Turn | None:
        if run is None or run.turn_id is None:
            return None
        try:
            return await self.store.turn(run.turn_id)
        except NotFound:  # turns are pruned before runs
            return None

    def _check_rhythm(self, trigger: Trigger, now: int) -> None:
        check_rhythm(trigger, timedelta(seconds=self.settings.least_interval_seconds), to_moment(now))
