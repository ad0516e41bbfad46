"""`segue messages`: words written now, sent then."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated

import typer

from segue.cli.support.command import Command, command
from segue.cli.support.options import Key, Limit
from segue.cli.support.output import local_time
from segue.cli.support.timezone import Timezone, zone_for
from segue.model.states import MessageStatus

if TYPE_CHECKING:
    from segue.kernel.api.scheduled_messages import MessageScheduled
    from segue.kernel.kernel import Kernel
    from segue.model.records import Delivery, ScheduledMessage
    from segue.server.schemas.scheduled_messages import DeliveryOut, PromisedOut, ScheduledMessageOut

app = typer.Typer(help="Messages that are sent later, word for word.", no_args_is_help=True)

MessageId = Annotated[str, typer.Argument(help="The message's id, as `list` shows it.", show_default=False)]


@app.command("list")
@command()
def list_(
    asked: Command,
    key: Key,
    status: Annotated[MessageStatus | None, typer.Option(help="Only these.")] = None,
    limit: Limit = 100,
) -> None:
    """List the scheduled messages of a session, the newest first, whatever became of them."""

    async def work(kernel: "Kernel") -> None:
        found = await kernel.scheduled_messages(key, status=status, owner=asked.owner, limit=limit)
        rows = (
            (each.id, each.status, local_time(each.send_at, asked.zone), each.last_error, each.text)
            for each in found
        )
        asked.print_list(
            "messages",
            lambda: [_shape(each, key) for each in found],
            ("message", "status", "time", "error", "text"),
            rows,
            empty=f"None was written in {key}.",
        )

    asked.look(work)


@app.command()
@command()
def show(asked: Command, message_id: MessageId) -> None:
    """Show a scheduled message."""
    _one(asked, lambda kernel: kernel.scheduled_message(message_id, owner=asked.owner))


@app.command()
@command()
def schedule(
    asked: Command,
    key: Key,
    text: Annotated[str, typer.Argument(help="The words, as they are to be read.", show_default=False)],
    at: Annotated[str, typer.Option(help="'tomorrow at 08:00', 'in 2 hours', ISO 8601.", show_default=False)],
    timezone: Timezone = None,
    replace_existing: Annotated[
        bool, typer.Option("--replace-existing", help="Cancel all that wait in the session.")
    ] = False,
) -> None:
    """Have a message sent in a session."""

    async def work(kernel: "Kernel") -> None:
        made = await kernel.schedule_message(
            key,
            at,
            text,
            timezone=await zone_for(kernel, key, timezone, asked.owner),
            replace_existing=replace_existing,
            owner=asked.owner,
        )
        asked.print_one(lambda: _promise(made, key), _fields(made.message, key, asked.zone))
        if made.cancelled and not asked.as_json:
            typer.echo(f"Cancelled in its favour: {', '.join(made.cancelled)}")

    asked.look(work)


@app.command()
@command()
def cancel(asked: Command, message_id: MessageId) -> None:
    """Cancel a scheduled message that was not sent yet."""
    _one(asked, lambda kernel: kernel.cancel_message(message_id, owner=asked.owner))


@app.command()
@command()
def deliveries(asked: Command, key: Key, limit: Limit = 100) -> None:
    """List what went out, or is to go out, through a session's channel, the newest first."""

    async def work(kernel: "Kernel") -> None:
        found = await kernel.deliveries(key, owner=asked.owner, limit=limit)
        rows = (
            (
                each.id,
                each.state,
                each.attempt,
                local_time(each.sent_at, asked.zone),
                each.error,
                each.content,
            )
            for each in found
        )
        asked.print_list(
            "deliveries",
            lambda: [_delivery(each) for each in found],
            ("delivery", "state", "tries", "sent", "error", "text"),
            rows,
            empty=f"Nothing went out through the channel of {key}.",
        )

    asked.look(work)


def _one(asked: Command, verb: "Callable[[Kernel], Awaitable[ScheduledMessage]]") -> None:
    """Do something with a message, and print what it is then."""

    async def work(kernel: "Kernel") -> None:
        message = await verb(kernel)
        key = (await kernel.store.session_by_id(message.session_id)).key
        asked.print_one(lambda: _shape(message, key), _fields(message, key, asked.zone))

    asked.look(work)


def _fields(message: "ScheduledMessage", key: str, zone: str) -> dict[str, object]:
    return {
        "message": message.id,
        "session": key,
        "status": message.status,
        "time": local_time(message.send_at, zone),
        "sent": local_time(message.sent_at, zone),
        "error": message.last_error,
        "text": message.text,
    }


def _shape(message: "ScheduledMessage", key: str) -> "ScheduledMessageOut":
    from segue.server.schemas.scheduled_messages import scheduled_message

    return scheduled_message(message, key)


def _promise(made: "MessageScheduled", key: str) -> "PromisedOut":
    from segue.server.schemas.scheduled_messages import promised

    return promised(made, key)


def _delivery(there: "Delivery") -> "DeliveryOut":
    from segue.server.schemas.scheduled_messages import delivery

    return delivery(there)
