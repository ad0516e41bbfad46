"""`segue messages`: scheduled messages, which are sent unchanged at a given time, and deliveries."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated

import typer

from segue.cli.support.command import CommandContext, command
from segue.cli.support.human_time import exact_time
from segue.cli.support.options import Key, Limit
from segue.cli.support.timezone import Timezone, zone_for
from segue.model.states import MessageStatus

if TYPE_CHECKING:
    from segue.kernel.api.scheduled_messages import MessageScheduled
    from segue.kernel.kernel import Kernel
    from segue.model.records import Delivery, ScheduledMessage
    from segue.server.schemas.scheduled_messages import DeliveryOut, MessageScheduledOut, ScheduledMessageOut

app = typer.Typer(help="Schedule messages that are sent unchanged at a given time.", no_args_is_help=True)

MessageId = Annotated[str, typer.Argument(help="The message's id, as `list` shows it.", show_default=False)]


@app.command("list")
@command()
def list_(
    context: CommandContext,
    session: Key,
    status: Annotated[MessageStatus | None, typer.Option(help="Show only messages with this status.")] = None,
    limit: Limit = 100,
) -> None:
    """List the scheduled messages of a session in any status, newest first."""

    async def work(kernel: "Kernel") -> None:
        key = await context.key(kernel, session)
        found = await kernel.scheduled_messages.list(key, status=status, owner=context.owner, limit=limit)
        rows = (
            (each.id, each.status, context.time(each.send_at), each.last_error, each.text) for each in found
        )
        context.print_list(
            "messages",
            lambda: [_model(each, key) for each in found],
            ("message", "status", "time", "error", "text"),
            rows,
            empty=f"There are no scheduled messages in {key}.",
        )

    context.run(work)


@app.command()
@command()
def show(context: CommandContext, message_id: MessageId) -> None:
    """Show a scheduled message."""
    _print_result(context, lambda kernel: kernel.scheduled_messages.get(message_id, owner=context.owner))


@app.command()
@command()
def schedule(
    context: CommandContext,
    session: Key,
    text: Annotated[str, typer.Argument(help="The text of the message.", show_default=False)],
    at: Annotated[str, typer.Option(help="'tomorrow at 08:00', 'in 2 hours', ISO 8601.", show_default=False)],
    timezone: Timezone = None,
    replace_existing: Annotated[
        bool, typer.Option("--replace-existing", help="Cancel all pending messages of the session.")
    ] = False,
) -> None:
    """Schedule a message in a session. Creates the session if it does not exist."""

    async def work(kernel: "Kernel") -> None:
        async with context.opened(kernel, session) as key:
            made = await kernel.scheduled_messages.add(
                key,
                at,
                text,
                timezone=await zone_for(kernel, key, timezone, context.owner),
                replace_existing=replace_existing,
                owner=context.owner,
            )
        context.print_one(lambda: _created_model(made, key), _fields(made.message, key, context.zone))
        if made.cancelled and not context.as_json:
            typer.echo(f"Replaced: {', '.join(made.cancelled)}")

    context.run(work, create=True)


@app.command()
@command()
def cancel(context: CommandContext, message_id: MessageId) -> None:
    """Cancel a pending message."""
    _print_result(context, lambda kernel: kernel.scheduled_messages.cancel(message_id, owner=context.owner))


@app.command()
@command()
def deliveries(context: CommandContext, session: Key, limit: Limit = 100) -> None:
    """List messages that were or will be sent through a session's channel, newest first."""

    async def work(kernel: "Kernel") -> None:
        key = await context.key(kernel, session)
        found = await kernel.log.deliveries(key, owner=context.owner, limit=limit)
        rows = (
            (
                each.id,
                each.state,
                each.attempt,
                context.time(each.sent_at),
                each.error,
                each.content,
            )
            for each in found
        )
        context.print_list(
            "deliveries",
            lambda: [_delivery_model(each) for each in found],
            ("delivery", "state", "tries", "sent", "error", "text"),
            rows,
            empty=f"There are no deliveries in {key}.",
        )

    context.run(work)


def _print_result(
    context: CommandContext, operation: "Callable[[Kernel], Awaitable[ScheduledMessage]]"
) -> None:
    """Run an operation that returns a message, and print the message."""

    async def work(kernel: "Kernel") -> None:
        message = await operation(kernel)
        key = (await kernel.sessions.by_id(message.session_id)).key
        context.print_one(lambda: _model(message, key), _fields(message, key, context.zone))

    context.run(work)


def _fields(message: "ScheduledMessage", key: str, zone: str) -> dict[str, object]:
    return {
        "message": message.id,
        "session": key,
        "status": message.status,
        "time": exact_time(message.send_at, zone),
        "sent": exact_time(message.sent_at, zone),
        "error": message.last_error,
        "text": message.text,
    }


def _model(message: "ScheduledMessage", key: str) -> "ScheduledMessageOut":
    from segue.server.schemas.scheduled_messages import scheduled_message

    return scheduled_message(message, key)


def _created_model(made: "MessageScheduled", key: str) -> "MessageScheduledOut":
    from segue.server.schemas.scheduled_messages import message_scheduled

    return message_scheduled(made, key)


def _delivery_model(delivery_record: "Delivery") -> "DeliveryOut":
    from segue.server.schemas.scheduled_messages import delivery

    return delivery(delivery_record)
