"""The live part of a session, as `rows` does for the rest of it.

A policy that this version cannot read is none, and the log says so: its session goes on without it.
"""

import json
import logging
from collections.abc import Iterable
from functools import lru_cache
from sys import intern
from typing import Any

from segue.auto_commit import AutoCommitPolicy, Live
from segue.errors import BadPolicy

_log = logging.getLogger(__name__)


def columns(listed: str) -> tuple[str, ...]:
    """The names of a record's fields, as a query lists their columns."""
    # Interned, as names in code are: a keyword that is the same object is found without comparing letters.
    return tuple(map(intern, listed.split(", ")))


_LIVE = columns(
    "archived_seq, archives, messages, tokens, kept_tokens, keep_recent_count, policy, commit_at, "
    "last_auto_commit_at, last_error, last_error_at, failures"
)


@lru_cache(256)
def auto_commit_policy(text: str | None) -> AutoCommitPolicy | None:
    try:
        return AutoCommitPolicy.stored(json.loads(text)) if text else None
    except (BadPolicy, ValueError, TypeError) as error:
        _log.warning("an auto_commit_policy cannot be read, and counts as none: %s", error)
        return None


@lru_cache(256)
def auto_commit_text(policy: AutoCommitPolicy | None) -> str | None:
    return None if policy is None else json.dumps(policy.to_json(), separators=(",", ":"))


def live(values: Iterable[Any]) -> Live:
    """From its columns, in the order in which every query lists them; what comes after is left alone."""
    given: dict[str, Any] = dict(zip(_LIVE, values, strict=False))
    given["policy"] = auto_commit_policy(given["policy"])
    return Live(**given)
