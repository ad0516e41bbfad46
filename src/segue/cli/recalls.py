"""`segue recalls`: how agents have called themselves back, and what is pending."""

from typing import TYPE_CHECKING, Annotated

import typer

from segue.cli.configured import configured
from segue.cli.output import AsJson, local_time, print_json, print_record, print_table, shape
from segue.cli.whose import Account, Key, Limit, User
from segue.errors import NotFound
from segue.model import Owner

if TYPE_CHECKING:
    from segue.configuration import Configuration
    from segue.kernel import Kernel
    from segue.model import Recall

app = typer.Typer(help="How agents call themselves back.", no_args_is_help=True)

Instruction = Annotated[
    str, typer.Argument(help="What the agent is to do then, in full.", show_default=False)
]


@app.command("list")
@configured()
def list_(
    configuration: "Configuration",
    key: Key,
    limit: Limit = 100,
    account: Account = "default",
    user: User = "default",
    as_json: AsJson = False,
) -> None:
    """List the recalls of a session, pending, fired and cancelled, the newest first."""
    from segue.cli.house import looking

    async def work(kernel: "Kernel") -> None:
        found = await kernel.recalls(key, owner=Owner(account, user), limit=limit)
        if as_json:
            from segue.server import views

            print_json({"recalls": [shape(views.recall(each, key)) for each in found]})
            return
        rows = [
            (
                each.id,
                each.status,
                each.call_type,
                local_time(each.trigger_at, configuration.timezone),
                each.interval_seconds,
                each.comment or each.instruction,
            )
            for each in found
        ]
        columns = ("recall", "status", "type", "time", "every (s)", "about")
        print_table(columns, rows, empty=f"No recall was ever set in {key}.")

    looking(configuration, work)


@app.command()
@configured()
def show(
    configuration: "Configuration",
    key: Key,
    account: Account = "default",
    user: User = "default",
    as_json: AsJson = False,
) -> None:
    """Show the pending recall of a session."""
    from segue.cli.house import looking

    async def work(kernel: "Kernel") -> None:
        pending = await kernel.recall(key, owner=Owner(account, user))
        if pending is None:
            raise NotFound(f"no recall is pending in {key}")
        _print(pending, key, configuration.timezone, as_json)

    looking(configuration, work)


@app.command("set")
@configured()
def set_(
    configuration: "Configuration",
    key: Key,
    instruction: Instruction,
    when: Annotated[
        str | None, typer.Option(help="'30m', 'tomorrow at 09:00', ISO 8601; left out, at once.")
    ] = None,
    interval_seconds: Annotated[
        int | None, typer.Option(help="Again and again, so many seconds apart, from --when on.")
    ] = None,
    timezone_offset: Annotated[
        str | None, typer.Option(help="±HH:MM, for a time that names no zone.")
    ] = None,
    comment: Annotated[str | None, typer.Option(help="A note for people.")] = None,
    account: Account = "default",
    user: User = "default",
    as_json: AsJson = False,
) -> None:
    """Have the agent of a session called back."""
    from segue.cli.house import looking
    from segue.states import CallType

    call_type = CallType.ONCE if when is not None else CallType.IMMEDIATE
    if interval_seconds is not None:
        call_type = CallType.RECURRING

    async def work(kernel: "Kernel") -> None:
        made = await kernel.set_recall(
            key,
            instruction,
            call_type=call_type,
            when=when,
            timezone_offset=timezone_offset,
            interval_seconds=interval_seconds,
            comment=comment,
            owner=Owner(account, user),
        )
        _print(made, key, configuration.timezone, as_json)

    looking(configuration, work)


@app.command()
@configured()
def cancel(
    configuration: "Configuration",
    key: Key,
    account: Account = "default",
    user: User = "default",
    as_json: AsJson = False,
) -> None:
    """Cancel the recall of a session: the pending one, or one that has come due and waits."""
    from segue.cli.house import looking

    async def work(kernel: "Kernel") -> None:
        await kernel.cancel_recall(key, owner=Owner(account, user))
        if as_json:
            print_json({"cancelled": True})
        else:
            typer.echo(f"No recall is pending in {key} now.")

    looking(configuration, work)


@app.command()
@configured()
def skip(
    configuration: "Configuration",
    key: Key,
    account: Account = "default",
    user: User = "default",
    as_json: AsJson = False,
) -> None:
    """Let the next time of a recurring recall go by."""
    from segue.cli.house import looking

    async def work(kernel: "Kernel") -> None:
        skipped = await kernel.skip_recall(key, owner=Owner(account, user))
        _print(skipped, key, configuration.timezone, as_json)

    looking(configuration, work)


def _print(recall: "Recall", key: str, zone: str, as_json: bool) -> None:
    if as_json:
        from segue.server import views

        print_json(shape(views.recall(recall, key)))
        return
    print_record(
        {
            "recall": recall.id,
            "session": key,
            "status": recall.status,
            "type": recall.call_type,
            "time": local_time(recall.trigger_at, zone),
            "every (s)": recall.interval_seconds,
            "comment": recall.comment,
            "instruction": recall.instruction,
        }
    )
