"""Written messages: messages that are stored without a turn, perhaps with the time when they were said."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, TypeAlias

from segue.errors import BadSetting, BadTime, BadTrigger
from segue.model.files import File, text_of
from segue.model.text_checks import check_text
from segue.times.clock import to_moment, to_ms
from segue.times.format import quoted
from segue.times.moment import storable

ROLES = ("user", "assistant", "system")
_RFC_3339 = r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)"

SaidAt: TypeAlias = datetime | str | None
"""A datetime with a zone, or RFC 3339. None: now."""
GivenMessage: TypeAlias = tuple[str, str] | tuple[str, str, SaidAt]
"""A role and a text, and perhaps when it was said."""


class WrittenMessage(NamedTuple):
    role: str
    text: str
    at: int
    parts: Sequence[File]


def written_message(
    role: str, text: str, created_at: SaidAt = None, *, now: int, files: Sequence[File] = ()
) -> WrittenMessage:
    """The message as it is stored. Raises `BadSetting`, `BadText` and `BadTime`."""
    if role not in ROLES:
        raise BadSetting(f"a role is user, assistant or system, got {role!r}")
    return WrittenMessage(role, message_text(text, files), said_at(created_at, now), files)


def message_text(text: str, files: Sequence[File]) -> str:
    """The text of a message; without words, the names of its files. Raises `BadText`."""
    return text_of(files) if files and not str(text).strip() else check_text(text, "a message")


def said_at(created_at: SaidAt, now: int) -> int:
    """When a message was said, in milliseconds. Raises `BadTime` for what is no moment, or not yet one."""
    if created_at is None:
        return now
    moment = _read(created_at) if isinstance(created_at, str) else created_at
    try:
        at = to_ms(storable(moment, "created_at"))
    except BadTrigger as error:
        raise BadTime(str(error)) from None
    if at > now:
        raise BadTime(
            f"created_at is when a message was said, so it is not in the future: got {quoted(created_at)}, "
            f"and it is {to_moment(now):%Y-%m-%dT%H:%M:%SZ} now. Leave it out to write the message as of now"
        )
    return at


def _read(text: str) -> datetime:
    wanted = "created_at is RFC 3339 with an offset, such as 2026-11-16T09:00:00+01:00"
    if not re.fullmatch(_RFC_3339, text):
        raise BadTime(f"{wanted}, got {quoted(text)}")
    try:
        return datetime.fromisoformat(text.upper())
    except ValueError:
        raise BadTime(f"{wanted}, got {quoted(text)}, which is no day or no time of day") from None
