"""The courier: written messages go out through their channels.

A delivery is leased before it is sent, and the lease is kept up while the channel is at it. After a crash
between send and mark nobody knows whether it arrived, so it is repeated only where a repeat cannot double:
the channel knows the delivery's id, or it refused the message before taking it. Otherwise it ends as failed,
and says so.

Invariants
  - a courier takes only what is for a channel that it has; the rest waits for a process that has it, and
    after a day ends as failed
  - of a session one delivery is under way at a time, so its messages keep their order
  - a channel that hangs holds up its own messages and nobody else's
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from segue.errors import LeaseLost, NotFound, StoreError
from segue.kernel.live.bell import Bell, Name
from segue.kernel.live.hub import Hub
from segue.kernel.transactions.deliveries import UNKNOWN, failed, keep, lease, put_back, sent
from segue.kernel.workers.rate_limit import TokenBucket
from segue.kernel.workers.retry import retry_until_stored
from segue.model.channel import Channel, NotTaken, Rejected, Unreachable, stored_names
from segue.model.records import Delivery, Event
from segue.model.redaction import redact
from segue.model.text_checks import clean
from segue.store.database import Begin, T
from segue.store.queues import EVERY_CHANNEL
from segue.store.store import Store
from segue.times.clock import Clock

_log = logging.getLogger(__name__)

MOST_AT_ONCE = 100
"""Under way in one process, for each channel."""
MOST_ATTEMPTS = 5
_A_DAY_MS = 86_400_000
_LONGEST_PAUSE_MS = 300_000
_BREATH_MS = 1000
_LONGEST_REASON = 300
_STORED = ""
"""In place of a name: all channels for which stored is sent."""


class Courier:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        bell: Bell,
        hub: Hub,
        channels: Mapping[str, Channel] | None,
        *,
        holder: str,
        lease_ms: int,
        send_seconds: float,
        unified: bool,
    ) -> None:
        """Without `channels`, everybody reads the log: whatever the session, stored is sent."""
        self._store = store
        self._clock = clock
        self._bell = bell
        self._hub = hub
        self._networks = {
            name: channel for name, channel in (channels or {}).items() if not channel.capabilities.stored
        }
        self._stored = EVERY_CHANNEL if channels is None else _names(stored_names(channels.values()))
        self._mine = EVERY_CHANNEL if channels is None else self._stored + _names(self._networks)
        self._paces = {
            name: TokenBucket(pace)
            for name, channel in self._networks.items()
            if (pace := channel.capabilities.per_second) is not None
        }
        self._holder = holder
        self._lease_ms = lease_ms
        self._send_seconds = send_seconds
        self._unified = unified
        self._under_way: Counter[str] = Counter()
        self._held: dict[str, Delivery] = {}
        self._closing = False

    async def run(self) -> None:
        """Until closed; then what is under way is seen through."""
        async with asyncio.TaskGroup() as group:
            renewing = group.create_task(self._keep_up())
            async with asyncio.TaskGroup() as sending:
                while not self._closing:
                    leased = await self._lease_or_breathe()
                    for delivery in leased:
                        sending.create_task(self._take_out(delivery))
                    if not leased and not self._closing:
                        await self._rest()
            renewing.cancel()

    async def step(self) -> int:
        """Send what is due; how many deliveries that were."""
        leased = await self._lease()
        async with asyncio.TaskGroup() as sending:
            for delivery in leased:
                sending.create_task(self._take_out(delivery))
        return len(leased)

    def close(self) -> None:
        """Take nothing more."""
        self._closing = True
        self._bell.ring(Name.COURIER)

    async def _lease_or_breathe(self) -> list[Delivery]:
        try:
            return await self._lease()
        except Exception:
            _log.exception("no delivery could be leased")
            await self._clock.wait(asyncio.Event(), self._clock.ms() + _BREATH_MS)
            return []

    async def _lease(self) -> list[Delivery]:
        now = self._clock.ms()
        leased: list[Delivery] = []
        for name, limit in self._free(now):
            found = await self._store.commit(
                lease,
                channels=self._stored if name == _STORED else _names([name]),
                limit=limit,
                holder=self._holder,
                lease_ms=self._lease_ms,
                lease_now=self._store.lease_now(),
                now=now,
                since=await self._store.waiting_since(),
            )
            self._under_way[name] += len(found)
            if name in self._paces:
                self._paces[name].take(len(found), now)
            leased += found
        return leased

    def _free(self, now: int) -> Iterator[tuple[str, int]]:
        """Which channels may take something now, and how much."""
        for name in (_STORED, *self._networks):
            free = MOST_AT_ONCE - self._under_way[name]
            if name in self._paces:
                free = min(free, self._paces[name].allows(now))
            if free > 0:
                yield name, free

    async def _rest(self) -> None:
        while not await self._bell.wait(Name.COURIER, await self._next_moment()):
            pass

    async def _next_moment(self) -> int | None:
        """When there will be something to send, as far as it is known."""
        now = self._clock.ms()
        free = [name for name, _ in self._free(now)]
        paced = [pace.next_at(now) for name, pace in self._paces.items() if name not in free]
        try:
            soonest = await self._store.next_delivery(self._named(free))
        except StoreError:
            soonest = now + _BREATH_MS
        return min(paced + ([] if soonest is None else [soonest]), default=None)

    def _named(self, free: Sequence[str]) -> str:
        if self._stored == EVERY_CHANNEL:
            return EVERY_CHANNEL
        networks = _names(name for name in free if name != _STORED)
        return networks + (self._stored if _STORED in free else "")

    async def _take_out(self, delivery: Delivery) -> None:
        self._held[delivery.id] = delivery
        try:
            self._tell(await self._send(delivery))
        except (LeaseLost, NotFound) as lost:
            _log.warning("delivery %s was let go: %s", delivery.id, lost)
        except Exception:
            # Nothing was marked. The lease runs out, and what becomes of it is decided then.
            _log.exception("delivery %s could not be marked", delivery.id)
        finally:
            if self._held.get(delivery.id) is delivery:  # or it came back here under a newer lease
                del self._held[delivery.id]
            self._under_way[delivery.channel if delivery.channel in self._networks else _STORED] -= 1
            self._bell.ring(Name.COURIER)

    async def _send(self, delivery: Delivery) -> Sequence[Event]:
        channel = self._networks.get(delivery.channel)
        try:
            receipt = None
            if channel is not None:
                async with asyncio.timeout(self._send_seconds):
                    receipt = await channel.send(delivery)
        except NotTaken as refusal:
            return await self._not_taken(delivery, refusal)
        except Exception as error:
            _log.warning("delivery %s failed", delivery.id, exc_info=error)
            words = "it took too long" if isinstance(error, TimeoutError) else str(error)
            return await self._unknown(delivery, channel, _told(f"{UNKNOWN}: {words}"))
        now = self._clock.ms()
        events = await self._write(delivery, partial(sent, delivery, receipt, now, shared=self._unified))
        self._hub.sent(delivery, now)
        return events

    async def _not_taken(self, delivery: Delivery, refusal: NotTaken) -> Sequence[Event]:
        now = self._clock.ms()
        reason = _told(str(refusal))
        if _is_the_last(delivery, refusal, now):
            return await self._write(delivery, partial(failed, delivery, reason, now))
        pause_ms = min(_LONGEST_PAUSE_MS, 1000 * 2**delivery.attempt)
        if refusal.retry_after is not None:
            pause_ms = round(refusal.retry_after * 1000)
        await self._write(delivery, partial(put_back, delivery, now + pause_ms, reason))
        return ()

    async def _unknown(self, delivery: Delivery, channel: Channel | None, reason: str) -> Sequence[Event]:
        now = self._clock.ms()
        # Where stored is sent, and it was not stored, nothing left the house.
        repeatable = channel is None or channel.capabilities.idempotent
        if repeatable and (channel is None or delivery.attempt < MOST_ATTEMPTS):
            pause_ms = 0 if channel is None else 1000 * 2**delivery.attempt
            await self._write(delivery, partial(put_back, delivery, now + pause_ms, reason))
            return ()
        return await self._write(delivery, partial(failed, delivery, reason, now))

    async def _write(self, delivery: Delivery, became: Begin[T]) -> T:
        """What became of it. A store that is away must not make a message unknown that was sent."""
        return await retry_until_stored(
            f"delivery {delivery.id}", self._clock, lambda: self._store.commit(became)
        )

    async def _keep_up(self) -> None:
        """Whoever is still at it keeps its lease, however slow the channel is."""
        while True:
            await self._clock.wait(asyncio.Event(), self._clock.ms() + self._lease_ms // 3)
            try:
                await self.renew()
            except StoreError as error:
                _log.warning("the leases of deliveries could not be renewed: %s", error)

    async def renew(self) -> None:
        held = list(self._held.values())
        if held:
            await self._store.commit(keep, held, lease_ms=self._lease_ms, lease_now=self._store.lease_now())

    async def take_back_expired(self) -> int:
        """Deliveries whose courier was lost in the middle of a send, and those that no courier comes for."""
        lost = await self._store.expired_deliveries(self._mine, MOST_AT_ONCE)
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

    async def _settle(self, settling: Coroutine[Any, Any, Sequence[Event]]) -> None:
        with suppress(LeaseLost, NotFound):  # somebody else was faster, or its session is gone
            self._tell(await settling)

    def _tell(self, events: Sequence[Event]) -> None:
        self._hub.publish(events)
        if events:  # the session has grown, perhaps enough to be committed
            self._bell.ring(Name.ARCHIVIST)


def _names(names: Iterable[str]) -> str:
    """As the queries read them: each between commas."""
    return "".join(f",{name}," for name in sorted(names))


def _told(reason: str) -> str:
    """A channel's own words, as they may be kept and shown: one short line without secrets."""
    line = " ".join(redact(clean(reason)).split())
    return line if len(line) <= _LONGEST_REASON else f"{line[: _LONGEST_REASON - 1]}…"


def _is_the_last(delivery: Delivery, refusal: NotTaken, now: int) -> bool:
    if isinstance(refusal, Rejected):
        return True
    if isinstance(refusal, Unreachable) or refusal.retry_after is not None:
        return now - delivery.created_at >= _A_DAY_MS
    return delivery.attempt >= MOST_ATTEMPTS
