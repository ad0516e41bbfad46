"""The live part of a session, as `rows` does for the rest of it.

A policy that this version cannot read is none, and the log says so: its session goes on without it.
"""

import json
import logging
from functools import lru_cache

from segue.auto_commit import AutoCommitPolicy, Live
from segue.errors import BadPolicy
from segue.store.database import Row

_log = logging.getLogger(__name__)


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


def live(row: Row) -> Live:
    return Live(
        messages=row["live_messages"],
        tokens=row["live_tokens"],
        kept_tokens=row["kept_tokens"],
        keep_recent_count=row["keep_recent_count"],
        archived_seq=row["archived_seq"],
        archives=row["archives"],
        policy=auto_commit_policy(row["auto_commit_policy"]),
        commit_at=row["commit_at"],
        last_auto_commit_at=row["last_auto_commit_at"],
        last_error=row["auto_commit_last_error"],
        last_error_at=row["auto_commit_last_error_at"],
        failures=row["auto_commit_failures"],
    )
