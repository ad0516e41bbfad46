"""Showing: what is being said, in a channel that can change a message after it was sent.

The complete answer is the courier's to send. Here its beginning is shown while it grows, as well as may be:
what is not shown is lost to nobody.
"""

import asyncio
import logging

from segue.errors import NotFound
from segue.kernel.live.hub import EVERYTHING, Hub
from segue.kernel.live.running import RunningTurns
from segue.model.channel import Channel
from segue.model.records import Event
from segue.store.store import Store
from segue.times.clock import Clock

_log = logging.getLogger(__name__)

_PAUSE_MS = 1500
"""Between two looks; chats do not want to be edited more often."""


class LivePreview:
    def __init__(self, store: Store, clock: Clock, hub: Hub, turns: RunningTurns, channel: Channel) -> None:
        self._store = store
        self._clock = clock
        self._hub = hub
        self._turns = turns
        self._channel = channel

    async def run(self) -> None:
        with self._hub.listen(EVERYTHING) as listener:
            async with asyncio.TaskGroup() as shown:
                while True:
                    heard = await listener.next()
                    if isinstance(heard, Event) and heard.type == "stream_start" and heard.turn_id:
                        shown.create_task(self._show(heard.turn_id, heard.via_id or heard.session_id))

    async def _show(self, turn_id: str, session_id: str) -> None:
        try:
            session = await self._store.session_by_id(session_id)
            if session.channel != self._channel.name:
                return
            metadata = await self._store.place_of_answer(session, turn_id)
            said = ""
            while (live := self._turns.get(turn_id)) is not None:
                if live.text != said:
                    said = live.text
                    await self._channel.show(session.chat_id, turn_id, said, metadata=metadata)
                await self._clock.wait(asyncio.Event(), self._clock.ms() + _PAUSE_MS)
        except NotFound:
            return  # its session was deleted
        except Exception:
            _log.exception("turn %s is not shown while it goes on", turn_id)
