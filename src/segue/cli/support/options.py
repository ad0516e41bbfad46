"""Command-line options that several commands share: account, user, session key, auto-commit policy."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from segue.errors import BadPolicy
from segue.model.records import Asker, Operator, Owner

if TYPE_CHECKING:
    from segue.kernel.transactions.sessions import MaybePolicy

Account = Annotated[str, typer.Option(help="The account that owns the sessions.")]
User = Annotated[str | None, typer.Option(help="The user who owns the sessions. Default: all users.")]
Key = Annotated[
    str,
    typer.Argument(
        metavar="SESSION",
        help="The session: its key (channel:chat_id), title, the beginning of its id, or `last`.",
        show_default=False,
    ),
]
MaybeKey = Annotated[
    str | None,
    typer.Argument(
        metavar="SESSION",
        help="The session: its key (channel:chat_id), title, the beginning of its id, or `last`.",
        show_default=False,
    ),
]
Limit = Annotated[int, typer.Option(min=1, max=500, help="The maximum number of items.")]


def asker_of(account: str, user: str | None) -> Asker:
    """A command acts for the operator, unless a user is given."""
    return Operator(account) if user is None else Owner(account, user)


class Switch(StrEnum):
    TRUE = "true"
    FALSE = "false"


AutoCommitEnabled = Annotated[
    Switch | None, typer.Option(help="Whether the session is committed automatically.")
]
TokenThreshold = Annotated[int | None, typer.Option(min=1, help="Commit at this many pending tokens.")]
IdleTimeoutSeconds = Annotated[int | None, typer.Option(min=1, help="Commit after this idle time.")]
MessageCountThreshold = Annotated[int | None, typer.Option(min=1, help="Commit at this many messages.")]
MinCommitIntervalSeconds = Annotated[
    int | None, typer.Option(min=0, help="Minimum time between two automatic commits.")
]
KeepRecentCount = Annotated[
    int | None, typer.Option(min=0, help="How many of the newest messages are not archived.")
]


def policy_of(enabled: Switch | None, **fields: int | None) -> "MaybePolicy":
    """The policy of the options, or UNSET. `fields` have the names of policy fields. Raises BadPolicy."""
    from segue.kernel.transactions.sessions import UNSET
    from segue.model.auto_commit import AutoCommitPolicy

    given = {name: value for name, value in fields.items() if value is not None}
    if enabled is not None:
        return AutoCommitPolicy(enabled=enabled is Switch.TRUE, **given)
    for name in given:
        flag = "--" + name.replace("_", "-")
        raise BadPolicy(f"{flag} is part of a policy; give --auto-commit-enabled with it")
    return UNSET
