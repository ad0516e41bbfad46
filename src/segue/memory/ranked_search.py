"""Ranked search: finds an owner's memories and passages by their terms, their neighbours and their dates.

It reads the rows of one owner only. Frequent terms are not read in full: the rarest terms choose the
candidates, and the others count for the best of those. So the cost of a search has a limit, however many
passages an owner has.
"""

import asyncio
import logging
from collections.abc import Sequence
from datetime import UTC, datetime, time
from zoneinfo import ZoneInfo

from segue.memory.embedding import Embedder, fused, nearest_by_bits, similarity, stored_vector
from segue.memory.past_dates import Period, periods_in
from segue.memory.search import (
    MOST_ROWS,
    Terms,
    affordable,
    best_first,
    query_terms,
    score,
    with_neighbours,
)
from segue.model.memory import FoundMemory
from segue.model.records import Owner
from segue.record import record
from segue.store import queries
from segue.store.database import Database, Params, Rows
from segue.store.queries import Query
from segue.store.rows import core as rows
from segue.store.rows import memory as memory_rows
from segue.times.clock import to_moment, to_ms

_log = logging.getLogger(__name__)

_BEST = 100
"""Of the candidates, those whose neighbours and dates are looked up."""
_MOST_COUNTED = 10_000
"""Of an owner's memories: a term's rarity does not need to be known more exactly."""
_MOST_VECTORS = 100_000
_EMBED_SECONDS = 5.0
_IN_PERIOD = 50
_DATE_FACTOR = 2.0
"""What was said in a period that the question names counts so much more."""
_DATE_ALONE = 0.001
"""The score of a passage of that period which shares no term with the query."""


@record
class MemoryQuery:
    """What is searched for, and when and where it is asked: dates in it are relative to that."""

    text: str
    asked_at: datetime


def memory_query(text: str, now: int, zone: str | None) -> MemoryQuery:
    return MemoryQuery(text=text, asked_at=to_moment(now).astimezone(ZoneInfo(zone) if zone else UTC))


class RankedSearch:
    """The memories of one owner, as a search sees them."""

    def __init__(self, database: Database, owner: Owner, embedder: Embedder | None = None) -> None:
        self._database = database
        self._embedder = embedder
        self._of_owner: Params = {"account": owner.account, "user_id": owner.user}

    async def search(self, query: MemoryQuery, *, limit: int) -> list[FoundMemory]:
        """The memories and passages that match best, best first."""
        total = (await self._read(queries.memories.count, most=_MOST_COUNTED))[0]["found"]
        if not total:
            return []
        scores = await self._by_terms(query.text, total)
        scores = with_neighbours(scores, await self._neighbours(list(scores)))
        if self._embedder is not None and query.text.strip():
            by_meaning = await self._by_meaning(self._embedder, query.text)
            scores = dict(fused([[each for each, _ in best_first(scores)], by_meaning]))
        if periods := periods_in(query.text, query.asked_at.date()):
            scores = await self._by_dates(scores, periods, query.asked_at)
        return await self._found(best_first(scores)[: limit * 2], limit)

    async def _by_terms(self, text: str, total: int) -> dict[str, float]:
        """The scores of the best candidates, of `total` memories."""
        asked = query_terms(text)
        if not asked:
            return {}
        counted = await self._read(queries.memories.frequencies, terms=sorted(asked), most=MOST_ROWS)
        frequency = {row["term"]: row["found"] for row in counted if row["found"]}
        read_in_full = affordable(frequency)
        candidates = _terms_by_memory(await self._matches(read_in_full, frequency))
        if others := sorted(frequency.keys() - set(read_in_full)):
            best = best_first(score(asked, candidates, frequency, total))[: 2 * _BEST]
            ids = [memory_id for memory_id, _ in best]
            more = _terms_by_memory(await self._read(queries.memories.weights_in, ids=ids, terms=others))
            candidates = {each: candidates[each] | more.get(each, {}) for each in ids}
        return dict(best_first(score(asked, candidates, frequency, total))[:_BEST])

    async def _by_meaning(self, embedder: Embedder, text: str) -> list[str]:
        """The ids of the nearest vectors, nearest first; none if the embedder fails, which is logged."""
        try:
            async with asyncio.timeout(_EMBED_SECONDS):
                (vector,) = await embedder.embed([text])
            wanted = stored_vector(embedder.name, vector)
        except Exception as error:
            _log.warning(
                "embedding failed, searching by words only: %s", type(error).__name__, exc_info=error
            )
            return []
        params: Params = {**self._of_owner, "model": wanted.model}
        bits = await self._database.read(queries.memories.bits, {**params, "limit": _MOST_VECTORS})
        near = nearest_by_bits(wanted, ((row["memory_id"], row["bits"]) for row in bits), 2 * _BEST)
        found = await self._database.read(queries.memories.vectors, {**params, "ids": rows.list_text(near)})
        nearness = {row["memory_id"]: similarity(wanted, row["vector"]) for row in found}
        return [memory_id for memory_id, _ in best_first(nearness)[:_BEST]]

    async def _matches(self, terms: Sequence[str], frequency: Terms) -> Rows:
        """Which memories contain which of these terms, the rarest of which is the first."""
        if not terms:
            return []
        if frequency[terms[0]] == MOST_ROWS:
            term: Params = {**self._of_owner, "term": terms[0], "limit": MOST_ROWS}
            return await self._database.read(queries.memories.newest_with, term)
        return await self._read(queries.memories.matching, terms=terms)

    async def _neighbours(self, ids: Sequence[str]) -> dict[str, list[str]]:
        found = await self._read(queries.memories.neighbours, ids=ids) if ids else []
        return {
            row["id"]: [each for each in (row["before_id"], row["after_id"]) if each is not None]
            for row in found
        }

    async def _by_dates(
        self, scores: dict[str, float], periods: Sequence[Period], asked_at: datetime
    ) -> dict[str, float]:
        """The scores, raised for what was said in the periods, and further passages of the periods."""
        spans = [_span(period, asked_at) for period in periods]
        said = await self._read(queries.memories.said_at, ids=sorted(scores)) if scores else []
        raised = dict(scores)
        for row in said:
            if any(first <= row["created_at"] < last for first, last in spans):
                raised[row["id"]] *= _DATE_FACTOR
        for first, last in spans:
            within = await self._read(queries.memories.said_between, first=first, last=last, limit=_IN_PERIOD)
            for row in within:
                raised.setdefault(row["id"], _DATE_ALONE)
        return raised

    async def _found(self, best: Sequence[tuple[str, float]], limit: int) -> list[FoundMemory]:
        if not best:
            return []
        ids = [memory_id for memory_id, _ in best]
        memories = [memory_rows.memory(row) for row in await self._read(queries.memories.by_ids, ids=ids)]
        by_id = {memory.id: memory for memory in memories}
        found = [FoundMemory(memory=by_id[each], score=value) for each, value in best if each in by_id]
        return found[:limit]

    async def _read(self, statement: Query, **params: Sequence[str] | int) -> Rows:
        texts = {
            name: value if isinstance(value, int) else rows.list_text(value) for name, value in params.items()
        }
        return await self._database.read(statement, {**self._of_owner, **texts})


def _terms_by_memory(matches: Rows) -> dict[str, dict[str, int]]:
    candidates: dict[str, dict[str, int]] = {}
    for row in matches:
        candidates.setdefault(row["memory_id"], {})[row["term"]] = row["weight"]
    return candidates


def _span(period: Period, asked_at: datetime) -> tuple[int, int]:
    first, last = (datetime.combine(day, time(), asked_at.tzinfo) for day in period)
    return to_ms(first), to_ms(last)
