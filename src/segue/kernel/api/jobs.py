"""Cron jobs of a user: made and changed within the limits that users have, and why they ran or did not."""

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

_AUTOMATIONS = (JobKind.CRON, JobKind.LEGACY)


class JobsApi(JobsBase):
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
        """Make a job that asks the agent. As `schedule`, but not too often and not too many in a session; with a
        `request`, once. Raises `BadText`, `BadTime`, `BadTrigger`, `TooManyJobs`.
        """
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
        """One job, if it is an automation or a protected job of the system; otherwise `NotFound`."""
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
        """A session's own, active and paused, the newest first; `ended` shows those too that are over."""
        session = await self.session(key, owner=owner)
        found = await self.store.automations(session.id, limit=limit, before=before, ended=ended)
        if (shared := await self.shared_jobs_of(session)) is None:
            return found
        found += await self.store.automations(shared.id, limit=limit, before=before, ended=ended)
        return sorted(found, key=lambda job: (job.created_at, job.id), reverse=True)[:limit]

    async def protected(self, *, owner: Asker = OPERATOR, limit: int = 100) -> list[Job]:
        """The system's own jobs in this owner's sessions."""
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
        """Change what is given, within the same limits. Raises `Conflict` for a job that is over or protected,
        `NotFound`.
        """
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
        """Why that slot ran, waited, was skipped or missed; without a slot, how the job stands. The
        `Explanation` (`segue.model.explain`) has a `verdict`, `sentences` for people (`text`), the `facts`
        that decided it, and the `next` five moments.
        """
        job = await self.store.job(job_id)
        session = await self.store.session_by_id(job.session_id)
        if not owner.reaches(
            session.owner
        ):  # one that was removed is explained too: its runs are still there
            raise NotFound(f"there is no job {job_id}")
        return explain(await self._facts(job, session, slot))

    async def _facts(self, job: Job, session: Session, asked: datetime | None) -> ExplainFacts:
        run = await self._run_of(job, asked)
        turn = await self._turn_of(run)
        lane = turn.session_id if turn else session.id
        held_up_by = await self.store.turns_before(turn, _MOST_BLOCKERS) if turn else []
        return ExplainFacts(
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
