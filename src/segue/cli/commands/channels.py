"""`segue channels`: lists, allows, binds and removes the senders of channels."""

from typing import TYPE_CHECKING, Annotated

import typer

from segue.cli.support.human_time import human_time
from segue.cli.support.load_settings import configured
from segue.cli.support.output import AsJson, print_json, print_table
from segue.cli.support.timezone import shown_zone
from segue.times.clock import SystemClock

if TYPE_CHECKING:
    from segue.config import Configuration
    from segue.kernel.api.guests import Guest
    from segue.kernel.kernel import Kernel

ChannelName = Annotated[str, typer.Argument(help="telegram or matrix.", show_default=False)]
User = Annotated[str | None, typer.Option(help="The user who owns the sender's private chats.")]

app = typer.Typer(help="Senders on channels: who may write to the agent.", no_args_is_help=True)


@app.command("list")
@configured()
def list_(configuration: "Configuration", as_json: AsJson = False) -> None:
    """List senders that were allowed by a code, and senders that ask for access."""
    from segue.cli.support.open_kernel import run_with_kernel

    async def work(kernel: "Kernel") -> None:
        found = await kernel.guests.list()
        if as_json:
            print_json({"guests": [_to_json(each) for each in found]})
            return
        rows = [
            (
                each.channel,
                each.sender,
                each.name,
                _state(each),
                each.user,
                human_time(each.came_at, shown_zone(configuration), SystemClock().ms()),
            )
            for each in found
        ]
        print_table(
            ("channel", "sender", "name", "state", "user", "came"), rows, empty="No sender asks for access."
        )

    run_with_kernel(configuration, work)


@app.command()
@configured()
def allow(
    configuration: "Configuration",
    code: Annotated[str, typer.Argument(help="The code that the sender received.", show_default=False)],
    user: User = None,
    as_json: AsJson = False,
) -> None:
    """Allow a sender. With --user, their private chats belong to that user."""
    from segue.cli.support.open_kernel import run_with_kernel

    async def work(kernel: "Kernel") -> None:
        guest = await kernel.guests.allow(code, user=user)
        if as_json:
            print_json(_to_json(guest))
        else:
            typer.echo(f"{guest.name or guest.sender} may now write through {guest.channel}.{_bound(guest)}")

    run_with_kernel(configuration, work)


@app.command()
@configured()
def bind(
    configuration: "Configuration",
    channel: ChannelName,
    sender: Annotated[str, typer.Argument(help="The sender's id on that network.", show_default=False)],
    user: Annotated[str, typer.Option(help="The user who owns the sender's private chats.")],
    as_json: AsJson = False,
) -> None:
    """Bind the private chats of a sender to a user, from the next message on. Does not allow the sender."""
    from segue.cli.support.open_kernel import run_with_kernel

    async def work(kernel: "Kernel") -> None:
        guest = await kernel.guests.bind(channel, sender, user=user)
        if as_json:
            print_json(_to_json(guest))
        else:
            typer.echo(f"{guest.name or guest.sender} is bound.{_bound(guest)}")

    run_with_kernel(configuration, work, create=True)


@app.command()
@configured()
def forget(
    configuration: "Configuration",
    channel: ChannelName,
    sender: Annotated[str, typer.Argument(help="The sender's id, as `list` shows it.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Remove a sender that was allowed by a code, or cancel their code."""
    from segue.cli.support.open_kernel import run_with_kernel

    async def work(kernel: "Kernel") -> None:
        guest = await kernel.guests.delete(channel, sender)
        if as_json:
            print_json(_to_json(guest))
        else:
            typer.echo(f"{guest.name or guest.sender} was removed.")

    run_with_kernel(configuration, work)


def _to_json(guest: "Guest") -> dict[str, object]:
    return {
        "channel": guest.channel,
        "sender": guest.sender,
        "name": guest.name,
        "code": guest.code,
        "allowed": guest.allowed,
        "user": guest.user,
    }


def _state(guest: "Guest") -> str:
    if guest.allowed:
        return "allowed"
    return "bound" if guest.user is not None else f"asks with {guest.code}"


def _bound(guest: "Guest") -> str:
    return "" if guest.user is None else f" Their private chats belong to the user {guest.user}."
