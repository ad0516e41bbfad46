"""The courier: what is written goes out once, in order, and says so when it cannot."""

import asyncio
from datetime import timedelta

import pytest

from segue import Ask, At, Delivery, Every, Kernel, NotTaken, Receipt, Say, Settings
from segue.testing import ManualClock, RecordingChannel, ScriptedAgent, quiet
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
    [delivery] = await kernel.deliveries(PHONE)
    assert (delivery.state, delivery.sent_at) == ("sent", clock.ms())
    assert delivery.sent_message_id == f"test-{delivery.id}"
    assert await outcomes(kernel, job) == ["ok"]


async def test_where_nobody_registered_the_channel_stored_is_sent(
    kernel: Kernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    job = await kernel.schedule(CHAT, Every(60), Say("Drink water."))
    clock.advance(minutes=1)
    await quiet(kernel)
    assert channel.texts == []
    assert await said(kernel) == [("assistant", "Drink water.")]
    assert [delivery.state for delivery in await kernel.deliveries(CHAT)] == ["sent"]
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
    assert await kernel.deliveries(CHAT) == []


async def test_a_message_the_channel_did_not_take_is_sent_later(
    kernel: Kernel, clock: ManualClock, channel: RecordingChannel
) -> None:
    channel.fail(NotTaken("slow down", retry_after=30), NotTaken("still too fast"))
    job = await kernel.schedule(PHONE, Every(3600), Say("Drink water."))
    clock.advance(hours=1)
    await quiet(kernel)
    [delivery] = await kernel.deliveries(PHONE)
    assert (delivery.state, delivery.error) == ("pending", "slow down")
    assert delivery.not_before == clock.ms() + 30_000
    assert await outcomes(kernel, job) == [None]
    clock.advance(seconds=29)
    await quiet(kernel)
    assert (await kernel.deliveries(PHONE))[0].attempt == 1
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
    [delivery] = await kernel.deliveries(PHONE)
    assert (delivery.state, delivery.error, delivery.attempt) == ("failed", "blocked by the user", 5)
    [run] = await slots(kernel, job)
    assert (run.outcome, run.error) == ("error", "blocked by the user")
    assert await said(kernel, PHONE) == [
        ("system", "A message could not be delivered (blocked by the user).")
    ]


async def test_a_send_nobody_knows_the_end_of_is_not_repeated(
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


class Phone:
    """A channel that may hang after it took a message."""

    name = "test"

    def __init__(self, *, idempotent: bool) -> None:
        self.idempotent = idempotent
        self.hang = False
        self.taken = asyncio.Event()
        self.calls: list[str] = []

    async def send(self, delivery: Delivery) -> Receipt:
        self.calls.append(delivery.id)
        self.taken.set()
        if self.hang:
            await asyncio.Event().wait()
        return Receipt(None)


async def test_a_courier_that_was_only_slow_does_not_mark_what_was_taken_from_it(
    open_kernel: OpenKernel, clock: ManualClock
) -> None:
    phone = Phone(idempotent=False)
    kernel = await open_kernel(channels=[phone])
    job = await kernel.schedule(PHONE, Every(3600), Say("Drink water."))
    clock.advance(hours=1)
    await kernel.workers.timer.step()
    phone.hang = True
    courier = asyncio.create_task(kernel.workers.courier.step())
    await phone.taken.wait()
    clock.advance(seconds=LEASE)
    await kernel.workers.reaper.step()
    assert await outcomes(kernel, job) == ["error"]
    courier.cancel()
    await asyncio.wait([courier])
    assert [delivery.state for delivery in await kernel.deliveries(PHONE)] == ["failed"]


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

    async def delete_meanwhile(delivery: Delivery) -> Receipt:
        await kernel.delete(PHONE, with_jobs=True)
        return Receipt(None)

    phone.send = delete_meanwhile  # type: ignore[method-assign]
    await quiet(kernel)
    assert await kernel.sessions() == []
