"""One side of a conversation: says what the user says, and hears whatever happens in the session."""

import asyncio
import logging
from typing import Protocol

from segue.errors import AlreadyStarted, NotFound, StoreError
from segue.kernel.kernel import Kernel
from segue.kernel.live.hub import Heard
from segue.model.records import Asker, Event, Turn

_log = logging.getLogger(__name__)

_BREATH_MS = 1000


class ChatDisplay(Protocol):
    def expect(self, turn_id: str, position: int) -> None:
        """The turn was asked for here, and that many are before it."""

    def hear(self, heard: Heard) -> None: ...


class ChatClient:
    """Lives in the kernel's loop."""

    def __init__(self, kernel: Kernel, key: str, owner: Asker, ear: ChatDisplay, *, after: int) -> None:
        """`after`: the newest number of the log, so that nothing is missed that is said before it listens."""
        self._kernel = kernel
        self._key = key
        self._owner = owner
        self._ear = ear
        self._after = after
        self._listening = True
        self._ended: set[str] = set()
        self._news = asyncio.Condition()
        self._turn_id: str | None = None

    async def listen(self) -> None:
        """Until cancelled, or the session is deleted. A database that is away costs a breath, and no word."""
        try:
            while True:
                try:
                    await self._follow()
                except StoreError as error:
                    _log.warning("the session cannot be followed: %s", error)
                    await self._kernel.clock.wait(asyncio.Event(), self._kernel.clock.ms() + _BREATH_MS)
        except NotFound:
            _log.warning("the session %s was deleted", self._key)
        finally:
            self._listening = False
            await self._tell_waiters()

    async def say(self, text: str) -> Turn:
        """The user's turn, when it has ended and its end was heard here."""
        self._turn_id = None
        admitted = await self._kernel.receive(self._key, text, owner=self._owner)
        self._ear.expect(admitted.turn_id, admitted.position)
        self._turn_id = admitted.turn_id
        await self._tell_waiters()
        turn = await self._kernel.wait(admitted)
        if turn.started_at is not None:
            async with self._news:
                await self._news.wait_for(lambda: turn.id in self._ended or not self._listening)
        return turn

    async def stop(self) -> None:
        """Take the turn that was asked for out of its lane, or stop it if it runs."""
        async with self._news:
            await self._news.wait_for(lambda: self._turn_id is not None)
        try:
            await self._kernel.cancel(self._turn_id or "", owner=self._owner)
        except AlreadyStarted:
            await self._kernel.stop(self._key, owner=self._owner)

    async def _follow(self) -> None:
        async for heard in self._kernel.follow(self._key, owner=self._owner, after=self._after):
            self._ear.hear(heard)
            if isinstance(heard, Event):
                self._after = heard.seq
                if heard.type == "session_sync" and heard.turn_id is not None:
                    self._ended.add(heard.turn_id)
                    await self._tell_waiters()

    async def _tell_waiters(self) -> None:
        async with self._news:
            self._news.notify_all()
