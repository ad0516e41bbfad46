"""`segue recalls`: how agents have called themselves back, and what is pending."""

from typing import TYPE_CHECKING, Annotated

import typer

from segue.cli.support.command import Command, command
from segue.cli.support.options import Key, Limit
from segue.cli.support.output import local_time
from segue.cli.support.timezone import Timezone, zone_for
from segue.errors import NotFound

if TYPE_CHECKING:
    from segue.kernel.kernel import Kernel
    from segue.model.records import Recall
    from segue.server.schemas.common import RecallOut

app = typer.Typer(help="How agents call themselves back.", no_args_is_help=True)

Instruction = Annotated[
    str, typer.Argument(help="What the agent is to do then, in full.", show_default=False)
]


@app.command("list")
@command()
def list_(asked: Command, key: Key, limit: Limit = 100) -> None:
    """List the recalls of a session, pending, running, fired and cancelled, the newest first."""

    async def work(kernel: "Kernel") -> None:
        found = await kernel.recalls(key, owner=asked.owner, limit=limit)
        rows = (
            (
                each.id,
                each.status,
                each.call_type,
                local_time(each.trigger_at, asked.zone),
                each.interval_seconds,
                each.comment or each.instruction,
            )
            for each in found
        )
        asked.print_list(
            "recalls",
            lambda: [_shape(each, key) for each in found],
            ("recall", "status", "type", "time", "every (s)", "about"),
            rows,
            empty=f"No recall was ever set in {key}.",
        )

    asked.look(work)


@app.command()
@command()
def show(asked: Command, key: Key) -> None:
    """Show the recall of a session: the pending one, else the one that runs."""

    async def work(kernel: "Kernel") -> None:
        pending = await kernel.recall(key, owner=asked.owner)
        if pending is None:
            raise NotFound(f"no recall is pending in {key}")
        _print(asked, pending, key)

    asked.look(work)


@app.command("set")
@command()
def set_(
    asked: Command,
    key: Key,
    instruction: Instruction,
    when: Annotated[
        str | None, typer.Option(help="'30m', 'tomorrow at 09:00', ISO 8601; left out, at once.")
    ] = None,
    interval_seconds: Annotated[
        int | None, typer.Option(help="Again and again, so many seconds apart, from --when on.")
    ] = None,
    timezone: Timezone = None,
    timezone_offset: Annotated[
        str | None, typer.Option(help="±HH:MM, for a time that names no zone.")
    ] = None,
    comment: Annotated[str | None, typer.Option(help="A note for people.")] = None,
) -> None:
    """Have the agent of a session called back."""
    from segue.model.states import CallType

    call_type = CallType.ONCE if when is not None else CallType.IMMEDIATE
    if interval_seconds is not None:
        call_type = CallType.RECURRING

    async def work(kernel: "Kernel") -> None:
        made = await kernel.set_recall(
            key,
            instruction,
            call_type=call_type,
            when=when,
            timezone=await zone_for(kernel, key, timezone, asked.owner),
            timezone_offset=timezone_offset,
            interval_seconds=interval_seconds,
            comment=comment,
            owner=asked.owner,
        )
        _print(asked, made, key)

    asked.look(work)


@app.command()
@command()
def cancel(asked: Command, key: Key) -> None:
    """Cancel the recall of a session: the pending one, or one that has come due and waits."""

    async def work(kernel: "Kernel") -> None:
        await kernel.cancel_recall(key, owner=asked.owner)
        asked.say(f"No recall is pending in {key} now.", {"cancelled": True})

    asked.look(work)


@app.command()
@command()
def skip(asked: Command, key: Key) -> None:
    """Let the next time of a recurring recall go by."""

    async def work(kernel: "Kernel") -> None:
        _print(asked, await kernel.skip_recall(key, owner=asked.owner), key)

    asked.look(work)


def _print(asked: Command, recall: "Recall", key: str) -> None:
    fields = {
        "recall": recall.id,
        "session": key,
        "status": recall.status,
        "type": recall.call_type,
        "time": local_time(recall.trigger_at, asked.zone),
        "every (s)": recall.interval_seconds,
        "comment": recall.comment,
        "instruction": recall.instruction,
    }
    asked.print_one(lambda: _shape(recall, key), fields)


def _shape(recall: "Recall", key: str) -> "RecallOut":
    from segue.server.schemas import views

    return views.recall(recall, key)
