"""Deleting: a conversation goes whole, and nothing of it by surprise."""

import asyncio

from segue.kernel.api.base import OPERATOR
from segue.kernel.api.turns import TurnsApi
from segue.kernel.live.bell import Name
from segue.kernel.live.running import CancelReason
from segue.kernel.transactions import lane, sessions
from segue.model.records import Asker, Session
from segue.model.text_checks import check_key

_PATIENCE_SECONDS = 2.0
"""How long a turn that was told to stop may take to end; then its session goes without its last word."""


class SessionsApi(TurnsApi):
    async def delete(self, key: str, *, with_jobs: bool = False, owner: Asker = OPERATOR) -> None:
        """Delete a session with all that is in it. A turn that runs in it is over with it. Raises
        `SessionHasJobs` when it has active or paused jobs of kind `cron`, unless `with_jobs`; jobs of other
        kinds go without being asked about. Raises `NotFound`.
        """
        session = await self.session(check_key(key), owner=owner)
        await self.store.commit(sessions.check_jobs, session, with_jobs=with_jobs)
        await self._stop_first(session)
        left = await self.store.commit(
            sessions.delete, session, with_jobs=with_jobs, now=self.clock.ms(), shared=self.is_shared(key)
        )
        self.hub.publish(left.events)
        self.bell.ring(Name.KEEPER, Name.USER, Name.SCHEDULE)
        self.hub.look_again()  # whoever waits for a turn of it looks, and finds it gone

    async def _stop_first(self, session: Session) -> None:
        place = await self.lane_of(session)
        running = await self.store.running_turn(place.id)
        if running is None or session.id not in (running.session_id, running.via_id):
            return
        if running.run_id and place.id != session.id:
            run = await self.store.run(running.run_id)
            if run.session_id == place.id:  # a job of all chats: it speaks through another one
                return
        await self.store.commit(lane.stop, place.id)
        self.bell.ring(Name.KEEPER)
        if live := self.workers.turns.get(running.id):
            live.cancel(CancelReason.STOPPED, self.clock.steady_ms())
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                await self.wait(running.id, owner=session.owner)
        except TimeoutError:  # its worker is lost, or its agent does not listen: what it writes will miss
            return
