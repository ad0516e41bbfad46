"""Forwarding database: passes every call on to another database; a base class for test doubles."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from segue.store.database import Begin, Database, Params, Rows, T
from segue.store.queries import Query


class ForwardingDatabase:
    def __init__(self, database: Database) -> None:
        self._database = database
        self.dialect = database.dialect
        self.last_write = database.last_write
        self.scans = database.scans

    async def run(self, begin: Begin[T]) -> T:
        return await self._database.run(begin)

    async def run_alone(self, begin: Begin[T]) -> T:
        return await self._database.run_alone(begin)

    async def read(self, query: Query, params: Params) -> Rows:
        return await self._database.read(query, params)

    def watch(
        self, ring: Callable[[], None], watched: Callable[[str], None] | None = None
    ) -> AbstractAsyncContextManager[None]:
        return self._database.watch(ring, watched)

    def follow_turn(self, turn_id: str) -> None:
        self._database.follow_turn(turn_id)

    def wall_ms(self) -> int:
        return self._database.wall_ms()

    def lease_now(self) -> int | None:
        return self._database.lease_now()

    async def close(self) -> None:
        await self._database.close()
