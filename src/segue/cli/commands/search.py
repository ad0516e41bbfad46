"""`segue search`: finds messages by their words."""

from typing import TYPE_CHECKING, Annotated

import typer

from segue.cli.support.command import CommandContext, command
from segue.cli.support.options import Limit

if TYPE_CHECKING:
    from segue.kernel.kernel import Kernel
    from segue.memory.message_search import FoundMessage
    from segue.server.schemas.common import FoundMessageOut

_MOST_STEPS = 20

Query = Annotated[str, typer.Argument(help="Words that a message must have.", show_default=False)]
InSession = Annotated[
    str | None, typer.Option("--session", help="Search only this session.", show_default=False)
]


@command()
def search(context: CommandContext, query: Query, session: InSession = None, limit: Limit = 20) -> None:
    """Search the messages of all sessions, newest first."""

    async def work(kernel: "Kernel") -> None:
        await _index(kernel)
        key = None if session is None else await context.key(kernel, session)
        found = await kernel.log.search(query, owner=context.owner, session=key, limit=limit)
        rows = (
            (each.session_key, context.time(each.message.at), each.message.role, each.excerpt)
            for each in found
        )
        context.print_list(
            "messages",
            lambda: [_model(each) for each in found],
            ("session", "time", "role", "text"),
            rows,
            empty="No message was found.",
        )

    context.run(work)


async def _index(kernel: "Kernel") -> None:
    """Index what was written while no worker ran."""
    for _ in range(_MOST_STEPS):
        if not await kernel.workers.indexer.step():
            return
    typer.echo("Older messages are not indexed yet: `segue serve` or `segue worker` does it.", err=True)


def _model(found: "FoundMessage") -> "FoundMessageOut":
    from segue.server.schemas.views import found_message

    return found_message(found)
