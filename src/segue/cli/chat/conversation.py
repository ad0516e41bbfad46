"""Chat client: sends the user's messages and follows the events of the session."""

import asyncio
import logging
from typing import Protocol

from segue.errors import AlreadyStarted, NotFound, StoreError
from segue.kernel.kernel import Kernel
from segue.kernel.live.hub import LiveText
from segue.model.records import Asker, Event, Turn

_log = logging.getLogger(__name__)

_RETRY_MS = 1000


class ChatDisplay(Protocol):
    def expect(self, turn_id: str, position: int) -> None:
        """This client started the turn. `position` turns are before it in the queue."""

    def show(self, item: Event | LiveText) -> None: ...


class ChatClient:
    """Runs in the kernel's event loop."""

    def __init__(self, kernel: Kernel, key: str, owner: Asker, display: ChatDisplay, *, after: int) -> None:
        """`after`: the newest `seq` of the log, so that no event before `listen` is missed."""
        self._kernel = kernel
        self._key = key
        self._owner = owner
        self._display = display
        self._after = after
        self._listening = True
        self._ended: set[str] = set()
        self._changed = asyncio.Condition()
        self._turn_id: str | None = None

    async def listen(self) -> None:
        """Follow the session until cancelled or deleted. If the database is unavailable, retry every second
        without losing events."""
        try:
            while True:
                try:
                    await self._follow()
                except StoreError as error:
                    _log.warning("retrying: session %s cannot be followed: %s", self._key, error)
                    await self._kernel.clock.wait(asyncio.Event(), self._kernel.clock.ms() + _RETRY_MS)
        except NotFound:
            _log.warning("session deleted: %s", self._key)
        finally:
            self._listening = False
            await self._notify()

    async def retry(self) -> Turn:
        """Ask the user's last message again, in place of its turn, as `say` does. Raises `NotFound`."""
        turns = await self._kernel.turns.list(self._key, owner=self._owner)
        last = next((turn for turn in turns if turn.source is None), None)
        if last is None:
            raise NotFound("there is no message to ask again; write one")
        return await self.say("", replaces=last.joined_into or last.id)

    async def say(self, text: str, *, replaces: str | None = None) -> Turn:
        """Send a message and return its turn when the turn has ended and its events were displayed."""
        self._turn_id = None
        admitted = await self._kernel.receive(self._key, text, owner=self._owner, replaces=replaces)
        self._display.expect(admitted.turn_id, admitted.position)
        self._turn_id = admitted.turn_id
        await self._notify()
        turn = await self._kernel.wait(admitted)
        if turn.started_at is not None:
            async with self._changed:
                await self._changed.wait_for(lambda: turn.id in self._ended or not self._listening)
        return turn

    async def stop(self) -> None:
        """Cancel the user's turn if it is queued, or stop it if it is running."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._turn_id is not None)
        try:
            await self._kernel.turns.cancel(self._turn_id or "", owner=self._owner)
        except AlreadyStarted:
            await self._kernel.turns.stop(self._key, owner=self._owner)

    async def _follow(self) -> None:
        async for item in self._kernel.follow(self._key, owner=self._owner, after=self._after):
            self._display.show(item)
            if isinstance(item, Event):
                self._after = item.seq
                if item.type == "session_sync" and item.turn_id is not None:
                    self._ended.add(item.turn_id)
                    await self._notify()

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()
