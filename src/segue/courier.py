"""The courier: written messages go out through their channels.

A delivery is leased before it is sent. After a crash between send and mark nobody knows whether it
arrived, so it is repeated only where a repeat cannot double: the channel knows the delivery's id, or it
refused the message before taking it. Otherwise it ends as failed, and says so.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence

from segue import closure, lane, settle
from segue.bell import Bell, Name
from segue.channel import Channel, NotTaken, Receipt
from segue.clock import Clock
from segue.errors import LeaseLost, NotFound
from segue.hub import Hub
from segue.model import Delivery, Event
from segue.store import rows, sql
from segue.store.database import Params, Transaction
from segue.store.store import Store
from segue.text import clean

_log = logging.getLogger(__name__)

MOST_AT_ONCE = 100
MOST_ATTEMPTS = 5
UNKNOWN = "delivery unknown"


class Courier:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        bell: Bell,
        hub: Hub,
        channels: Mapping[str, Channel],
        *,
        holder: str,
        lease_ms: int,
        unified: bool,
    ) -> None:
        self._store = store
        self._clock = clock
        self._bell = bell
        self._hub = hub
        self._channels = channels
        self._holder = holder
        self._lease_ms = lease_ms
        self._unified = unified

    async def run(self) -> None:
        while True:
            if not await self.step():
                await self._bell.wait(Name.COURIER, await self._store.next_delivery())

    async def step(self) -> int:
        """Send what is due; how many deliveries that were."""
        leased = await self._store.commit(
            lease,
            holder=self._holder,
            lease_ms=self._lease_ms,
            lease_now=self._store.lease_now(),
            now=self._clock.ms(),
        )
        # Side by side: of each session there is one at a time, so its messages keep their order.
        async with asyncio.TaskGroup() as sending:
            for delivery in leased:
                sending.create_task(self._take_out(delivery))
        return len(leased)

    async def _take_out(self, delivery: Delivery) -> None:
        try:
            self._hub.publish(await self._send(delivery))
        except (LeaseLost, NotFound) as lost:
            _log.warning("delivery %s was let go: %s", delivery.id, lost)

    async def _send(self, delivery: Delivery) -> Sequence[Event]:
        channel = self._channels.get(delivery.channel)
        try:
            receipt = await channel.send(delivery) if channel else Receipt()
        except NotTaken as refusal:
            return await self._not_taken(delivery, refusal)
        except Exception as error:
            _log.warning("delivery %s failed", delivery.id, exc_info=error)
            return await self._unknown(delivery, channel, clean(f"{UNKNOWN}: {error}"))
        return await self._store.commit(sent, delivery, receipt, self._clock.ms(), shared=self._unified)

    async def _not_taken(self, delivery: Delivery, refusal: NotTaken) -> Sequence[Event]:
        now = self._clock.ms()
        reason = clean(str(refusal))
        if delivery.attempt >= MOST_ATTEMPTS:
            return await self._store.commit(failed, delivery, reason, now)
        pause = refusal.retry_after if refusal.retry_after is not None else 2.0**delivery.attempt
        await self._store.commit(put_back, delivery, now + round(pause * 1000), reason)
        return ()

    async def _unknown(self, delivery: Delivery, channel: Channel | None, reason: str) -> Sequence[Event]:
        now = self._clock.ms()
        if channel and channel.idempotent and delivery.attempt < MOST_ATTEMPTS:
            await self._store.commit(put_back, delivery, now + 1000 * 2**delivery.attempt, reason)
            return ()
        return await self._store.commit(failed, delivery, reason, now)

    async def take_back_expired(self) -> int:
        """Deliveries whose courier was lost in the middle of a send."""
        expired = await self._store.expired_deliveries(MOST_AT_ONCE)
        for delivery in expired:
            channel = self._channels.get(delivery.channel)
            try:
                if channel is None:  # stored is sent, and it was not stored: nothing left the house
                    await self._store.commit(put_back, delivery, self._clock.ms(), UNKNOWN)
                else:
                    self._hub.publish(await self._unknown(delivery, channel, UNKNOWN))
            except (LeaseLost, NotFound):
                continue
        if expired:
            self._bell.ring(Name.COURIER)
        return len(expired)


def lease(*, holder: str, lease_ms: int, lease_now: int | None, now: int) -> Transaction[list[Delivery]]:
    leased = yield (
        sql.deliveries.lease,
        {"holder": holder, "lease_ms": lease_ms, "lease_now": lease_now, "now": now, "limit": MOST_AT_ONCE},
    )
    return [rows.delivery(row) for row in leased]


def sent(
    delivery: Delivery, receipt: Receipt, now: int, *, shared: bool = False
) -> Transaction[Sequence[Event]]:
    """Marked and in the transcript together, as the assistant's own words.

    `shared`: in unified mode, in the common transcript too.
    """
    common = (yield from lane.common_of(delivery.session_id)) if shared else None
    session = yield from lane.lock_session(delivery.session_id)
    marked: Params = {
        "id": delivery.id,
        "fence": delivery.fence,
        "now": now,
        "sent_message_id": receipt.message_id,
    }
    taken = yield sql.deliveries.mark_sent, marked
    if not taken:
        raise LeaseLost(f"delivery {delivery.id} is no longer held")
    if delivery.source is None or delivery.turn_id is not None:  # a turn's answer stands there already
        return ()
    yield from settle.close_run(delivery.source, closure.answered(delivery.content, {}), now)
    message = _message(delivery, now, "assistant", delivery.content)
    events = [*(yield from lane.post(session, [message]))]
    if common is not None:
        events += yield from lane.share(common, session, [message])
    return events


def failed(delivery: Delivery, reason: str, now: int) -> Transaction[Sequence[Event]]:
    session = yield from lane.lock_session(delivery.session_id)
    taken = yield sql.deliveries.mark_failed, {"id": delivery.id, "fence": delivery.fence, "error": reason}
    if not taken:
        raise LeaseLost(f"delivery {delivery.id} is no longer held")
    words = f"A message could not be delivered ({reason.partition(':')[0]})."
    if delivery.source and delivery.turn_id is None:
        paused = yield from settle.close_run(delivery.source, closure.failed(reason), now)
        words = f"{words}\n\n{paused}" if paused else words
    return (yield from lane.post(session, [_message(delivery, now, "system", words)]))


def put_back(delivery: Delivery, not_before: int, reason: str) -> Transaction[None]:
    again: Params = {"id": delivery.id, "fence": delivery.fence, "not_before": not_before, "error": reason}
    taken = yield sql.deliveries.put_back, again
    if not taken:
        raise LeaseLost(f"delivery {delivery.id} is no longer held")


def _message(delivery: Delivery, now: int, role: str, words: str) -> Event:
    return Event(
        session_id=delivery.session_id,
        seq=0,
        type="message",
        at=now,
        role=role,
        content=words,
        source=delivery.source,
        body={"delivery_id": delivery.id},
    )
