"""Live preview: shows an answer while it grows, in a channel that can edit messages.

The courier sends the complete answer. The preview is best effort: if it fails, nothing is lost.
"""

import asyncio
import logging

from segue.errors import NotFound
from segue.kernel.live.hub import EVERYTHING
from segue.kernel.workers.worker_context import WorkerContext
from segue.model.channel import Channel
from segue.model.records import Event, Session

_log = logging.getLogger(__name__)

_PAUSE_MS = 1500
"""Between two edits; networks limit how often a message may be edited."""


class LivePreview:
    def __init__(self, context: WorkerContext, channel: Channel) -> None:
        self._context = context
        self._channel = channel

    async def run(self) -> None:
        with self._context.hub.listen(EVERYTHING) as listener:
            async with asyncio.TaskGroup() as previews:
                while True:
                    event = await listener.next()
                    if isinstance(event, Event) and event.type == "stream_start" and event.turn_id:
                        previews.create_task(self._show(event, event.turn_id))

    async def _show(self, event: Event, turn_id: str) -> None:
        try:
            session = await self._context.store.session_by_id(event.via_id or event.session_id)
            if session.channel != self._channel.name or self._may_wait(event, session):
                return
            metadata = await self._context.store.place_of_answer(session, turn_id)
            text = ""
            while (running := self._context.turns.get(turn_id)) is not None:
                if running.text != text:
                    text = running.text
                    await self._channel.show(session.chat_id, turn_id, text, metadata=metadata)
                await self._context.pause(_PAUSE_MS)
        except NotFound:
            return  # its session was deleted
        except Exception:
            _log.exception("live preview failed: turn %s", turn_id)

    def _may_wait(self, event: Event, session: Session) -> bool:
        """Whether the answer may have to wait, and must not be seen before. In unified mode the common
        session decides that, which is not read here."""
        settings = self._context.settings
        hours = session.quiet or session.digest or settings.quiet or settings.unified_session
        return event.source is not None and bool(hours)
