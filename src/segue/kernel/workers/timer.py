"""The timer: due jobs become runs in the lane. It never waits for a turn.

Due jobs are read without a lock, decided on by a pure function of their policy, and then taken by
compare-and-set: any number of timers may look at once, and each slot is taken by one.
"""

import asyncio
import logging
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import replace

from segue.errors import NotFound
from segue.kernel.live.bell import Bell, Name
from segue.kernel.live.hub import Hub
from segue.kernel.transactions import fire as firing
from segue.kernel.transactions import unified
from segue.kernel.transactions.fire import OutgoingMessage, TakenSlot
from segue.kernel.transactions.lane import Admission
from segue.kernel.transactions.lease import Seat
from segue.kernel.transactions.seats import Seats
from segue.model.action import Ask, Call, Say
from segue.model.closure import trigger_words
from segue.model.decision import DueSlot, Fire, PassOver, Postpone, decide
from segue.model.policy import Busy, jittered
from segue.model.prompts import PromptFacts, template_for
from segue.model.records import Ids, Source, run_id
from segue.model.states import JobKind
from segue.store.queues import DueJob, Unreadable
from segue.store.store import Store
from segue.times.clock import Clock, to_moment, to_ms

_log = logging.getLogger(__name__)

MOST_AT_ONCE = 250
"""As many as SQLite takes into one commit: the first turns of a flood start while the rest is still taken."""

_BREATH_MS = 1000


class Timer:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        bell: Bell,
        hub: Hub,
        ids: Ids,
        seats: Seats,
        *,
        patience_ms: int,
        runs_per_job: int,
        zone: str,
        unified: bool,
    ) -> None:
        self._store = store
        self._clock = clock
        self._bell = bell
        self._hub = hub
        self._ids = ids
        self._seats = seats
        self._patience_ms = patience_ms
        self._runs_per_job = runs_per_job
        self._zone = zone
        self._unified = unified

    async def run(self) -> None:
        while True:
            until = await self.step()
            while not await self._bell.wait(Name.TIMER, until):
                until = await self._store.next_due()

    async def step(self) -> int | None:
        """Take what is due; the moment to look again, or None when nothing is waiting."""
        now = self._clock.ms()
        due = await self._store.due_jobs(now, MOST_AT_ONCE)
        if not due:
            return await self._store.next_due()
        # One bad job must not hold up the others, nor the next look.
        ends = await asyncio.gather(*(self._handle(one, now) for one in due), return_exceptions=True)
        errors = [end for end in ends if isinstance(end, BaseException)]
        for error in errors:
            _log.error("a due job could not be taken", exc_info=error)
        # But when none could be taken, all are still due: without a breath we would do nothing but try.
        return now + _BREATH_MS if len(errors) == len(due) else now

    async def _handle(self, due: DueJob | Unreadable, now: int) -> None:
        if isinstance(due, Unreadable):
            await self._give_up(due, now)
            return
        try:
            if self._unified and due.job.policy.busy is not Busy.WAIT and due.job.kind in unified.SHARED:
                due = replace(due, lane_busy=await self._common_is_busy(due.job.session_id))
            decision = decide(_facts(due), to_moment(now))
            taken = await self._act(due, decision, now)
        except NotFound:  # its session was deleted between the look and the taking, and the job with it
            return
        if isinstance(decision, (Fire, PassOver)) and decision.next is not None:
            self._store.is_due(to_ms(decision.next))
        if due.job.kind is JobKind.MESSAGE:  # sent or not: others may have waited behind it
            self._bell.ring(Name.COURIER)
        if taken is None:
            return
        if taken.held is None:
            self._hub.publish(taken.events)
        if taken.parcel:
            self._bell.ring(Name.COURIER)
        if taken.pool is not None:
            # A user may wait in that lane already, and then the users' pool may take it.
            self._bell.ring(Name.SCHEDULE, Name.USER)

    async def _give_up(self, due: Unreadable, now: int) -> None:
        with suppress(NotFound):  # its session was deleted meanwhile, and the job with it
            self._hub.publish(await self._store.commit(firing.give_up, due, now))
        self._bell.ring(Name.COURIER)

    async def _act(self, due: DueJob, decision: Fire | PassOver | Postpone, now: int) -> TakenSlot | None:
        job, keep = due.job, self._runs_per_job
        match decision:
            case Fire():
                work = self._work(due, decision, now)
                shared = self._unified and job.kind in unified.SHARED
                common_id = self._ids(now) if shared else None

                def fire(seat: Seat | None) -> Awaitable[TakenSlot | None]:
                    return self._store.commit(
                        firing.fire, job, decision, work, now, keep=keep, seat=seat, common_id=common_id
                    )

                return await (self._seats.start(fire) if isinstance(work, Admission) else fire(None))
            case PassOver():
                return await self._store.commit(firing.pass_over, job, decision, now, keep=keep)
            case Postpone():
                return await self._store.commit(firing.postpone, job, decision, now)

    async def _common_is_busy(self, chat_id: str) -> bool:
        chat = await self._store.session_by_id(chat_id)
        common = await self._store.session(chat.owner, unified.KEY)
        return common is not None and common.busy

    def _work(self, due: DueJob, decision: Fire, now: int) -> Admission | OutgoingMessage:
        job, slot = due.job, to_ms(decision.slot)
        source = Source(kind=job.kind, job_id=job.id, label=job.name, run_id=run_id(job.id, slot))
        action = job.action
        if isinstance(action, Say):
            source = Source(kind="scheduled_send", job_id=job.id, label=job.name, run_id=source.run_id)
            # By its slot, then by when it was written: in this order a session's messages go out.
            return OutgoingMessage(delivery_id=f"{slot:012x}{job.id}", content=action.text, source=source)
        words = job.name
        prompt = call = brief = None
        match action:
            case Ask():
                words = trigger_words(job.kind, job.name, action.prompt, hidden=action.hidden)
                prompt = action.prompt
                brief = self._brief(due, action, decision)
            case Call():
                call = action.to_json()
        return Admission(
            turn_id=self._ids(now),
            content=words,
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

    def _brief(self, due: DueJob, action: Ask, decision: Fire) -> PromptFacts:
        template = template_for(due.job.kind, action.mode)
        unfinished = due.runs_queued or due.runs_running
        return PromptFacts(
            template=template.id,
            version=template.version,
            slot=to_ms(decision.slot),
            zone=getattr(due.job.trigger, "tz", None) or due.session_zone or self._zone,
            missed=decision.missed.count if decision.missed else 0,
            previous="had not ended when this one came due" if unfinished else due.job.last_outcome,
            mode=action.mode,
            to=action.to,
        )


def _facts(due: DueJob) -> DueSlot:
    job = due.job
    assert job.slot is not None  # a due job has one: `jobs_due` holds only those
    assert job.next_at is not None
    slot, look_at = to_moment(job.slot), to_moment(job.next_at)
    put_off = look_at > jittered(slot, job.policy, job.id)
    return DueSlot(
        trigger=job.trigger,
        policy=job.policy,
        slot=slot,
        put_off_until=look_at if put_off else None,
        put_off_because=job.state_reason if put_off else None,
        runs_so_far=job.run_count,
        queued_runs=due.runs_queued,
        running=due.runs_running > 0,
        lane_busy=due.lane_busy,
        last_message_at=None if due.heard_at is None else to_moment(due.heard_at),
    )
