"""Whose things a command is about."""

from typing import Annotated

import typer

from segue.model import Asker, Operator, Owner

Account = Annotated[str, typer.Option(help="The account whose sessions these are.")]
User = Annotated[
    str | None, typer.Option(help="The user whose sessions these are. Left out: the sessions of all users.")
]
Key = Annotated[str, typer.Argument(help="The session's key, channel:chat_id.", show_default=False)]
Limit = Annotated[int, typer.Option(min=1, max=500, help="The most to show.")]


def asker_of(account: str, user: str | None) -> Asker:
    """The command line is the operator's, unless it asks for one user."""
    return Operator(account) if user is None else Owner(account, user)
