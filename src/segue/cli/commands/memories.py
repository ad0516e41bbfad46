"""`segue memories`: what is known of a user, and how to correct it."""

from typing import TYPE_CHECKING, Annotated

import typer

from segue.cli.support.command import Command, command
from segue.cli.support.options import Limit
from segue.cli.support.output import local_time

if TYPE_CHECKING:
    from segue.kernel.kernel import Kernel
    from segue.model.memory import Memory
    from segue.server.schemas.memory import MemoryOut

app = typer.Typer(help="What is known of a user.", no_args_is_help=True)

MemoryId = Annotated[str, typer.Argument(help="The memory's id.", show_default=False)]
Query = Annotated[str, typer.Argument(help="A few words.", show_default=False)]
Content = Annotated[str, typer.Argument(help="What is right.", show_default=False)]


@app.command("list")
@command()
def list_(asked: Command, limit: Limit = 100) -> None:
    """List memories, the newest first."""

    async def work(kernel: "Kernel") -> None:
        _print(asked, await kernel.memories(owner=asked.owner, limit=limit))

    asked.look(work)


@app.command()
@command()
def search(asked: Command, query: Query, limit: Limit = 10) -> None:
    """Find memories, and passages of what was put away, by their words."""

    async def work(kernel: "Kernel") -> None:
        found = await kernel.recollect(query, owner=asked.owner, limit=limit)
        _print(asked, [each.memory for each in found])

    asked.look(work)


@app.command()
@command()
def show(asked: Command, memory_id: MemoryId) -> None:
    """Show a memory and where it comes from."""

    async def work(kernel: "Kernel") -> None:
        memory = await kernel.memory(memory_id, owner=asked.owner)
        fields = {
            "id": memory.id,
            "kind": memory.kind,
            "topic": memory.topic,
            "memory": memory.content,
            "sure": f"{memory.confidence} %",
            "archive": memory.archive_n,
            "since": local_time(memory.created_at, asked.zone),
            "last said": local_time(memory.updated_at, asked.zone),
        }
        asked.print_one(lambda: _shape(memory), fields)

    asked.look(work)


@app.command()
@command()
def edit(asked: Command, memory_id: MemoryId, content: Content) -> None:
    """Correct a memory."""

    async def work(kernel: "Kernel") -> None:
        changed = await kernel.change_memory(memory_id, content=content, owner=asked.owner)
        asked.say(f"Memory {memory_id} is corrected.", _shape(changed).model_dump(mode="json"))

    asked.look(work)


@app.command()
@command()
def remove(asked: Command, memory_id: MemoryId) -> None:
    """Forget something."""

    async def work(kernel: "Kernel") -> None:
        await kernel.forget(memory_id, owner=asked.owner)
        asked.say(f"Memory {memory_id} is forgotten.", {"deleted": True})

    asked.look(work)


def _print(asked: Command, memories: "list[Memory]") -> None:
    rows = (
        (
            each.id,
            str(each.kind),
            each.content,
            f"{each.confidence} %",
            local_time(each.updated_at, asked.zone),
        )
        for each in memories
    )
    asked.print_list(
        "memories",
        lambda: [_shape(each) for each in memories],
        ("id", "kind", "memory", "sure", "said"),
        rows,
        empty="Nothing is known yet.",
    )


def _shape(memory: "Memory") -> "MemoryOut":
    from segue.server.schemas import memory as shapes

    return shapes.memory(memory)
