"""Channel conformance: checks that a channel does what its capabilities promise.

    await check_channel(MyChannel(…), chat_id="42", seen=what_the_chat_shows)

`seen` returns the texts that the chat shows, oldest first. A failed check raises AssertionError.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from segue.model.channel import Arrival, Capabilities, Channel, Receipt
from segue.model.records import Delivery
from segue.model.states import DeliveryState
from segue.model.text_checks import check_key

Seen: TypeAlias = Callable[[], Awaitable[Sequence[str]]]

_MARKS = "1 < 2 & 3 > 2; a_b_c, 2 * 3 * 4, [x](y), #1, `code`, ~, |, {}, ., !, -"


async def check_channel(channel: Channel, *, chat_id: str, seen: Seen) -> None:
    """Check everything about sending that one chat can show."""
    able = channel.capabilities
    _check_words(channel, able, chat_id)
    if able.stored:
        assert await channel.send(delivery(channel, chat_id, "stored", "Hello.")) == Receipt()
        return
    await _check_order(channel, chat_id, seen)
    await _check_marks(channel, chat_id, seen)
    if able.idempotent:
        await _check_repeat(channel, chat_id, seen)
    if able.longest is not None:
        await _check_length(channel, able.longest, chat_id, seen)


async def check_arrival(channel: Channel, write: Callable[[str], Awaitable[None]]) -> Arrival:
    """Check that a written message (`write`) arrives once and complete; return it."""
    reception = _RecordingReception()
    listening = asyncio.get_running_loop().create_task(channel.receive(reception))
    try:
        async with asyncio.timeout(30):
            await write("Good morning, and *welcome*.")
            await reception.arrived.wait()
    finally:
        listening.cancel()
        ended, _ = await asyncio.wait([listening], timeout=10)
    assert ended, "receive goes on after it was cancelled"
    assert [each.text for each in reception.taken] == ["Good morning, and *welcome*."], reception.taken
    check_key(f"{channel.name}:{reception.taken[0].chat_id}")
    assert reception.taken[0].id is not None, "without an id, a message that comes again is answered twice"
    return reception.taken[0]


class _RecordingReception:
    def __init__(self) -> None:
        self.taken: list[Arrival] = []
        self.arrived = asyncio.Event()

    async def take(self, arrival: Arrival) -> str | None:
        self.taken.append(arrival)
        self.arrived.set()
        return None

    async def welcomes(self, sender: str) -> bool:
        return True

    async def mark(self) -> str | None:
        return None

    async def set_mark(self, mark: str) -> None:
        return


def _check_words(channel: Channel, able: Capabilities, chat_id: str) -> None:
    check_key(f"{channel.name}:{chat_id}")
    assert "," not in channel.name, "the name of a channel has no comma"
    assert able.longest is None or able.longest >= 100, "a message holds at least a hundred characters"
    assert able.per_second is None or able.per_second > 0, "per_second is more than 0"


async def _check_order(channel: Channel, chat_id: str, seen: Seen) -> None:
    words = ["The first.", "The second.", "The third."]
    receipts = [await channel.send(delivery(channel, chat_id, f"o{n}", w)) for n, w in enumerate(words)]
    assert list(await seen())[-3:] == words, f"sent {words}, shown {await seen()}"
    named = [receipt.message_id for receipt in receipts if receipt.message_id is not None]
    assert len(set(named)) == len(named), "two messages have one id"


async def _check_marks(channel: Channel, chat_id: str, seen: Seen) -> None:
    await channel.send(delivery(channel, chat_id, "marks", _MARKS))
    shown = (await seen())[-1]
    for sign in ("1 < 2 & 3 > 2", "a_b_c", "2 * 3 * 4", "code"):
        assert sign in shown, f"{sign!r} is not shown in {shown!r}"


async def _check_repeat(channel: Channel, chat_id: str, seen: Seen) -> None:
    before = len(await seen())
    same = delivery(channel, chat_id, "same", "Only once.")
    receipts = {(await channel.send(same)).message_id for _ in range(3)}
    assert len(await seen()) == before + 1, "idempotent, but the message arrived more than once"
    assert len(receipts) == 1, "idempotent, but a repeat has another message id"


async def _check_length(channel: Channel, longest: int, chat_id: str, seen: Seen) -> None:
    before = len(await seen())
    words = " ".join(f"word{number}" for number in range(longest // 3))
    await channel.send(delivery(channel, chat_id, "long", words))
    parts = (await seen())[before:]
    assert len(parts) > 1, "a text longer than a message was not split"
    assert max(map(len, parts)) <= longest, "a part is longer than a message may be"
    assert " ".join(parts).split() == words.split(), "words were lost, doubled or cut"


def delivery(channel: Channel, chat_id: str, id: str, content: str) -> Delivery:
    """Return a delivery as the courier would pass it."""
    return Delivery(
        id=f"conformance-{id}",
        session_id="conformance",
        run_id=None,
        turn_id=None,
        channel=channel.name,
        chat_id=chat_id,
        content=content,
        source=None,
        state=DeliveryState.PENDING,
        not_before=0,
        fence=1,
        attempt=1,
        created_at=0,
        sent_at=None,
        sent_message_id=None,
        error=None,
    )
