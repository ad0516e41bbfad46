"""Reads: a named query, its parameters, and the records made of its rows."""

import logging
from collections.abc import Callable

from segue.errors import NotFound
from segue.model.records import Owner, PageStart
from segue.store.database import Database, Row, Rows, T, Value
from segue.store.queries import Query
from segue.store.rows.core import UNREADABLE

_log = logging.getLogger(__name__)


class Reads:
    """`convert` makes a record, or a value, of a row."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def _all(self, convert: Callable[[Row], T], query: Query, /, **params: Value) -> list[T]:
        return [convert(row) for row in await self.database.read(query, params)]

    async def _readable(
        self, what: str, convert: Callable[[Row], T], query: Query, /, **params: Value
    ) -> list[T]:
        return readable(await self.database.read(query, params), what, convert)

    async def _first(self, convert: Callable[[Row], T], query: Query, /, **params: Value) -> T | None:
        result = await self.database.read(query, params)
        return convert(result[0]) if result else None

    async def _one(self, what: str, convert: Callable[[Row], T], query: Query, /, **params: Value) -> T:
        """Raises `NotFound`."""
        result = await self.database.read(query, params)
        if not result:
            raise NotFound(f"there is no {what}")
        return convert(result[0])


def readable(result: Rows, what: str, convert: Callable[[Row], T]) -> list[T]:
    """The records of all readable rows. A row that this version cannot read is logged and left out."""
    records: list[T] = []
    for row in result:
        try:
            records.append(convert(row))
        except UNREADABLE as error:
            _log.warning("unreadable row left out: %s %s (%s)", what, row["id"], error)
    return records


def owned_by(owner: Owner) -> dict[str, Value]:
    return {"account": owner.account, "user_id": owner.user}


def page(before: PageStart) -> dict[str, Value]:
    """The parameters of a list, newest first, that goes on after its last page."""
    return {"before": before.at, "before_id": before.id}
