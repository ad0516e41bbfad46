"""Timer: takes the slots of due jobs and queues their turns. It never waits for a turn.

It reads due jobs without a lock, decides by a pure function of the job's policy (`model.decision`), and takes
the slot by compare-and-set. Any number of timers may run at once: each slot is taken by one of them.
"""

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace
from functools import partial

from segue.errors import NotFound, PriceUnknown
from segue.kernel.live.observers import Observer
from segue.kernel.transactions import fire, unified
from segue.kernel.transactions.fire import OutgoingMessage
from segue.kernel.transactions.guards import conditions
from segue.kernel.transactions.lane import Admission
from segue.kernel.transactions.result import Name, Result
from segue.kernel.workers.reserving import budgets_of, estimate_run, reserving
from segue.kernel.workers.worker_context import WorkerContext
from segue.model.action import Ask, Call, Say
from segue.model.closure import trigger_words
from segue.model.decision import (
    DueSlot,
    Fire,
    PassOver,
    Postpone,
    decide,
    fire_snoozed,
    quiet_rule,
    skipped_instead,
)
from segue.model.policy import Busy, jittered
from segue.model.prompts import Mode, PromptFacts, template_for
from segue.model.quiet.holding import choice_of
from segue.model.records import Source, run_id
from segue.model.states import JobKind, Outcome
from segue.store.queues import DueJob, Unreadable
from segue.times.clock import to_moment, to_ms

_log = logging.getLogger(__name__)


