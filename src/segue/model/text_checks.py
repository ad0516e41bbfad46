"""What may be stored as a key, a name or a text. Checked once, where it enters the house."""

import re
from typing import NoReturn

from segue.errors import BadKey, BadText

MAX_TEXT = 100_000
MAX_NAME = 200
MAX_KEY = 200

_KEY = re.compile(r"[^\s/:\x00-\x1f\x7f]+:[^\s/\x00-\x1f\x7f]+")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def check_text(text: object, what: str, *, longest: int = MAX_TEXT) -> str:
    """The text itself, or BadText: not empty, not endless, and storable in both databases."""
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
    """The session key itself, or BadKey."""
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
    """Words that came from a model or an exception: kept, less what no database can hold."""
    if text.isascii() and "\0" not in text:
        return text
    return _UNSTORABLE.sub("\ufffd", text)
