"""The flags of an auto-commit policy."""

from enum import StrEnum
from typing import Annotated

import typer

from segue.auto_commit import AutoCommitPolicy
from segue.errors import BadPolicy
from segue.sessions import UNSAID, MaybePolicy


class Switch(StrEnum):
    TRUE = "true"
    FALSE = "false"


AutoCommitEnabled = Annotated[Switch | None, typer.Option(help="Whether the session commits by itself.")]
TokenThreshold = Annotated[int | None, typer.Option(min=1, help="Commit at this many pending tokens.")]
IdleTimeoutSeconds = Annotated[int | None, typer.Option(min=1, help="Commit after this long a silence.")]
KeepRecentCount = Annotated[int | None, typer.Option(min=0, help="Messages that a commit leaves live.")]


def policy_of(
    enabled: Switch | None, token_threshold: int | None, idle_timeout: int | None, keep_recent: int | None
) -> MaybePolicy:
    """The policy that the flags say, if they say one."""
    if enabled is None:
        for flag, value in (
            ("--token-threshold", token_threshold),
            ("--idle-timeout-seconds", idle_timeout),
            ("--keep-recent-count", keep_recent),
        ):
            if value is not None:
                raise BadPolicy(f"{flag} is part of a policy; give --auto-commit-enabled with it")
        return UNSAID
    return AutoCommitPolicy(
        enabled=enabled is Switch.TRUE,
        token_threshold=token_threshold,
        idle_timeout_seconds=idle_timeout,
        keep_recent_count=keep_recent or 0,
    )
