"""Message search: finds messages by their words, newest first, in the sessions that a caller reaches."""

import re

from segue.errors import BadText
from segue.memory.message_terms import (
    account_scope,
    fts5_query,
    owner_scope,
    query_terms,
    session_scope,
    ts_query,
)
from segue.memory.search import pieces
from segue.model.records import Asker, Owner, Session
from segue.model.transcript import Message, message_of
from segue.record import record
from segue.store import queries
from segue.store.database import Database, Params, Row
from segue.store.rows import core as rows

LONGEST_QUERY = 1_000
LAST_POSITION = (1 << 63) - 1
_BEFORE_MATCH = 60
_EXCERPT = 240
_WINDOW = 5_000
"""How many of the newest messages PostgreSQL looks through before it uses the index of terms."""
_WINDOW_OF_SEVERAL = 50_000
"""The same for several words: fewer messages have all of them, and the index reads the messages of each."""


@record
class FoundMessage:
    """A message that a search has found."""

    message: Message
    session_id: str
    session_key: str
    session_title: str | None
    owner: Owner
    excerpt: str
    """The part of its text around the first word that was found."""
    position: int
    """Where the next page begins: messages before it are older."""


async def search_messages(
    database: Database, query: str, asker: Asker, session: Session | None, *, before: int, limit: int
) -> list[FoundMessage]:
    """The newest messages that have all words of the query, of one session or of all that the caller reaches.

    Raises `BadText` for a query without a word, or one that is too long.
    """
    terms = query_terms(_checked(query))
    if not terms:
        raise BadText("query: give a word or a character to search for; punctuation is not searched")
    notation = fts5_query if database.dialect == "sqlite" else ts_query
    params: Params = {
        "terms": notation(terms, _scope(asker, session)),
        "window": _WINDOW if len(terms) == 1 else _WINDOW_OF_SEVERAL,
        "before": before,
        "limit": limit,
    }
    words = pieces(query)
    found = [_found(row, words) for row in await database.read(queries.message_index.search, params)]
    return [each for each in found if asker.reaches(each.owner)]


def _checked(query: str) -> str:
    if len(query) > LONGEST_QUERY:
        raise BadText(f"query: at most {LONGEST_QUERY} characters are searched for, got {len(query)}")
    return query


def _scope(asker: Asker, session: Session | None) -> str:
    if session is not None:
        return session_scope(session.id)
    return owner_scope(asker) if isinstance(asker, Owner) else account_scope(asker.account)


def _found(row: Row, words: list[str]) -> FoundMessage:
    message = message_of(rows.event_with_replacement(row))
    assert message is not None  # only messages are indexed
    return FoundMessage(
        message=message,
        session_id=row["session_id"],
        session_key=row["key"],
        session_title=row["title"],
        owner=Owner(row["account"], row["user_id"]),
        excerpt=_excerpt(message.content, words),
        position=row["position"],
    )


def _excerpt(text: str, words: list[str]) -> str:
    """The text around the first place where one of the words begins, on one line."""
    match = re.search("|".join(map(re.escape, words)), text, re.IGNORECASE)
    first = max(0, match.start() - _BEFORE_MATCH) if match else 0
    part = text[first : first + _EXCERPT]
    return ("… " if first else "") + " ".join(part.split()) + (" …" if first + _EXCERPT < len(text) else "")
