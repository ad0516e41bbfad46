"""Deletes sessions, with a check for jobs that the user may want to keep."""

import asyncio

from segue.kernel.api.base import OPERATOR
from segue.kernel.api.turns import TurnsApi
from segue.kernel.live.running import CancelReason
from segue.kernel.transactions import lane, sessions
from segue.kernel.transactions.result import Name
from segue.model.records import Asker, Session
from segue.model.text_checks import check_key

_PATIENCE_SECONDS = 2.0
"""How long a stopped turn may take to end before its session is deleted without its last message."""


class SessionsApi(TurnsApi):
    async def delete(self, key: str, *, with_jobs: bool = False, owner: Asker = OPERATOR) -> None:
        """Deletes a session with everything in it; a running turn is stopped.

        Raises `SessionHasJobs` when the session has active or paused jobs of kind `cron`, unless `with_jobs`
        is set; jobs of other kinds are deleted without this check. Raises `NotFound`.
        """
        session = await self.session(check_key(key), owner=owner)
        await self.store.commit(sessions.check_jobs, session, with_jobs=with_jobs)
        await self._stop_first(session)
        left = await self.store.commit(
            sessions.delete, session, with_jobs=with_jobs, now=self.clock.ms(), shared=self.is_shared(key)
        )
        self.workers.context.announce(left)
        self.hub.look_again()  # callers that wait for one of its turns now get NotFound

    async def _stop_first(self, session: Session) -> None:
        lane_session = await self.lane_of(session)
        running = await self.store.running_turn(lane_session.id)
        if running is None or session.id not in (running.session_id, running.via_id):
            return
        if running.run_id and lane_session.id != session.id:
            run = await self.store.run(running.run_id)
            if run.session_id == lane_session.id:  # a job of all chats: it answers in another one
                return
        await self.store.commit(lane.stop, lane_session.id)
        self.bell.ring(Name.KEEPER)
        if running_here := self.workers.turns.get(running.id):
            running_here.cancel(CancelReason.STOPPED, self.clock.steady_ms())
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                await self.wait(running.id, owner=session.owner)
        except TimeoutError:  # its worker is lost or its agent ignores the stop; the fence rejects its writes
            return
