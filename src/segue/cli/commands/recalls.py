"""`segue recalls`: list, show, set, skip and cancel recalls (wake-ups that an agent sets for itself)."""

from typing import TYPE_CHECKING, Annotated

import typer

from segue.cli.support.command import CommandContext, command
from segue.cli.support.human_time import human_interval
from segue.cli.support.options import Key, Limit
from segue.cli.support.timezone import Timezone, zone_for
from segue.errors import NotFound

if TYPE_CHECKING:
    from segue.kernel.kernel import Kernel
    from segue.model.records import Recall
    from segue.server.schemas.common import RecallOut

app = typer.Typer(help="Wake-ups that agents set for themselves.", no_args_is_help=True)

Instruction = Annotated[str, typer.Argument(help="The full instruction for the agent.", show_default=False)]


@app.command("list")
@command()
def list_(context: CommandContext, session: Key, limit: Limit = 100) -> None:
    """List the recalls of a session in any status, newest first."""

    async def work(kernel: "Kernel") -> None:
        key = await context.key(kernel, session)
        found = await kernel.recalls.list(key, owner=context.owner, limit=limit)
        rows = (
            (
                each.id,
                each.status,
                each.call_type,
                context.time(each.trigger_at),
                human_interval(each.interval_seconds),
                each.comment or each.instruction,
            )
            for each in found
        )
        context.print_list(
            "recalls",
            lambda: [_model(each, key) for each in found],
            ("recall", "status", "type", "time", "every", "about"),
            rows,
            empty=f"There are no recalls in {key}.",
        )

    context.run(work)


@app.command()
@command()
def show(context: CommandContext, session: Key) -> None:
    """Show the pending recall of a session, or the running one."""

    async def work(kernel: "Kernel") -> None:
        key = await context.key(kernel, session)
        pending = await kernel.recalls.get(key, owner=context.owner)
        if pending is None:
            raise NotFound(f"no recall is pending in {key}")
        _print(context, pending, key)

    context.run(work)


@app.command("set")
@command()
def set_(
    context: CommandContext,
    session: Key,
    instruction: Instruction,
    when: Annotated[
        str | None, typer.Option(help="'30m', 'tomorrow at 09:00', ISO 8601. Default: at once.")
    ] = None,
    interval_seconds: Annotated[
        int | None, typer.Option(help="Repeat at this interval, starting at --when.")
    ] = None,
    timezone: Timezone = None,
    timezone_offset: Annotated[str | None, typer.Option(help="±HH:MM, for a time without a zone.")] = None,
    comment: Annotated[str | None, typer.Option(help="A note for users.")] = None,
) -> None:
    """Set a recall for the agent of a session. Creates the session if it does not exist."""
    from segue.model.states import CallType

    call_type = CallType.ONCE if when is not None else CallType.IMMEDIATE
    if interval_seconds is not None:
        call_type = CallType.RECURRING

    async def work(kernel: "Kernel") -> None:
        async with context.opened(kernel, session) as key:
            made = await kernel.recalls.add(
                key,
                instruction,
                call_type=call_type,
                when=when,
                timezone=await zone_for(kernel, key, timezone, context.owner),
                timezone_offset=timezone_offset,
                interval_seconds=interval_seconds,
                comment=comment,
                owner=context.owner,
            )
        _print(context, made, key)

    context.run(work, create=True)


@app.command()
@command()
def cancel(context: CommandContext, session: Key) -> None:
    """Cancel the pending recall of a session, or one that is due and waits."""

    async def work(kernel: "Kernel") -> None:
        key = await context.key(kernel, session)
        await kernel.recalls.cancel(key, owner=context.owner)
        context.say(f"The recall of {key} was cancelled.", {"cancelled": True})

    context.run(work)


@app.command()
@command()
def skip(context: CommandContext, session: Key) -> None:
    """Skip the next time of a recurring recall."""

    async def work(kernel: "Kernel") -> None:
        key = await context.key(kernel, session)
        _print(context, await kernel.recalls.skip(key, owner=context.owner), key)

    context.run(work)


def _print(context: CommandContext, recall: "Recall", key: str) -> None:
    fields = {
        "recall": recall.id,
        "session": key,
        "status": recall.status,
        "type": recall.call_type,
        "time": context.exact_time(recall.trigger_at),
        "every": human_interval(recall.interval_seconds),
        "comment": recall.comment,
        "instruction": recall.instruction,
    }
    context.print_one(lambda: _model(recall, key), fields)


def _model(recall: "Recall", key: str) -> "RecallOut":
    from segue.server.schemas import views

    return views.recall(recall, key)
