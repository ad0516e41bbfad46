"""Courier: sends deliveries through their channels.

A delivery is leased before it is sent, and the lease is renewed while the channel sends. After a crash
between the send and its mark, it is not known whether the message arrived. It is then repeated only if a
repeat cannot duplicate it: the channel recognises the delivery's id, or refused the message. Otherwise it
ends as failed, and its session says so.

Invariants
  - a courier leases only deliveries for its own channels; the others wait for a process that has their
    channel, and fail after a day
  - one delivery of a session is sent at a time, so its messages keep their order
  - a channel that hangs delays only its own messages
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from segue.errors import LeaseLost, NotFound, StoreError
from segue.kernel.transactions.deliveries import UNKNOWN, failed, lease, renew, requeue, sent
from segue.kernel.transactions.result import Name, Result
from segue.kernel.workers.rate_limit import TokenBucket
from segue.kernel.workers.worker_context import WorkerContext
from segue.model.channel import Channel, NotTaken, Rejected, Unreachable, stored_names
from segue.model.files import text_of
from segue.model.records import Delivery
from segue.model.redaction import redact
from segue.model.text_checks import clean
from segue.store.database import Begin, T
from segue.store.queues import EVERY_CHANNEL

_log = logging.getLogger(__name__)

MOST_AT_ONCE = 100
"""Deliveries sent at once, for each channel of a process."""
MOST_ATTEMPTS = 5
_A_DAY_MS = 86_400_000
_LONGEST_PAUSE_MS = 300_000
_LONGEST_REASON = 300
_STORED = ""
"""Stands for all channels whose clients read the log: for those, storing a message is sending it."""


class Courier:
    def __init__(self, context: WorkerContext) -> None:
        self._context = context
        self._store = context.store
        self._clock = context.clock
        self._bell = context.bell
        channels = context.channels
        self._networks = {
            name: channel for name, channel in (channels or {}).items() if not channel.capabilities.stored
        }
        self._stored = EVERY_CHANNEL if channels is None else _channel_list(stored_names(channels.values()))
        self._own_channels = (
            EVERY_CHANNEL if channels is None else self._stored + _channel_list(self._networks)
        )
        self._rate_limits = {
            name: TokenBucket(rate)
            for name, channel in self._networks.items()
            if (rate := channel.capabilities.per_second) is not None
        }
        self._sending: Counter[str] = Counter()
        self._held: dict[str, Delivery] = {}
        self._closing = False

    async def run(self) -> None:
        """Send deliveries until closed; then wait for those being sent."""
        async with asyncio.TaskGroup() as group:
            renewing = group.create_task(self._renew_leases())
            async with asyncio.TaskGroup() as sending:
                while not self._closing:
                    leased = await self._try_lease()
                    for delivery in leased:
                        sending.create_task(self._deliver(delivery))
                    if not leased and not self._closing:
                        await self._wait_for_work()
            renewing.cancel()

    async def step(self) -> int:
        """Send what is due. Returns how many deliveries there were."""
        leased = await self._lease()
        async with asyncio.TaskGroup() as sending:
            for delivery in leased:
                sending.create_task(self._deliver(delivery))
        return len(leased)

    def close(self) -> None:
        """Lease no more deliveries."""
        self._closing = True
        self._bell.ring(Name.COURIER)

    async def _try_lease(self) -> list[Delivery]:
        try:
            return await self._lease()
        except Exception:
            _log.exception("lease of deliveries failed, retrying")
            await self._context.pause(self._context.tuning.retry_ms)
            return []

    async def _lease(self) -> list[Delivery]:
        now = self._clock.ms()
        free = dict(self._free(now))
        if not free:
            return []
        batches = await self._store.commit(
            lease,
            [
                (self._stored if name == _STORED else _channel_list([name]), limit)
                for name, limit in free.items()
            ],
            holder=self._context.holder,
            lease_ms=self._context.lease_ms,
            lease_now=self._store.lease_now(),
            now=now,
            since=await self._store.waiting_since(),
        )
        for name, batch in zip(free, batches, strict=True):
            self._sending[name] += len(batch)
            if name in self._rate_limits:
                self._rate_limits[name].take(len(batch), now)
        return [delivery for batch in batches for delivery in batch]

    def _free(self, now: int) -> Iterator[tuple[str, int]]:
        """The channels that may send now, and how many deliveries each."""
        for name in (_STORED, *self._networks):
            free = MOST_AT_ONCE - self._sending[name]
            if name in self._rate_limits:
                free = min(free, self._rate_limits[name].allows(now))
            if free > 0:
                yield name, free

    async def _wait_for_work(self) -> None:
        while not await self._bell.wait(Name.COURIER, await self.next_send_at()):
            pass

    async def next_send_at(self) -> int | None:
        """When a delivery can be sent next; None if that is not known."""
        now = self._clock.ms()
        free = [name for name, _ in self._free(now)]
        rate_limited = [limit.next_at(now) for name, limit in self._rate_limits.items() if name not in free]
        try:
            soonest = await self._store.next_delivery(self._channels_for(free))
        except StoreError:
            soonest = now + self._context.tuning.retry_ms
        return min(rate_limited + ([] if soonest is None else [soonest]), default=None)

    def _channels_for(self, free: Sequence[str]) -> str:
        if self._stored == EVERY_CHANNEL:
            return EVERY_CHANNEL
        networks = _channel_list(name for name in free if name != _STORED)
        return networks + (self._stored if _STORED in free else "")

    async def _deliver(self, delivery: Delivery) -> None:
        self._held[delivery.id] = delivery
        try:
            self._context.announce(await self._send(delivery))
        except (LeaseLost, NotFound) as lost:
            _log.warning("lease lost, delivery abandoned: delivery %s: %s", delivery.id, lost)
        except Exception:
            # The lease expires, and `reclaim_expired` decides.
            _log.exception("delivery not marked, left to the reaper: delivery %s", delivery.id)
        finally:
            if self._held.get(delivery.id) is delivery:  # else it was leased here again
                del self._held[delivery.id]
            self._sending[delivery.channel if delivery.channel in self._networks else _STORED] -= 1
            self._bell.ring(Name.COURIER)

    async def _send(self, delivery: Delivery) -> Result[None]:
        channel = self._networks.get(delivery.channel)
        try:
            receipt = None
            if channel is not None:
                delivery = await self._with_files(delivery, channel)
                async with asyncio.timeout(self._context.settings.send_timeout_seconds):
                    receipt = await channel.send(delivery)
        except NotTaken as refusal:
            return await self._not_taken(delivery, refusal)
        except Exception as error:
            _log.warning("send failed: delivery %s", delivery.id, exc_info=error)
            cause = "it took too long" if isinstance(error, TimeoutError) else str(error)
            return await self._unknown(delivery, channel, _shown_reason(f"{UNKNOWN}: {cause}"))
        now = self._clock.ms()
        lane_id = self._context.lane_id(now)
        marked = await self._write(delivery, partial(sent, delivery, receipt, now, lane_id=lane_id))
        self._tell(delivery, "sent", now)
        return marked

    async def _with_files(self, delivery: Delivery, channel: Channel) -> Delivery:
        """The delivery with the bytes of its files, or with their names for a channel that sends none."""
        if not delivery.parts:
            return delivery
        if not channel.capabilities.files:
            named = text_of(delivery.parts)
            return replace(delivery, content=f"{delivery.words}\n\n{named}".strip(), parts=())
        contents = {file.id: await self._store.file_content(file.id) for file in delivery.parts}
        return replace(delivery, contents=contents)

    async def _not_taken(self, delivery: Delivery, refusal: NotTaken) -> Result[None]:
        now = self._clock.ms()
        reason = _shown_reason(str(refusal))
        if _is_final(delivery, refusal, now):
            return await self._fail(delivery, reason, now)
        pause_ms = min(_LONGEST_PAUSE_MS, 1000 * 2**delivery.attempt)
        if refusal.retry_after is not None:
            pause_ms = round(refusal.retry_after * 1000)
        return await self._retry(delivery, now + pause_ms, reason, now)

    async def _unknown(self, delivery: Delivery, channel: Channel | None, reason: str) -> Result[None]:
        now = self._clock.ms()
        # Without a channel, storing is sending: it was not stored, so it was not sent.
        repeatable = channel is None or channel.capabilities.idempotent
        if repeatable and (channel is None or delivery.attempt < MOST_ATTEMPTS):
            pause_ms = 0 if channel is None else 1000 * 2**delivery.attempt
            return await self._retry(delivery, now + pause_ms, reason, now)
        return await self._fail(delivery, reason, now)

    async def _retry(self, delivery: Delivery, at: int, reason: str, now: int) -> Result[None]:
        requeued = await self._write(delivery, partial(requeue, delivery, at, reason))
        self._tell(delivery, "retried", now)
        return requeued

    async def _fail(self, delivery: Delivery, reason: str, now: int) -> Result[None]:
        marked = await self._write(delivery, partial(failed, delivery, reason, now))
        self._tell(delivery, "failed", now)
        return marked

    def _tell(self, delivery: Delivery, result: str, now: int) -> None:
        self._context.observers.tell(lambda observer: observer.delivery_ended(delivery, result, now))

    async def _write(self, delivery: Delivery, transaction: Begin[T]) -> T:
        """Store the outcome, and wait for the store: that a message was sent must not be lost."""
        return await self._context.commit_until_stored(f"delivery {delivery.id}", transaction)

    async def _renew_leases(self) -> None:
        """Renew the leases of deliveries being sent, however slow the channel is."""
        while True:
            await self._context.pause(self._context.lease_ms // 3)
            try:
                await self.renew()
            except StoreError as error:
                _log.warning("lease renewal of deliveries failed, retrying: %s", error)

    async def renew(self) -> None:
        held = list(self._held.values())
        if held:
            await self._store.commit(
                renew, held, lease_ms=self._context.lease_ms, lease_now=self._store.lease_now()
            )

    async def reclaim_expired(self) -> int:
        """End or requeue deliveries whose lease expired, and fail those whose channel no process has.

        Returns how many there were.
        """
        lost = await self._store.expired_deliveries(self._own_channels, MOST_AT_ONCE)
        for delivery in lost:
            await self._settle(self._unknown(delivery, self._networks.get(delivery.channel), UNKNOWN))
        now = self._clock.ms()
        stranded = await self._store.stranded_deliveries(now - _A_DAY_MS, MOST_AT_ONCE)
        for delivery in stranded:
            reason = f"no process had the channel {delivery.channel} for a day"
            await self._settle(self._store.commit(failed, delivery, reason, now))
        if lost:
            self._bell.ring(Name.COURIER)
        return len(lost) + len(stranded)

    async def _settle(self, settling: Coroutine[Any, Any, Result[None]]) -> None:
        with suppress(LeaseLost, NotFound):  # another process was faster, or the session was deleted
            self._context.announce(await settling)


def _channel_list(names: Iterable[str]) -> str:
    """Channel names as the queries expect them: each between commas."""
    return "".join(f",{name}," for name in sorted(names))


def _shown_reason(reason: str) -> str:
    """A channel's error as it is stored and shown: one short line without secrets."""
    line = " ".join(redact(clean(reason)).split())
    return line if len(line) <= _LONGEST_REASON else f"{line[: _LONGEST_REASON - 1]}…"


def _is_final(delivery: Delivery, refusal: NotTaken, now: int) -> bool:
    if isinstance(refusal, Rejected):
        return True
    if isinstance(refusal, Unreachable) or refusal.retry_after is not None:
        return now - delivery.created_at >= _A_DAY_MS
    return delivery.attempt >= MOST_ATTEMPTS
