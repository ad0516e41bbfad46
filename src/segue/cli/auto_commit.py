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
MessageCountThreshold = Annotated[int | None, typer.Option(min=1, help="Commit at this many messages.")]
MinCommitIntervalSeconds = Annotated[
    int | None, typer.Option(min=0, help="Between two commits that nobody asked for.")
]
KeepRecentCount = Annotated[int | None, typer.Option(min=0, help="Messages that a commit leaves live.")]


def policy_of(enabled: Switch | None, **fields: int | None) -> MaybePolicy:
    """The policy that the flags say, if they say one. `fields` are called as those of a policy."""
    given = {name: value for name, value in fields.items() if value is not None}
    if enabled is not None:
        return AutoCommitPolicy(enabled=enabled is Switch.TRUE, **given)
    for name in given:
        flag = "--" + name.replace("_", "-")
        raise BadPolicy(f"{flag} is part of a policy; give --auto-commit-enabled with it")
    return UNSAID
