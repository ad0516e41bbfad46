"""`segue mcp`: an MCP server on standard input and output, for a client that starts it as a process.

It runs workers, as `segue chat` does: what the client schedules runs while the client is open, and later in
any other process of the same database. Standard output carries only the protocol.
"""

import asyncio
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from segue.cli.support.load_settings import configured
from segue.cli.support.options import Account, User, asker_of
from segue.extras import needed_for
from segue.model.text_checks import check_key

if TYPE_CHECKING:
    from segue.config import Configuration
    from segue.kernel.kernel import Kernel
    from segue.server.wires.mcp.binding import Binding

Session = Annotated[
    str | None, typer.Option(help="The key of the session that the tools act in, channel:chat_id.")
]


@configured()
def mcp(
    configuration: "Configuration",
    session: Session = None,
    account: Account = "default",
    user: User = None,
) -> None:
    """Run an MCP server on standard input and output, with workers."""
    from segue.cli.support.event_loop import run
    from segue.cli.support.timezone import terminal_zone

    if session is not None:
        check_key(session)
    with needed_for("`segue mcp`"):
        from segue.server.wires.mcp.binding import local_binding
    run(_serve(configuration, local_binding(asker_of(account, user), session, terminal_zone())))


async def _serve(configuration: "Configuration", binding: "Binding") -> None:
    from segue.cli.support.open_kernel import kernel_with_workers
    from segue.cli.support.signals import stop_signals, work_until_stopped

    with stop_signals() as signals:
        async with kernel_with_workers(configuration) as kernel, asyncio.TaskGroup() as group:
            answering = group.create_task(_answer(kernel, binding))
            answering.add_done_callback(lambda _: signals.stop_requested.set())
            gone = await work_until_stopped(kernel, signals)
            answering.cancel()
    if gone is not None:
        raise gone


async def _answer(kernel: "Kernel", binding: "Binding") -> None:
    """Answer requests until standard input ends."""
    with needed_for("`segue mcp`", "mcp"):
        from mcp.server.stdio import stdio_server

        from segue.cli.support.stdin_lines import StdinLines
        from segue.server.wires.mcp.protocol_server import make_server
    server = make_server(kernel, lambda context: binding)
    # The library only iterates over the lines. Its own reader would keep the process until the next line.
    async with stdio_server(stdin=cast(Any, StdinLines())) as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
