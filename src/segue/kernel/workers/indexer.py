"""Indexer: adds new messages to the full-text index, soon after they are written.

A turn only counts its write in the row of the session's activity. The messages of a database that is older
than the index are added in the same way, the most recently active sessions first.
"""

import asyncio

from segue.kernel.transactions.memory.index_messages import Unindexed, index
from segue.kernel.transactions.result import Name
from segue.kernel.workers.worker_context import WorkerContext
from segue.model.records import Owner
from segue.store import queries
from segue.store.database import Params, Row

HOUR_MS = 3_600_000
_REST = 9
"""How much longer it rests than it works: turns have nine tenths of the time, also while an old database is
indexed."""


class Indexer:
    def __init__(self, context: WorkerContext) -> None:
        self._context = context
        self._store = context.store
        self._clock = context.clock
        self._tuning = context.tuning

    async def run(self) -> None:
        while True:
            began = self._clock.steady_ms()
            if await self.step():
                took = self._clock.steady_ms() - began
                await self._context.pause(max(took * _REST, self._tuning.indexer_pause_ms))
            else:
                await self._context.bell.wait(Name.INDEXER, self._clock.ms() + HOUR_MS)

    async def step(self) -> int:
        """Index the next messages of some sessions. Returns how many sessions were waiting."""
        params: Params = {"limit": self._tuning.indexed_sessions}
        waiting = await self._store.database.read(queries.message_index.unindexed, params)
        # At the same time, so that they share a commit.
        await asyncio.gather(*map(self._index, waiting))
        return len(waiting)

    async def _index(self, row: Row) -> None:
        most = self._tuning.indexed_messages
        params: Params = {"session_id": row["session_id"], "after": row["indexed_seq"], "limit": most}
        messages = await self._store.database.read(queries.message_index.messages_after, params)
        session = Unindexed(
            session_id=row["session_id"],
            owner=Owner(row["account"], row["user_id"]),
            after=row["indexed_seq"],
            messages=messages,
            writes=row["unindexed"] if len(messages) < most else 0,
        )
        await self._store.commit(index, session)
