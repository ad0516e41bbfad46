"""`segue messages`: words written now, sent then."""

from typing import TYPE_CHECKING, Annotated

import typer

from segue.cli.configured import configured
from segue.cli.output import AsJson, local_time, print_json, print_record, print_table, shape
from segue.cli.whose import Account, Key, Limit, User
from segue.model import Owner
from segue.states import MessageStatus

if TYPE_CHECKING:
    from segue.configuration import Configuration
    from segue.kernel import Kernel
    from segue.model import ScheduledMessage

app = typer.Typer(help="Messages that are sent later, word for word.", no_args_is_help=True)

MessageId = Annotated[str, typer.Argument(help="The message's id, as `list` shows it.", show_default=False)]


@app.command("list")
@configured()
def list_(
    configuration: "Configuration",
    key: Key,
    status: Annotated[MessageStatus | None, typer.Option(help="Only these.")] = None,
    limit: Limit = 100,
    account: Account = "default",
    user: User = "default",
    as_json: AsJson = False,
) -> None:
    """List the scheduled messages of a session, the newest first, whatever became of them."""
    from segue.cli.house import looking

    async def work(kernel: "Kernel") -> None:
        found = await kernel.scheduled_messages(key, status=status, owner=Owner(account, user), limit=limit)
        if as_json:
            from segue.server.scheduled_messages import scheduled_message

            print_json({"messages": [shape(scheduled_message(each, key)) for each in found]})
            return
        zone = configuration.timezone
        rows = [
            (each.id, each.status, local_time(each.send_at, zone), each.last_error, each.text)
            for each in found
        ]
        print_table(("message", "status", "time", "error", "text"), rows, empty=f"None was written in {key}.")

    looking(configuration, work)


@app.command()
@configured()
def show(
    configuration: "Configuration",
    message_id: MessageId,
    account: Account = "default",
    user: User = "default",
    as_json: AsJson = False,
) -> None:
    """Show a scheduled message."""
    from segue.cli.house import looking

    async def work(kernel: "Kernel") -> None:
        found = await kernel.scheduled_message(message_id, owner=Owner(account, user))
        await _print(kernel, found, configuration.timezone, as_json)

    looking(configuration, work)


@app.command()
@configured()
def schedule(
    configuration: "Configuration",
    key: Key,
    text: Annotated[str, typer.Argument(help="The words, as they are to be read.", show_default=False)],
    at: Annotated[str, typer.Option(help="'tomorrow at 08:00', 'in 2 hours', ISO 8601.", show_default=False)],
    replace_existing: Annotated[
        bool, typer.Option("--replace-existing", help="Cancel all that wait in the session.")
    ] = False,
    account: Account = "default",
    user: User = "default",
    as_json: AsJson = False,
) -> None:
    """Have a message sent in a session."""
    from segue.cli.house import looking

    async def work(kernel: "Kernel") -> None:
        made = await kernel.schedule_message(
            key, at, text, replace_existing=replace_existing, owner=Owner(account, user)
        )
        if as_json:
            from segue.server.scheduled_messages import promised

            print_json(shape(promised(made, key)))
            return
        await _print(kernel, made.message, configuration.timezone, as_json=False)
        if made.cancelled:
            typer.echo(f"Cancelled in its favour: {', '.join(made.cancelled)}")

    looking(configuration, work)


@app.command()
@configured()
def cancel(
    configuration: "Configuration",
    message_id: MessageId,
    account: Account = "default",
    user: User = "default",
    as_json: AsJson = False,
) -> None:
    """Cancel a scheduled message that was not sent yet."""
    from segue.cli.house import looking

    async def work(kernel: "Kernel") -> None:
        cancelled = await kernel.cancel_message(message_id, owner=Owner(account, user))
        await _print(kernel, cancelled, configuration.timezone, as_json)

    looking(configuration, work)


@app.command()
@configured()
def deliveries(
    configuration: "Configuration",
    key: Key,
    limit: Limit = 100,
    account: Account = "default",
    user: User = "default",
    as_json: AsJson = False,
) -> None:
    """List what went out, or is to go out, through a session's channel, the newest first."""
    from segue.cli.house import looking

    async def work(kernel: "Kernel") -> None:
        found = await kernel.deliveries(key, owner=Owner(account, user), limit=limit)
        if as_json:
            from segue.server.scheduled_messages import delivery

            print_json({"deliveries": [shape(delivery(each)) for each in found]})
            return
        zone = configuration.timezone
        rows = [
            (each.id, each.state, each.attempt, local_time(each.sent_at, zone), each.error, each.content)
            for each in found
        ]
        columns = ("delivery", "state", "tries", "sent", "error", "text")
        print_table(columns, rows, empty=f"Nothing went out through the channel of {key}.")

    looking(configuration, work)


async def _print(kernel: "Kernel", message: "ScheduledMessage", zone: str, as_json: bool) -> None:
    key = (await kernel.store.session_by_id(message.session_id)).key
    if as_json:
        from segue.server.scheduled_messages import scheduled_message

        print_json(shape(scheduled_message(message, key)))
        return
    print_record(
        {
            "message": message.id,
            "session": key,
            "status": message.status,
            "time": local_time(message.send_at, zone),
            "sent": local_time(message.sent_at, zone),
            "error": message.last_error,
            "text": message.text,
        }
    )
