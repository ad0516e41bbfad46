"""Transactions for the races: messages that arrive, lanes that are leased, jobs that come due.

Each scene has its own account, so that one stage can run thousands of them without mixing them up.
"""

import random
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count

from segue.kernel.transactions import fire, jobs, lane, lease, settle
from segue.kernel.transactions.lane import Admission, Pool, QueuedTurn
from segue.kernel.transactions.lease import HeldLane
from segue.kernel.transactions.result import Result
from segue.kernel.transactions.unified import Address
from segue.model import closure
from segue.model.action import Ask
from segue.model.decision import End, Fire
from segue.model.policy import Policy
from segue.model.records import Ids, Job, Lookup, Owner, Source, run_id
from segue.model.states import JobKind, JobState, Outcome, WhenBusy
from segue.store.database import Transaction
from segue.times.clock import to_moment, to_ms
from segue.times.trigger import At, Every
from tests.leases import terms_of
from tests.races.by_hand import Stage

NOW = to_ms(datetime(2026, 11, 16, 9, tzinfo=UTC))
LEASE_MS = 15_000

ids = Ids(random.Random(7))
_scenes = count(1)


@dataclass
class Scene:
    """One session on a stage, and the transactions that can happen in it."""

    stage: Stage
    owner: Owner = field(default_factory=lambda: Owner(account=f"a{next(_scenes):07}"))
    key: str = "web:1"

    def arrives(
        self, text: str = "hello", now: int = NOW, *, unified: bool = False
    ) -> Transaction[Result[QueuedTurn]]:
        admission = Admission(turn_id=ids(now), content=text, rank=now, not_before=now, timeout_ms=900_000)
        lane_id = ids(now) if unified else None
        address = Address(
            lookup=Lookup(self.owner, self.owner), key=self.key, new_id=ids(now), lane_id=lane_id
        )
        return lane.receive(address, admission, now, when_busy=None, default=WhenBusy.ENQUEUE)

    def leased(self, holder: str, pool: Pool = Pool.USER, now: int = NOW) -> Transaction[list[HeldLane]]:
        leased = yield from lease.lease(
            terms_of(holder, lease_ms=LEASE_MS, lease_now=now),
            pool=pool,
            after=_just_before(self.owner.account),
            limit=1,
            now=now,
        )
        return [*leased.value.held]

    def taken_back(self, held: HeldLane, now: int = NOW + LEASE_MS) -> Transaction[Result[None] | None]:
        return settle.reclaim(held.session.id, holder="reaper", lease_now=now, horizon=None, now=now)

    async def running(self, text: str = "hello", holder: str = "owner") -> HeldLane:
        """A turn that has started, with its lease."""
        await self.stage.perform(self.arrives(text))
        return await self.take_up(holder)

    async def take_up(self, holder: str, pool: Pool = Pool.USER, now: int = NOW) -> HeldLane:
        (held,) = await self.stage.perform(self.leased(holder, pool, now))
        assert held.session.owner == self.owner
        return held

    async def due_job(self, *, repeats: bool = False) -> Job:
        trigger = Every(60, start=to_moment(NOW)) if repeats else At(to_moment(NOW))
        job = Job(
            id=ids(NOW),
            session_id="",
            account=self.owner.account,
            kind=JobKind.CRON,
            name="look",
            state=JobState.ACTIVE,
            state_reason=None,
            protected=False,
            trigger=trigger,
            action=Ask("look"),
            policy=Policy(),
            slot=NOW,
            next_at=NOW,
            revision=1,
            run_count=0,
            failures=0,
            last_run_at=None,
            last_outcome=None,
            last_error=None,
            created_at=NOW,
            updated_at=NOW,
        )
        changed = await self.stage.perform(jobs.create(self.owner, self.key, job, new_session_id=ids(NOW)))
        return changed.value

    async def drained(self, now: int = NOW) -> list[HeldLane]:
        """Lease and settle all waiting turns. Returns them in the order in which they ran."""
        ran: list[HeldLane] = []
        for pool in (Pool.USER, Pool.SCHEDULE):
            while held := await self.stage.perform(self.leased("drain", pool, now)):
                assert held[0].session.owner == self.owner, "another scene was not drained"
                await self.stage.perform(settled(held[0]))
                ran += held
        return ran


def settled(held: HeldLane) -> Transaction[Result[None]]:
    return settle.settle(held, closure.answered("done", {}), NOW)


def fires(job: Job, *, unified: bool = False) -> Transaction[Result[Outcome | None] | None]:
    """Fires the job's due slot, as the timer does."""
    repeats = job.trigger.next_after(to_moment(NOW))
    slot = Fire(slot=to_moment(NOW), next=repeats, end=None if repeats else End.RAN_ONCE)
    source = Source(kind=job.kind, job_id=job.id, label=job.name, run_id=run_id(job.id, NOW))
    work = Admission(
        turn_id=ids(NOW),
        content="look",
        prompt="look",
        source=source,
        rank=NOW,
        not_before=NOW,
        timeout_ms=900_000,
    )
    return fire.fire(job, slot, work, NOW, lane_id=ids(NOW) if unified else None)


def moved(job: Job, to: int) -> Transaction[Result[Job]]:
    """Rescheduled to another moment."""
    return jobs.change(replace(job, trigger=At(to_moment(to)), slot=to, next_at=to), NOW)


def removed(job: Job) -> Transaction[Result[Job]]:
    return jobs.remove(job, "its job was removed", NOW)


def _just_before(account: str) -> str:
    return f"a{int(account[1:]) - 1:07}"
