"""Pagination: encodes and decodes cursors, which are opaque to clients."""

import base64
import binascii
from collections.abc import Iterable
from itertools import accumulate, islice
from typing import Annotated, TypeAlias

from fastapi import Query

from segue.model.records import NEWEST, PageStart
from segue.server.error_responses import Refused

LARGEST_SEQ = 1 << 53
MOST_CHARACTERS = 1_000_000
"""Of the messages of one page. A response is serialised in one step, which blocks other requests."""

Limit: TypeAlias = Annotated[int, Query(ge=1, le=500, description="The maximum number of items.")]
Cursor: TypeAlias = Annotated[
    str | None,
    Query(max_length=400, pattern=r"^[A-Za-z0-9_-]+$", description="`next_cursor` of the previous page."),
]


def page_length(lengths: Iterable[int], limit: int) -> int:
    """How many of these texts go on a page: at most `limit`, and at most MOST_CHARACTERS together."""
    sums = accumulate(lengths)
    return max(1, sum(total <= MOST_CHARACTERS for total in islice(sums, limit)))


def encode_cursor(position: PageStart) -> str:
    return _encode(f"{position.at}:{position.id}")


def decode_cursor(cursor: str | None) -> PageStart:
    if cursor is None:
        return NEWEST
    at, colon, id = _decode(cursor).partition(":")
    if not colon:
        raise _bad_cursor()
    return PageStart(_number(at), id)


def encode_seq(seq: int) -> str:
    return _encode(str(seq))


def decode_seq(cursor: str | None, after: int) -> int:
    return after if cursor is None else _number(_decode(cursor))


def decode_position(cursor: str | None, after: int) -> int:
    """A position in the message index, which is a larger number than that of an event."""
    return after if cursor is None else min(_number(_decode(cursor), digits=19), after)


def _encode(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _decode(cursor: str) -> str:
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
    except (binascii.Error, ValueError):
        raise _bad_cursor() from None
    if "\x00" in text:
        raise _bad_cursor()
    return text


def _number(text: str, digits: int = 16) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= digits):
        raise _bad_cursor()
    return int(text)


def _bad_cursor() -> Refused:
    return Refused(422, "bad_cursor", "cursor: give the next_cursor of a response unchanged")
