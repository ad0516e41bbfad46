"""Checks of keys, names and texts, made once, where a text enters Segue."""

import re
from typing import NoReturn

from segue.errors import BadKey, BadText

MAX_TEXT = 100_000
MAX_NAME = 200
MAX_KEY = 200

_KEY = re.compile(r"[^\s/:\x00-\x1f\x7f]+:[^\s/\x00-\x1f\x7f]+")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def check_text(text: object, what: str, *, longest: int = MAX_TEXT) -> str:
    """Returns the text. Raises BadText if it is empty, too long, or cannot be stored in both databases."""
    if not isinstance(text, str):
        raise BadText(f"{what} must be a string, got {type(text).__name__}")
    if not text.strip():
        raise BadText(f"{what} is empty; write at least one word")
    if len(text) > longest:
        raise BadText(f"{what} has {len(text):,} characters; the most is {longest:,}")
    if found := _UNSTORABLE.search(text):
        raise BadText(
            f"{what} holds the character U+{ord(found[0]):04X} at {found.start()}, which no text has"
        )
    return text


def check_key(key: object) -> str:
    """Returns the session key, or raises BadKey."""
    if not isinstance(key, str):
        raise BadKey(f"a session key must be a string, got {type(key).__name__}")
    if len(key) > MAX_KEY:
        raise BadKey(f"a session key has at most {MAX_KEY} characters, got {len(key):,}")
    if not _KEY.fullmatch(key) or _UNSTORABLE.search(key):
        _refuse_key(key)
    return key


def _refuse_key(key: str) -> NoReturn:
    raise BadKey(
        f"a session key is channel:chat_id without white space or '/', for example 'telegram:42'; got {key!r}"
    )


def clean(text: str) -> str:
    """The text of a model or an exception, with the characters replaced that no database can store."""
    if text.isascii() and "\0" not in text:
        return text
    return _UNSTORABLE.sub("\ufffd", text)
