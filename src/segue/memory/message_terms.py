"""Terms of messages for full-text search: which terms a message is indexed under, and which a query asks for.

A message has its words in lower case. For scripts without spaces it has the characters and the pairs of
neighbouring characters. A query asks for messages that have all of its words; a word of three or more letters
may be the beginning of a longer one.

Each message also has a term for its account, its owner and its session. A query always asks for one of them,
so that its cost is that of the caller's own messages. Such a term begins with a character that no word
contains.
"""

from collections.abc import Iterator
from hashlib import blake2b
from typing import NamedTuple
from zlib import crc32

from segue.memory.search import is_spaceless, pieces
from segue.model.records import Owner

MOST_TERMS = 2_000
"""Of one message: what a very long message says after so many different words is not found."""
MOST_QUERY_TERMS = 50
_LONGEST = 40
_SHORTEST_BEGINNING = 3
_SCOPE = "§"
_LOW_BITS = 21
_LATEST = (1 << 42) - 1


class QueryTerm(NamedTuple):
    text: str
    is_beginning: bool = False


def index_terms(text: str, owner: Owner, session_id: str) -> list[str]:
    """The terms of a message, each once."""
    terms: dict[str, None] = {}
    for piece in pieces(text):
        terms.update(dict.fromkeys(_terms_of(piece)))
        if len(terms) >= MOST_TERMS:
            break
    scopes = [account_scope(owner.account), owner_scope(owner), session_scope(session_id)]
    return scopes + list(terms)[:MOST_TERMS]


def query_terms(query: str) -> list[QueryTerm]:
    """The terms that a message must have; none if the query has neither letters nor digits."""
    asked: dict[QueryTerm, None] = {}
    for piece in pieces(query):
        asked.update(dict.fromkeys(_asked(piece)))
    return list(asked)[:MOST_QUERY_TERMS]


def account_scope(account: str) -> str:
    return _scope("account", account)


def owner_scope(owner: Owner) -> str:
    return _scope("owner", *owner)


def session_scope(session_id: str) -> str:
    return _scope("session", session_id)


def position(at: int, session_id: str, seq: int) -> int:
    """The position of a message in the index: its moment, then a number that seldom is another message's."""
    return (min(at, _LATEST) << _LOW_BITS) + (crc32(session_id.encode()) + seq) % (1 << _LOW_BITS)


def fts5_query(terms: list[QueryTerm], scope: str) -> str:
    """The terms in the notation of SQLite's FTS5."""
    return " AND ".join(f'"{term.text}"{"*" * term.is_beginning}' for term in [QueryTerm(scope), *terms])


def ts_query(terms: list[QueryTerm], scope: str) -> str:
    """The terms in the notation of PostgreSQL's tsquery."""
    return " & ".join(f"'{term.text}'{':*' * term.is_beginning}" for term in [QueryTerm(scope), *terms])


def _terms_of(piece: str) -> Iterator[str]:
    if not is_spaceless(piece):
        yield piece[:_LONGEST]
        return
    yield from piece
    yield from _pairs(piece)


def _asked(piece: str) -> Iterator[QueryTerm]:
    if not is_spaceless(piece):
        yield QueryTerm(piece[:_LONGEST], is_beginning=len(piece) >= _SHORTEST_BEGINNING)
    else:
        yield from map(QueryTerm, _pairs(piece) if len(piece) > 1 else piece)


def _pairs(piece: str) -> Iterator[str]:
    return (piece[start : start + 2] for start in range(len(piece) - 1))


def _scope(*parts: str) -> str:
    return _SCOPE + blake2b("\0".join(parts).encode(), digest_size=8).hexdigest()
