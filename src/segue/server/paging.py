"""Cursors: where a list is read on. Opaque to callers; inside, a place or a number."""

import base64
import binascii
from collections.abc import Iterable
from itertools import accumulate, islice
from typing import Annotated, TypeAlias

from fastapi import Query

from segue.model.records import NEWEST, Place
from segue.server.error_responses import Refused

LARGEST_SEQ = 1 << 53
MOST_CHARACTERS = 1_000_000
"""Of the messages of one page: an answer is written in one piece, and other requests wait for that."""

Limit: TypeAlias = Annotated[int, Query(ge=1, le=500, description="How many at most.")]
Cursor: TypeAlias = Annotated[
    str | None,
    Query(max_length=400, pattern=r"^[A-Za-z0-9_-]+$", description="`next_cursor` of the answer before."),
]


def that_fit(lengths: Iterable[int], limit: int) -> int:
    """How many of them make a page: at most `limit`, and no more characters than are written at once."""
    sums = accumulate(lengths)
    return max(1, sum(whole <= MOST_CHARACTERS for whole in islice(sums, limit)))


def cursor_of(place: Place) -> str:
    return _encode(f"{place.at}:{place.id}")


def place_of(cursor: str | None) -> Place:
    if cursor is None:
        return NEWEST
    at, colon, id = _decode(cursor).partition(":")
    if not colon:
        raise _foreign()
    return Place(_number(at), id)


def cursor_of_seq(seq: int) -> str:
    return _encode(str(seq))


def seq_of(cursor: str | None, after: int) -> int:
    return after if cursor is None else _number(_decode(cursor))


def _encode(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _decode(cursor: str) -> str:
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
    except (binascii.Error, ValueError):
        raise _foreign() from None
    if "\x00" in text:
        raise _foreign()
    return text


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 16):
        raise _foreign()
    return int(text)


def _foreign() -> Refused:
    return Refused(422, "bad_cursor", "cursor: give the next_cursor of an answer as it was")
