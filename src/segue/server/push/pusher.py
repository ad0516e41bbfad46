"""Pusher: tells the devices of an owner that something was said to them.

Runs in every server process. It claims a session's news in the database, so that one process pushes it. A
push is a notification of the page, not a delivery: no turn waits for it, and a crash may lose it.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from segue.config import Configuration
from segue.errors import BadSetting, MissingPackage, NotFound, StoreError
from segue.extras import needed_for
from segue.kernel.kernel import Kernel
from segue.model.records import News, PushSubscription
from segue.record import positional, record
from segue.server.auth import ApiKeys

if TYPE_CHECKING:
    import httpx2

    from segue.server.push.vapid import VapidKey

_log = logging.getLogger(__name__)

MOST_ATTEMPTS = 5
_MOST_WAITING = 1000
"""Messages that are being sent, or wait to be sent again. More are dropped: the page shows them."""
_AT_ONCE = 20


@record
class PushSettings:
    grace_ms: int = 1000
    """Time for a visible page to mark a message as read before devices are told of it."""
    first_pause_seconds: float = 2.0
    """Pause before the second attempt. Each further pause is four times as long."""


DEFAULTS = PushSettings()


@positional
class Notice:
    """What one device is told."""

    device: PushSubscription
    session: str
    unread: int
    """In all sessions of the owner, for the badge of the app."""

    @property
    def content(self) -> bytes:
        """No text and no title: the device asks its own server for them."""
        return json.dumps({"session": self.session, "unread": self.unread}).encode()


class Pusher:
    def __init__(
        self, kernel: Kernel, configuration: Configuration, keys: ApiKeys, settings: PushSettings
    ) -> None:
        self._kernel = kernel
        self._configuration = configuration
        self._keys = keys
        self._settings = settings
        self._waiting = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(self._run())
            try:
                yield
            finally:
                task.cancel()

    async def _run(self) -> None:
        try:
            with needed_for("Web Push", "push"):
                await asyncio.to_thread(import_module, "segue.server.push.send")
        except MissingPackage:  # then no device can subscribe
            return
        from segue.server.push.send import push_client
        from segue.server.push.vapid import VapidKeyFile

        self._at_once = asyncio.Semaphore(_AT_ONCE)
        key_file = VapidKeyFile(self._configuration.data)
        async with push_client() as client, asyncio.TaskGroup() as sending:
            while True:
                try:
                    key = await asyncio.to_thread(key_file.read)
                    if key is not None:
                        for notice in await self._notices(key):
                            sending.create_task(self._deliver(client, key, notice))
                except (BadSetting, StoreError) as error:
                    _log.warning("news not pushed: %s", error)
                await self._kernel.push.wait(None)
                await self._pause(self._settings.grace_ms)

    async def _notices(self, key: "VapidKey") -> list[Notice]:
        """Claim what is new, and return what each device is told of it."""
        notices = []
        for news in await self._kernel.push.claim(key.public):
            devices = await self._devices(news, key)
            unread = await self._kernel.push.unread(news.owner) if devices else 0
            notices += [Notice(device, news.key, unread) for device in devices]
        free = _MOST_WAITING - self._waiting
        if len(notices) > free:
            _log.warning("news not pushed: %d notices are waiting", self._waiting)
        return notices[:free]

    async def _devices(self, news: News, key: "VapidKey") -> list[PushSubscription]:
        if self._keys and not self._keys.has_owner(news.owner):
            return []
        now = self._kernel.clock.ms()
        devices = await self._kernel.push.devices(news.owner)
        return [each for each in devices if each.vapid_key == key.public and each.visible_until <= now]

    async def _deliver(self, client: "httpx2.AsyncClient", key: "VapidKey", notice: Notice) -> None:
        self._waiting += 1
        try:
            await self._try(client, key, notice)
        except Exception:
            _log.exception("push failed: subscription %s", notice.device.id)
        finally:
            self._waiting -= 1

    async def _try(self, client: "httpx2.AsyncClient", key: "VapidKey", notice: Notice) -> None:
        from segue.server.push.send import PushResult, send

        device, pause = notice.device, self._settings.first_pause_seconds
        service = urlsplit(device.endpoint).hostname
        for attempt in range(1, MOST_ATTEMPTS + 1):
            async with self._at_once:
                outcome = await send(
                    client,
                    device,
                    key,
                    notice.content,
                    topic=notice.session,
                    now_ms=self._kernel.clock.ms(),
                    private=self._configuration.fetch_private,
                )
            if outcome.result is PushResult.SENT:
                return
            told = (device.id, service, outcome.reason)
            if outcome.result is PushResult.GONE:
                _log.info("push subscription ended: subscription %s at %s: %s", *told)
                with suppress(NotFound):
                    await self._kernel.push.unsubscribe(device.id, owner=device.owner)
                return
            if outcome.result is PushResult.REFUSED or attempt == MOST_ATTEMPTS:
                _log.warning("push abandoned: subscription %s at %s: %s", *told)
                return
            _log.info("push retrying: subscription %s at %s: %s", *told)
            await self._pause(round(1000 * max(pause, outcome.retry_after or 0)))
            pause *= 4

    async def _pause(self, milliseconds: int) -> None:
        clock = self._kernel.clock
        await clock.wait(asyncio.Event(), clock.ms() + milliseconds)
