"""Messages for the search benchmark on PostgreSQL, written with their terms by SQL.

The indexer would need many minutes for 1,000,000 messages. Rank `exp(random() * ln(n))` is Zipf's law. One
message in ten is Chinese, drawn from some texts that are made here.
"""

import asyncio
from collections.abc import Mapping, Sequence

import asyncpg

from segue.memory.message_terms import account_scope, index_terms, owner_scope, session_scope
from segue.model.records import Owner

_BATCH = 50_000
_SCOPES = 3

_TABLES = """
DROP INDEX message_index_terms;
CREATE UNLOGGED TABLE fill_words (rank INT PRIMARY KEY, word TEXT NOT NULL);
CREATE UNLOGGED TABLE fill_texts (number INT PRIMARY KEY, content TEXT NOT NULL, terms TEXT[] NOT NULL);
CREATE UNLOGGED TABLE fill_sessions (number INT PRIMARY KEY, id TEXT NOT NULL, scopes TEXT[] NOT NULL);
"""
_MESSAGES = """
CREATE TEMPORARY TABLE batch ON COMMIT DROP AS
SELECT drawn.n, STRING_AGG(fill_words.word, ' ') AS content,
       ARRAY_AGG(DISTINCT fill_words.word) AS terms
FROM (SELECT n, LEAST({words}, FLOOR(EXP(RANDOM() * LN({words} + 1))))::INT AS rank
      FROM generate_series({first}, {last}) AS n,
           LATERAL generate_series(1, 5 + (n % 1000) * 7919 % 46) AS words) AS drawn
JOIN fill_words ON fill_words.rank = drawn.rank
GROUP BY drawn.n
"""
_CHINESE = """
UPDATE batch
SET content = fill_texts.content, terms = fill_texts.terms
FROM fill_texts
WHERE batch.n % 10 = 0 AND fill_texts.number = (batch.n / 10) % $1
"""
_EVENTS = """
INSERT INTO events (session_id, seq, type, at, role, content)
SELECT fill_sessions.id, batch.n % $1 + 1, 'message', $2::BIGINT + batch.n * 1000::BIGINT,
       CASE batch.n % 2 WHEN 0 THEN 'user' ELSE 'assistant' END, batch.content
FROM batch
JOIN fill_sessions ON fill_sessions.number = batch.n / $1
"""
_INDEX = """
INSERT INTO message_index (position, session_id, seq, terms)
SELECT (($2::BIGINT + batch.n * 1000::BIGINT) << 21) + batch.n % 2097152, fill_sessions.id, batch.n % $1 + 1,
       array_to_tsvector(fill_sessions.scopes || batch.terms)
FROM batch
JOIN fill_sessions ON fill_sessions.number = batch.n / $1
"""
_END = """
CREATE INDEX message_index_terms ON message_index USING gin (terms) WITH (fastupdate = off);
DROP TABLE fill_words, fill_texts, fill_sessions;
UPDATE activity SET unindexed = 0, indexed_seq = 1000000;
"""


async def fill_postgres(
    url: str,
    sessions: Mapping[int, tuple[str, Owner]],
    per_session: int,
    began: int,
    words: Sequence[str],
    chinese: Sequence[str],
) -> None:
    """Write `per_session` messages into each of the numbered sessions, a second apart from `began` on."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(_TABLES)
        await _copy(connection, sessions, words, chinese)
        total = len(sessions) * per_session
        for first in range(0, total, _BATCH):
            async with connection.transaction():
                last = min(first + _BATCH, total) - 1
                await connection.execute(_MESSAGES.format(first=first, last=last, words=len(words)))
                await connection.execute(_CHINESE, len(chinese))
                await connection.execute(_EVENTS, per_session, began)
                await connection.execute(_INDEX, per_session, began)
        await connection.execute("SET maintenance_work_mem = '512MB'")
        await connection.execute(_END)
        await connection.execute("VACUUM ANALYZE")
    finally:
        await asyncio.shield(connection.close())


async def _copy(
    connection: "asyncpg.Connection[asyncpg.Record]",
    sessions: Mapping[int, tuple[str, Owner]],
    words: Sequence[str],
    chinese: Sequence[str],
) -> None:
    no_one = Owner("", "")
    texts = [(number, text, index_terms(text, no_one, "")[_SCOPES:]) for number, text in enumerate(chinese)]
    scopes = [
        (number, id, [account_scope(owner.account), owner_scope(owner), session_scope(id)])
        for number, (id, owner) in sessions.items()
    ]
    await connection.copy_records_to_table("fill_words", records=list(enumerate(words, 1)))
    await connection.copy_records_to_table("fill_texts", records=texts)
    await connection.copy_records_to_table("fill_sessions", records=scopes)