class Timer:
    def __init__(self, context: WorkerContext) -> None:
        self._context = context
        self._store = context.store
        self._bell = context.bell
        self._patience_ms = round(context.settings.patience_seconds * 1000)
        self._unified = context.settings.unified_session

    async def run(self) -> None:
        while True:
            until = await self.step()
            while not await self._bell.wait(Name.TIMER, until):
                until = await self._store.next_due()

    async def step(self) -> int | None:
        """Take what is due. Returns when to run the next step, or None if no job waits."""
        now = self._context.clock.ms()
        tuning = self._context.tuning
        due = await self._store.due_jobs(now, tuning.due_jobs, unified=self._unified)
        if not due:
            return await self._store.next_due()
        # One job that fails must not hold up the others.
        results = await asyncio.gather(*(self._handle(one, now) for one in due), return_exceptions=True)
        errors = [result for result in results if isinstance(result, BaseException)]
        for error in errors:
            _log.error("due job failed, retrying", exc_info=error)
        # If all failed, all are still due: pause, or this loop would retry them without end.
        return now + tuning.retry_ms if len(errors) == len(due) else now

    async def _handle(self, due: DueJob | Unreadable, now: int) -> None:
        if isinstance(due, Unreadable):
            await self._pause_unreadable(due, now)
            return
        try:
            if self._unified and due.job.policy.busy is not Busy.WAIT and due.job.kind in unified.SHARED:
                due = await self._with_common_lane(due)
            decision = await self._decide(due, now)
            taken = await self._act(due, decision, now)
            if taken is not None and taken.value is Outcome.SKIPPED and isinstance(decision, Fire):
                decision = skipped_instead(decision, self._due_slot(due, now), to_moment(now), "budget")
        except NotFound:  # its session and the job were deleted since the read
            return
        if isinstance(decision, (Fire, PassOver)) and decision.next is not None:
            self._store.is_due(to_ms(decision.next))
        if due.job.kind is JobKind.MESSAGE:  # sent or not, later messages may have waited for it
            self._bell.ring(Name.COURIER)
        if taken is not None:
            self._context.announce(taken)
            self._context.observers.tell(partial(_tell, due.job.kind, decision, now))

    async def _pause_unreadable(self, due: Unreadable, now: int) -> None:
        with suppress(NotFound):  # its session and the job were deleted since the read
            self._context.announce(await self._store.commit(fire.pause_unreadable, due, now))

    async def _act(
        self, due: DueJob, decision: Fire | PassOver | Postpone, now: int
    ) -> Result[Outcome | None] | None:
        job, keep = due.job, self._context.settings.runs_per_job
        match decision:
            case Fire():
                return await self._fire(due, decision, now)
            case PassOver():
                return await self._store.commit(fire.pass_over, job, decision, now, keep=keep)
            case Postpone():
                return await self._store.commit(fire.postpone, job, decision, now)

    async def _fire(self, due: DueJob, decision: Fire, now: int) -> Result[Outcome | None] | None:
        job, context = due.job, self._context
        asking = None
        given = (job.policy.budget, due.session_budget, context.settings.account_budget)
        # A written message asks no model and draws on no budget.
        if any(given) and not isinstance(job.action, Say):
            budgets = budgets_of(due, context.settings, now)
            try:
                estimate = await estimate_run(context, due, budgets)
            except PriceUnknown as unknown:
                unpriced = Unreadable(job.id, str(unknown), job)
                return await self._store.commit(fire.pause_unreadable, unpriced, now)
            slot = self._due_slot(due, now)
            asking = reserving(due, decision, slot, estimate, budgets, context.settings, now)
        work = self._make_work(due, decision, now)
        if asking is not None and isinstance(work, Admission):
            work = replace(work, reserved=asking.estimate)
        return await self._store.commit(
            fire.fire,
            job,
            decision,
            work,
            now,
            keep=context.settings.runs_per_job,
            lane_id=context.lane_id(now) if job.kind in unified.SHARED else None,
            asking=asking,
            outbox=context.outbox(now) if asking is not None else None,
        )

    async def _decide(self, due: DueJob, now: int) -> Fire | PassOver | Postpone:
        job = due.job
        if job.snoozed_to is not None and job.snoozed_to <= now:
            slot = None if job.slot is None else to_moment(job.slot)
            return fire_snoozed(job.trigger, to_moment(job.snoozed_to), slot)
        looked_at = self._due_slot(due, now)
        if job.policy.when or job.policy.renew_after:
            looked_at = await self._with_conversation(due, looked_at)
        return decide(looked_at, to_moment(now))

    async def _with_common_lane(self, due: DueJob) -> DueJob:
        """In unified mode, the state of the session that the job's turn runs in."""
        chat = await self._store.session_by_id(due.job.session_id)
        common = await self._store.session(chat.owner, unified.KEY)
        if common is None:
            return replace(due, lane_busy=False, waiting_until=None)
        return replace(due, lane_busy=common.busy, waiting_until=common.waiting_until)

    async def _with_conversation(self, due: DueJob, slot: DueSlot) -> DueSlot:
        """The slot with the facts that conditions look at, of the session that the turn runs in."""
        job, session_id, heard_at = due.job, due.job.session_id, due.heard_at
        if self._unified and job.kind in unified.SHARED:
            chat = await self._store.session_by_id(session_id)
            if common := await self._store.session(chat.owner, unified.KEY):
                session_id, heard_at = common.id, common.last_message_at
        found = await self._store.commit(
            conditions.read_conversation, job, session_id, heard_at, self._zone(due)
        )
        return replace(slot, conversation=found.facts, unanswered_runs=found.unanswered_runs)

    def _zone(self, due: DueJob) -> str:
        tz: str | None = getattr(due.job.trigger, "tz", None)
        return tz or due.session_zone or self._context.settings.timezone or "UTC"

    def _make_work(self, due: DueJob, decision: Fire, now: int) -> Admission | OutgoingMessage:
        job, slot = due.job, to_ms(decision.slot)
        source = Source(kind=job.kind, job_id=job.id, label=job.name, run_id=run_id(job.id, slot))
        action = job.action
        if isinstance(action, Say):
            source = Source(kind="scheduled_send", job_id=job.id, label=job.name, run_id=source.run_id)
            # Messages of a session are sent in the order of these ids: by slot, then by creation.
            return OutgoingMessage(delivery_id=f"{slot:012x}{job.id}", content=action.text, source=source)
        content = job.name
        prompt = call = brief = None
        match action:
            case Ask():
                # A text that is said is not shown before it is said.
                hidden = action.hidden or action.mode is Mode.SAY
                content = trigger_words(job.kind, job.name, action.prompt, hidden=hidden)
                prompt = action.prompt
                brief = self._prompt_facts(due, action, decision)
            case Call():
                call = action.to_json()
                brief = self._prompt_facts(due, action, decision) if job.policy.when else None
        return Admission(
            turn_id=self._context.ids(now),
            content=content,
            prompt=prompt,
            brief=brief,
            call=call,
            source=source,
            rank=now + self._patience_ms,
            not_before=now,
            retries=job.policy.retries,
            crash=job.policy.crash,
            timeout_ms=round(job.policy.timeout_seconds * 1000),
        )

    def _prompt_facts(self, due: DueJob, action: Ask | Call, decision: Fire) -> PromptFacts:
        mode, to = (action.mode, action.to) if isinstance(action, Ask) else (Mode.SAY, None)
        template = template_for(due.job.kind, mode)
        unfinished = due.runs_queued or due.runs_running
        return PromptFacts(
            template=template.id,
            version=template.version,
            slot=to_ms(decision.slot),
            zone=self._zone(due),
            missed=decision.missed.count if decision.missed else 0,
            previous="had not ended when this one came due" if unfinished else due.job.last_outcome,
            mode=mode,
            to=to,
            model=action.model if isinstance(action, Ask) else None,
            look=action.look if isinstance(action, Ask) else None,
            guarded=bool(due.job.policy.when),
            through=decision.extra,
        )

    def _due_slot(self, due: DueJob, now: int) -> DueSlot:
        job, settings = due.job, self._context.settings
        due_at = job.slot if job.slot is not None else job.snoozed_to
        assert due_at is not None  # the query returns only jobs that have one
        assert job.next_at is not None
        slot, next_at = to_moment(due_at), to_moment(job.next_at)
        put_off = next_at > jittered(slot, job.policy, job.id)
        hours = due.quiet or settings.quiet
        zone = due.quiet_zone or settings.timezone or "UTC"
        return DueSlot(
            trigger=job.trigger,
            policy=job.policy,
            slot=slot,
            put_off_until=next_at if put_off else None,
            put_off_because=job.state_reason if put_off else None,
            runs_so_far=job.run_count,
            queued_runs=due.runs_queued,
            running=due.runs_running > 0,
            lane_busy=due.lane_busy,
            waits_for_user=due.waiting_until is not None and due.waiting_until > now,
            last_message_at=None if due.heard_at is None else to_moment(due.heard_at),
            quiet=quiet_rule(choice_of(job), hours, zone) if hours else None,
        )


def _tell(kind: JobKind, decision: Fire | PassOver | Postpone, now: int, observer: Observer) -> None:
    match decision:
        case Fire():
            observer.run_fired(kind, max(0, now - to_ms(decision.slot)))
            if decision.missed is not None:
                observer.run_passed_over(kind, Outcome.MISSED, decision.missed.count)
        case PassOver():
            observer.run_passed_over(kind, decision.outcome, decision.count)
