"""A user cancels or replaces a message while a timer fires it and a courier sends it.

Three transactions, their statements in any order that the database allows. Of sent and cancelled it
becomes exactly one, and what was cancelled never reaches the channel (requirements B4.4 and B6.5).
"""

from collections import Counter
from functools import partial

import pytest

from segue.errors import AlreadyStarted
from segue.kernel.transactions import deliveries, fire, jobs, scheduled_messages
from segue.kernel.transactions.fire import OutgoingMessage
from segue.kernel.transactions.result import Result
from segue.kernel.transactions.scheduled_messages import NewMessage, ScheduledMessageFields
from segue.model.action import Say
from segue.model.channel import Receipt
from segue.model.decision import End, Fire
from segue.model.records import Delivery, Job, Source, run_id
from segue.model.states import JobKind, JobState, Outcome
from segue.store.database import Transaction
from segue.times.clock import to_moment
from segue.times.trigger import At
from tests.crash.figures import Record
from tests.races.by_hand import Actor, Stage, orders, stage, walk
from tests.races.scenes import LEASE_MS, NOW, Scene, ids

LATER = NOW + 3_600_000


def written(scene: Scene, text: str, at: int, *, replaces: bool = False) -> Transaction[Result[NewMessage]]:
    job = Job(
        id=ids(NOW),
        session_id="",
        account=scene.owner.account,
        kind=JobKind.MESSAGE,
        name=text,
        state=JobState.ACTIVE,
        state_reason=None,
        protected=False,
        trigger=At(to_moment(at)),
        action=Say(text),
        policy=scheduled_messages.POLICY,
        slot=at,
        next_at=at,
        revision=1,
        run_count=0,
        failures=0,
        last_run_at=None,
        last_outcome=None,
        last_error=None,
        created_at=NOW,
        updated_at=NOW,
    )
    facts = ScheduledMessageFields(chat_type="private", replace_existing=replaces)
    return scheduled_messages.create(scene.owner, scene.key, job, facts, new_session_id=ids(NOW))


def comes_due(job: Job) -> Transaction[Result[Outcome | None] | None]:
    source = Source(kind="scheduled_send", job_id=job.id, label=job.name, run_id=run_id(job.id, NOW))
    parcel = OutgoingMessage(delivery_id=f"{NOW:012x}{job.id}", content=job.name, source=source)
    return fire.fire(job, Fire(slot=to_moment(NOW), next=None, end=End.RAN_ONCE), parcel, NOW)


def leased_deliveries() -> Transaction[list[Delivery]]:
    [leased] = yield from deliveries.lease(
        [("*", 100)], holder="courier", lease_ms=LEASE_MS, lease_now=NOW, now=NOW
    )
    return leased


async def send_what_was_taken(on: Stage, *couriers: Actor) -> list[str]:
    """The texts that reached the channel: those already leased, and then all that still wait."""
    in_hand: list[Delivery] = [delivery for each in couriers for delivery in each.result]
    texts = []
    while in_hand:
        for delivery in in_hand:
            texts.append(delivery.content)
            await on.perform(deliveries.sent(delivery, Receipt(), NOW))
        in_hand = await on.perform(leased_deliveries())
    return texts


async def outcome_of(on: Stage, job: Job) -> tuple[str, str | None]:
    [row] = await on.ask(
        "SELECT jobs.state, (SELECT outcome FROM runs WHERE runs.job_id = jobs.id) AS outcome "
        f"FROM jobs WHERE jobs.id = '{job.id}'"
    )
    return row["state"], row["outcome"]


@pytest.mark.parametrize("due", [False, True], ids=["to be taken", "taken"])
async def test_of_a_cancel_and_a_send_one_wins(database_url: str, due: bool, figure: Record) -> None:
    won: Counter[str] = Counter()
    async with stage(database_url) as on:
        for choose in orders(few=25, many=1000):
            scene = Scene(on)
            job = (await on.perform(written(scene, "hello", NOW))).value.job
            slot = partial(comes_due, job)
            if due:
                await on.perform(slot())
            cancel = on.actor("cancel", scheduled_messages.cancel(job.session_id, job.id, None, NOW))
            timer = on.actor("timer", slot())
            sender = on.actor("courier", leased_deliveries())
            order = await walk([cancel, timer, sender], choose)
            assert (timer.error, sender.error) == (None, None), order
            texts = await send_what_was_taken(on, sender)
            won["cancelled" if cancel.error is None else "sent"] += 1
            if cancel.error is None:
                assert texts == [], order
                assert await outcome_of(on, job) in (("removed", None), ("ended", "cancelled")), order
            else:
                assert isinstance(cancel.error, AlreadyStarted), order
                assert texts == ["hello"], order
                assert await outcome_of(on, job) == ("ended", "ok"), order
        assert not await on.broken()
    assert set(won) == {"cancelled", "sent"}, "it was no race"
    figure("who won", _summary(won))


async def test_of_a_replacement_and_a_send_one_wins(database_url: str, figure: Record) -> None:
    won: Counter[str] = Counter()
    async with stage(database_url) as on:
        for choose in orders(few=25, many=1000):
            scene = Scene(on)
            old = (await on.perform(written(scene, "old", NOW))).value.job
            replacement = on.actor("replacement", written(scene, "new", LATER, replaces=True))
            timer = on.actor("timer", comes_due(old))
            sender = on.actor("courier", leased_deliveries())
            order = await walk([replacement, timer, sender], choose)
            assert [actor.error for actor in (replacement, timer, sender)] == [None] * 3, order
            texts = await send_what_was_taken(on, sender)
            new: NewMessage = replacement.result.value
            won["cancelled" if old.id in new.replaced else "sent"] += 1
            assert texts == ([] if old.id in new.replaced else ["old"]), order
            state, outcome = await outcome_of(on, old)
            assert (state == "removed" or outcome == "cancelled") == (old.id in new.replaced), order
            await on.perform(jobs.remove(new.job, "the scene is over", NOW))
        assert not await on.broken()
    assert set(won) == {"cancelled", "sent"}, "it was no race"
    figure("who won", _summary(won))


def _summary(won: "Counter[str]") -> str:
    return f"of {won.total():,} races, {won['cancelled']:,} ended cancelled and {won['sent']:,} sent"
