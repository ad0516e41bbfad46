"""Courier: a delivery is sent once, in order, and a failed one is reported."""

import asyncio
from datetime import timedelta

import pytest

from segue import (
    Ask,
    At,
    Capabilities,
    Channel,
    Delivery,
    Every,
    Kernel,
    NotTaken,
    Receipt,
    Rejected,
    Say,
    Settings,
    Stored,
    Unreachable,
)
from segue.errors import LeaseLost
from segue.kernel.transactions import deliveries
from segue.store.database import Begin, T, Transaction
from segue.store.open import open_database
from segue.testing import ManualClock, RecordingChannel, ScriptedAgent, quiet
from segue.testing.faults import Fault
from segue.testing.forwarding import ForwardingDatabase
from tests.eventually import eventually
from tests.flows.house import OpenKernel
from tests.flows.story import CHAT, outcomes, said, slots

PHONE = "test:1"
LEASE = Settings().lease_seconds


async def test_a_message_is_sent_through_its_channel_and_stands_in_the_chat(
    kernel: Kernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    job = await kernel.schedule(
        PHONE, At(clock.now() + timedelta(hours=1)), Say("Your flight leaves at noon.")
    )
    clock.advance(hours=1)
    await quiet(kernel)
    assert channel.texts == ["Your flight leaves at noon."]
    assert channel.sent[0].chat_id == "1"
    assert await said(kernel, PHONE) == [("assistant", "Your flight leaves at noon.")]
    [delivery] = await kernel.log.deliveries(PHONE)
    assert (delivery.state, delivery.sent_at) == ("sent", clock.ms())
    assert delivery.sent_message_id == f"test-{delivery.id}"
    assert await outcomes(kernel, job) == ["ok"]


async def test_where_the_readers_look_at_the_log_stored_is_sent(
    kernel: Kernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    job = await kernel.schedule(CHAT, Every(60), Say("Drink water."))
    clock.advance(minutes=1)
    await quiet(kernel)
    assert channel.texts == []
    assert await said(kernel) == [("assistant", "Drink water.")]
    assert [delivery.state for delivery in await kernel.log.deliveries(CHAT)] == ["sent"]
    assert await outcomes(kernel, job) == ["ok"]


async def test_answers_go_out_through_a_registered_channel(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent, channel: RecordingChannel
) -> None:
    agent.script("Hello yourself.", ValueError("boom"), None)
    await kernel.receive(PHONE, "Hello")
    await quiet(kernel)
    await kernel.schedule(PHONE, Every(60), Ask("Look."))
    clock.advance(minutes=1)
    await quiet(kernel)
    await kernel.receive(PHONE, "Say nothing")
    await quiet(kernel)
    assert channel.texts == ["Hello yourself.", "This turn failed; its record says why.", "(no answer)"]
    assert [words for role, words in await said(kernel, PHONE) if role == "assistant"] == channel.texts


async def test_answers_of_other_channels_are_not_delivered(kernel: Kernel, channel: RecordingChannel) -> None:
    await kernel.receive(CHAT, "Hello")
    await quiet(kernel)
    assert channel.texts == []
    assert await kernel.log.deliveries(CHAT) == []


async def test_a_message_the_channel_did_not_take_is_sent_later(
    kernel: Kernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    channel.fail(NotTaken("slow down", retry_after=30), NotTaken("still too fast"))
    job = await kernel.schedule(PHONE, Every(3600), Say("Drink water."))
    clock.advance(hours=1)
    await quiet(kernel)
    [delivery] = await kernel.log.deliveries(PHONE)
    assert (delivery.state, delivery.error) == ("pending", "slow down")
    assert delivery.not_before == clock.ms() + 30_000
    assert await outcomes(kernel, job) == [None]
    clock.advance(seconds=29)
    await quiet(kernel)
    assert (await kernel.log.deliveries(PHONE))[0].attempt == 1
    clock.advance(seconds=1)
    await quiet(kernel)
    clock.advance(seconds=4)
    await quiet(kernel)
    assert channel.texts == ["Drink water."]
    assert await outcomes(kernel, job) == ["ok"]


async def test_a_message_the_channel_never_takes_fails_visibly(
    kernel: Kernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    channel.fail(*[NotTaken("blocked by the user")] * 5)
    job = await kernel.schedule(PHONE, Every(86_400), Say("Drink water."))
    clock.advance(days=1)
    for _ in range(5):
        await quiet(kernel)
        clock.advance(minutes=1)
    [delivery] = await kernel.log.deliveries(PHONE)
    assert (delivery.state, delivery.error, delivery.attempt) == ("failed", "blocked by the user", 5)
    [run] = await slots(kernel, job)
    assert (run.outcome, run.error) == ("error", "blocked by the user")
    assert await said(kernel, PHONE) == [
        ("system", "A message could not be delivered (blocked by the user).")
    ]


async def test_a_send_with_unknown_outcome_is_not_repeated(
    kernel: Kernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    channel.fail(ConnectionResetError("gone"))
    job = await kernel.schedule(PHONE, Every(3600), Say("Drink water."))
    clock.advance(hours=1)
    await quiet(kernel)
    clock.advance(minutes=1)
    await quiet(kernel)
    assert channel.texts == []
    [run] = await slots(kernel, job)
    assert (run.outcome, run.error) == ("error", "delivery unknown: gone")
    assert await said(kernel, PHONE) == [("system", "A message could not be delivered (delivery unknown).")]


async def test_where_a_repeat_cannot_double_it_is_repeated(
    open_kernel: OpenKernel, clock: ManualClock
) -> None:
    channel = RecordingChannel("test", idempotent=True)
    kernel = await open_kernel(channels=[channel])
    channel.fail(ConnectionResetError("gone"), ConnectionResetError("gone"))
    job = await kernel.schedule(PHONE, Every(3600), Say("Drink water."))
    clock.advance(hours=1)
    for _ in range(3):
        await quiet(kernel)
        clock.advance(seconds=10)
    assert channel.texts == ["Drink water."]
    assert await outcomes(kernel, job) == ["ok"]
    assert await said(kernel, PHONE) == [("assistant", "Drink water.")]


@pytest.mark.parametrize(
    ("idempotent", "outcome", "sends"), [(True, "ok", 2), (False, "error", 1)], ids=["idempotent", "not"]
)
async def test_a_courier_lost_between_send_and_mark(
    open_kernel: OpenKernel, clock: ManualClock, idempotent: bool, outcome: str, sends: int
) -> None:
    """B8.2: claimed and not marked, it is sent again only where that cannot double; else it has failed."""
    phone = Phone(idempotent=idempotent)
    kernel = await open_kernel(channels=[phone])
    job = await kernel.schedule(PHONE, Every(3600), Say("Drink water."))
    clock.advance(hours=1)
    await kernel.workers.timer.step()
    phone.hang = True
    courier = asyncio.create_task(kernel.workers.courier.step())
    await phone.taken.wait()
    courier.cancel()
    await asyncio.wait([courier])
    phone.hang = False
    await quiet(kernel)
    assert await outcomes(kernel, job) == [None], "its lease has not run out yet"
    clock.advance(seconds=LEASE)
    await quiet(kernel)
    clock.advance(seconds=10)
    await quiet(kernel)
    assert await outcomes(kernel, job) == [outcome]
    assert len(phone.calls) == sends
    assert len(set(phone.calls)) == 1, "the same delivery id each time"


class Phone(Channel):
    """A channel that may hang after it took a message."""

    name = "test"

    def __init__(self, *, idempotent: bool) -> None:
        self._idempotent = idempotent
        self.hang = False
        self.taken = asyncio.Event()
        self.released = asyncio.Event()
        self.calls: list[str] = []

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(idempotent=self._idempotent)

    async def send(self, delivery: Delivery) -> Receipt:
        self.calls.append(delivery.id)
        self.taken.set()
        if self.hang:
            await self.released.wait()
        return Receipt(None)


async def test_a_courier_whose_process_stood_still_does_not_mark_what_was_taken_from_it(
    open_kernel: OpenKernel, clock: ManualClock
) -> None:
    kernel = await open_kernel(channels=[Phone(idempotent=False)])
    job = await kernel.schedule(PHONE, Every(3600), Say("Drink water."))
    clock.advance(hours=1)
    await kernel.workers.timer.step()
    [[delivery]] = await kernel.store.commit(
        deliveries.lease,
        [(",test,", 1)],
        holder="asleep",
        lease_ms=15_000,
        lease_now=clock.ms(),
        now=clock.ms(),
    )
    clock.advance(seconds=LEASE)
    await kernel.workers.reaper.step()
    assert await outcomes(kernel, job) == ["error"]
    with pytest.raises(LeaseLost):
        await kernel.store.commit(deliveries.sent, delivery, Receipt(), clock.ms())
    assert [delivery.state for delivery in await kernel.log.deliveries(PHONE)] == ["failed"]


async def test_a_courier_that_is_slow_keeps_its_lease(open_kernel: OpenKernel, clock: ManualClock) -> None:
    phone = Phone(idempotent=False)
    kernel = await open_kernel(channels=[phone])
    job = await kernel.schedule(PHONE, Every(3600), Say("Drink water."))
    clock.advance(hours=1)
    await kernel.workers.timer.step()
    phone.hang = True
    async with asyncio.TaskGroup() as group:
        group.create_task(kernel.workers.courier.step())
        await phone.taken.wait()
        for _ in range(5):
            clock.advance(seconds=LEASE * 0.9)
            await kernel.workers.courier.renew()
            await kernel.workers.reaper.step()
        assert await outcomes(kernel, job) == [None]
        phone.released.set()
    assert await outcomes(kernel, job) == ["ok"]


async def test_a_send_that_takes_too_long_has_an_unknown_outcome(
    open_kernel: OpenKernel, clock: ManualClock
) -> None:
    phone = Phone(idempotent=False)
    phone.hang = True
    kernel = await open_kernel(channels=[phone], settings=Settings(send_timeout_seconds=0.1))
    job = await kernel.schedule(PHONE, Every(3600), Say("Drink water."))
    clock.advance(hours=1)
    await quiet(kernel)
    [run] = await slots(kernel, job)
    assert (run.outcome, run.error) == ("error", "delivery unknown: it took too long")


async def test_a_channel_that_hangs_delays_no_other_channel(open_kernel: OpenKernel) -> None:
    """By the machine's clock, with workers that run."""
    phone, other = Phone(idempotent=False), RecordingChannel("other")
    phone.hang = True
    kernel = await open_kernel(clock=None, channels=[phone, other])
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        running = group.create_task(kernel.run())
        await kernel.receive(PHONE, "Hello")
        await phone.taken.wait()
        await kernel.receive("other:1", "Hello")
        await eventually(lambda: other.texts, "the other channel gets its message")
        phone.released.set()
        running.cancel()
    assert [delivery.state for delivery in await kernel.log.deliveries(PHONE)] == ["sent"], (
        "a shutdown lets what is under way be marked"
    )


async def test_a_message_for_a_channel_that_no_process_has_is_not_marked_as_sent(
    open_kernel: OpenKernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    """It waits for a process that has the channel."""
    poor = await open_kernel(channels=[Stored("web")])
    job = await poor.schedule(PHONE, At(clock.now() + timedelta(hours=1)), Say("Drink water."))
    await poor.receive(PHONE, "Hello")
    clock.advance(hours=1)
    await quiet(poor)
    assert [delivery.state for delivery in await poor.log.deliveries(PHONE)] == ["pending", "pending"]
    assert await outcomes(poor, job) == [None]
    assert await poor.store.next_delivery(",web,") is None, "it does not keep this process awake"
    rich = await open_kernel(channels=[channel])
    await quiet(rich)
    assert channel.texts == ["ok", "Drink water."]
    assert await outcomes(rich, job) == ["ok"]


async def test_a_delivery_that_no_process_takes_within_a_day_fails_visibly(
    open_kernel: OpenKernel, clock: ManualClock
) -> None:
    kernel = await open_kernel(channels=[Stored("web")])
    job = await kernel.schedule("fax:1", At(clock.now() + timedelta(hours=1)), Say("Drink water."))
    await kernel.receive("fax:1", "Hello")
    await quiet(kernel)
    clock.advance(hours=1)
    await quiet(kernel)
    clock.advance(hours=24, milliseconds=1)
    await quiet(kernel)
    states = [(delivery.state, delivery.error) for delivery in await kernel.log.deliveries("fax:1")]
    assert states == [("failed", "no process had the channel fax for a day")] * 2
    assert await outcomes(kernel, job) == ["error"]
    assert (await said(kernel, "fax:1"))[-1] == (
        "system",
        "A message could not be delivered (no process had the channel fax for a day).",
    )
    assert len(await said(kernel, "fax:1")) == 3, "the answer stands there already"


async def test_a_courier_that_was_lost_is_not_judged_by_a_process_without_its_channel(
    open_kernel: OpenKernel, clock: ManualClock
) -> None:
    phone = Phone(idempotent=True)
    kernel = await open_kernel(channels=[phone])
    job = await kernel.schedule(PHONE, At(clock.now() + timedelta(hours=1)), Say("Drink water."))
    clock.advance(hours=1)
    await kernel.workers.timer.step()
    phone.hang = True
    lost = asyncio.create_task(kernel.workers.courier.step())
    await phone.taken.wait()
    lost.cancel()
    await asyncio.wait([lost])
    clock.advance(seconds=LEASE)
    poor = await open_kernel(channels=[Stored("web")])
    await quiet(poor)
    assert await outcomes(poor, job) == [None]
    phone.hang = False
    for _ in range(2):
        await quiet(kernel)
        clock.advance(seconds=10)
    assert await outcomes(kernel, job) == ["ok"]


async def test_a_channel_that_cannot_be_reached_is_tried_for_a_day(
    kernel: Kernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    channel.fail(*[Unreachable("no connection")] * 1000)
    await kernel.schedule(PHONE, At(clock.now() + timedelta(hours=1)), Say("Drink water."))
    clock.advance(hours=1)
    for _ in range(20):
        await quiet(kernel)
        clock.advance(minutes=5)
    [delivery] = await kernel.log.deliveries(PHONE)
    assert (delivery.state, delivery.error, delivery.attempt > 10) == ("pending", "no connection", True)
    clock.advance(days=1)
    await quiet(kernel)
    assert [delivery.state for delivery in await kernel.log.deliveries(PHONE)] == ["failed"]


async def test_what_will_never_be_taken_fails_at_once(
    kernel: Kernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    channel.fail(Rejected("the chat is gone"))
    await kernel.schedule(PHONE, At(clock.now() + timedelta(hours=1)), Say("Drink water."))
    clock.advance(hours=1)
    await quiet(kernel)
    [delivery] = await kernel.log.deliveries(PHONE)
    assert (delivery.state, delivery.error, delivery.attempt) == ("failed", "the chat is gone", 1)


async def test_a_channel_takes_no_more_in_a_second_than_it_says(
    open_kernel: OpenKernel, clock: ManualClock
) -> None:
    phone = Paced(idempotent=False)
    kernel = await open_kernel(channels=[phone])
    for number in range(12):
        await kernel.schedule(f"test:{number}", At(clock.now() + timedelta(hours=1)), Say("Hello."))
    clock.advance(hours=1)
    taken = []
    for _ in range(3):
        await quiet(kernel)
        taken.append(len(phone.calls))
        clock.advance(seconds=1)
    assert taken == [5, 10, 12]


class Paced(Phone):
    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(per_second=5)


async def test_a_sessions_messages_go_out_in_their_order(
    kernel: Kernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    for n in range(10):
        clock.advance(milliseconds=1)
        await kernel.schedule(PHONE, At(clock.now() + timedelta(minutes=1)), Say(f"Message {n}"))
    clock.advance(minutes=2)
    for _ in range(3):
        await kernel.workers.timer.step()
    await quiet(kernel)
    assert [words for _, words in await said(kernel, PHONE)] == channel.texts
    assert sorted(channel.texts) == [f"Message {n}" for n in range(10)]


async def test_a_message_that_was_refused_is_not_overtaken_by_the_next(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent, channel: RecordingChannel
) -> None:
    agent.script("One.", "Two.")
    channel.fail(NotTaken("slow down", retry_after=30))
    await kernel.receive(PHONE, "First")
    await kernel.receive(PHONE, "Second")
    await quiet(kernel)
    clock.advance(seconds=30)
    await quiet(kernel)
    assert channel.texts == ["One.", "Two."]


async def test_one_channel_that_fails_does_not_hold_up_another_session(
    kernel: Kernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    channel.fail(RuntimeError("boom"))
    await kernel.schedule("test:1", At(clock.now() + timedelta(minutes=1)), Say("One."))
    await kernel.schedule("test:2", At(clock.now() + timedelta(minutes=1)), Say("Two."))
    clock.advance(minutes=1)
    await quiet(kernel)
    assert len(channel.texts) == 1


async def test_words_of_a_failure_that_no_database_can_hold_do_not_stop_the_courier(
    kernel: Kernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    channel.fail(RuntimeError("bad \x00 byte"))
    job = await kernel.schedule(PHONE, Every(60), Say("Drink water."))
    clock.advance(minutes=1)
    await quiet(kernel)
    assert await outcomes(kernel, job) == ["error"]


async def test_a_session_deleted_while_a_message_is_sent_stays_deleted(
    open_kernel: OpenKernel, clock: ManualClock
) -> None:
    phone = Phone(idempotent=False)
    kernel = await open_kernel(channels=[phone])
    await kernel.schedule(PHONE, Every(3600), Say("Drink water."))
    clock.advance(hours=1)
    await kernel.workers.timer.step()

    async def delete_during_send(delivery: Delivery) -> Receipt:
        await kernel.sessions.delete(PHONE, with_jobs=True)
        return Receipt(None)

    phone.send = delete_during_send  # type: ignore[method-assign]
    await quiet(kernel)
    assert await kernel.sessions.list() == []


class SecondLeaseFails(ForwardingDatabase):
    """The first statement that leases deliveries of the channel `second` fails."""

    failed = False

    async def run(self, begin: Begin[T]) -> T:
        return await super().run(lambda: self._failing(begin()))

    def _failing(self, transaction: Transaction[T]) -> Transaction[T]:
        try:
            query, params = next(transaction)
            while True:
                if isinstance(params, dict) and params.get("channels") == ",second," and not self.failed:
                    self.failed = True
                    raise Fault("asked to fail once")
                query, params = transaction.send((yield query, params))
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            transaction.close()


async def test_a_lease_that_fails_for_one_channel_costs_no_delivery_of_another(
    database_url: str, clock: ManualClock
) -> None:
    first, second = RecordingChannel("first"), RecordingChannel("second")
    database = SecondLeaseFails(await open_database(database_url))
    async with Kernel(database, agent=ScriptedAgent(), channels=[first, second], clock=clock) as kernel:
        job = await kernel.schedule("first:1", Every(3600), Say("Drink water."))
        clock.advance(hours=1)
        await kernel.workers.timer.step()
        with pytest.raises(Fault):
            await kernel.workers.courier.step()
        assert await kernel.workers.courier.step() == 1
        clock.advance(seconds=LEASE)
        await kernel.workers.reaper.step()
        assert (first.texts, await outcomes(kernel, job)) == (["Drink water."], ["ok"])
    await database.close()
