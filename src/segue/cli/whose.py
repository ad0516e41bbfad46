"""Whose things a command is about."""

from typing import Annotated

import typer

Account = Annotated[str, typer.Option(help="The account whose sessions these are.")]
User = Annotated[str, typer.Option(help="The user whose sessions these are.")]
Key = Annotated[str, typer.Argument(help="The session's key, channel:chat_id.", show_default=False)]
Limit = Annotated[int, typer.Option(min=1, max=500, help="The most to show.")]
