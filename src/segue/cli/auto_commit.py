"""The flags of an auto-commit policy."""

from enum import StrEnum
from typing import Annotated

import typer

from segue.errors import BadPolicy


class Switch(StrEnum):
    TRUE = "true"
    FALSE = "false"


AutoCommitEnabled = Annotated[Switch | None, typer.Option(help="Whether the session commits by itself.")]
TokenThreshold = Annotated[int | None, typer.Option(min=1, help="Commit at this many pending tokens.")]
IdleTimeoutSeconds = Annotated[int | None, typer.Option(min=1, help="Commit after this long a silence.")]
KeepRecentCount = Annotated[int | None, typer.Option(min=0, help="Messages that a commit leaves live.")]


def refuse_policy(
    enabled: Switch | None, token_threshold: int | None, idle_timeout: int | None, keep_recent: int | None
) -> None:
    """Sessions have no memory to commit to in this version: a policy would be a promise nobody keeps."""
    if enabled is None:
        for flag, value in (
            ("--token-threshold", token_threshold),
            ("--idle-timeout-seconds", idle_timeout),
            ("--keep-recent-count", keep_recent),
        ):
            if value is not None:
                raise BadPolicy(f"{flag} is part of a policy; give --auto-commit-enabled with it")
        return
    raise BadPolicy(
        "auto-commit is not there yet: this version of Segue stores no policy; leave the flags out"
    )
