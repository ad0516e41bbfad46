"""`segue memories`: list, search, correct and remove memories of a user."""

from typing import TYPE_CHECKING, Annotated

import typer

from segue.cli.support.command import CommandContext, command
from segue.cli.support.options import Limit

if TYPE_CHECKING:
    from segue.kernel.kernel import Kernel
    from segue.model.memory import Memory
    from segue.server.schemas.memory import MemoryOut

app = typer.Typer(help="List and correct the memories of a user.", no_args_is_help=True)

MemoryId = Annotated[str, typer.Argument(help="The memory's id.", show_default=False)]
Query = Annotated[str, typer.Argument(help="Search words.", show_default=False)]
Content = Annotated[str, typer.Argument(help="The corrected text.", show_default=False)]


@app.command("list")
@command()
def list_(context: CommandContext, limit: Limit = 100) -> None:
    """List memories, newest first."""

    async def work(kernel: "Kernel") -> None:
        _print(context, await kernel.memory.list(owner=context.owner, limit=limit))

    context.run(work)


@app.command()
@command()
def search(context: CommandContext, query: Query, limit: Limit = 10) -> None:
    """Search memories and passages of archives."""

    async def work(kernel: "Kernel") -> None:
        found = await kernel.memory.search(query, owner=context.owner, limit=limit)
        _print(context, [each.memory for each in found])

    context.run(work)


@app.command()
@command()
def show(context: CommandContext, memory_id: MemoryId) -> None:
    """Show a memory and its source."""

    async def work(kernel: "Kernel") -> None:
        memory = await kernel.memory.get(memory_id, owner=context.owner)
        fields = {
            "id": memory.id,
            "kind": memory.kind,
            "topic": memory.topic,
            "memory": memory.content,
            "sure": f"{memory.confidence} %",
            "archive": memory.archive_n,
            "since": context.exact_time(memory.created_at),
            "last said": context.exact_time(memory.updated_at),
        }
        context.print_one(lambda: _model(memory), fields)

    context.run(work)


@app.command()
@command()
def embed(context: CommandContext) -> None:
    """Store the vectors that are missing, after an embedder was configured."""

    async def work(kernel: "Kernel") -> None:
        stored = await kernel.memory.embed_missing()
        context.say(f"{stored} vectors were stored.", {"stored": stored})

    context.run(work)


@app.command()
@command()
def edit(context: CommandContext, memory_id: MemoryId, content: Content) -> None:
    """Correct a memory."""

    async def work(kernel: "Kernel") -> None:
        changed = await kernel.memory.update(memory_id, content=content, owner=context.owner)
        context.say(f"Memory {memory_id} was corrected.", _model(changed).model_dump(mode="json"))

    context.run(work)


@app.command()
@command()
def remove(context: CommandContext, memory_id: MemoryId) -> None:
    """Remove a memory."""

    async def work(kernel: "Kernel") -> None:
        await kernel.memory.delete(memory_id, owner=context.owner)
        context.say(f"Memory {memory_id} was removed.", {"deleted": True})

    context.run(work)


def _print(context: CommandContext, memories: "list[Memory]") -> None:
    rows = (
        (
            each.id,
            str(each.kind),
            each.content,
            f"{each.confidence} %",
            context.time(each.updated_at),
        )
        for each in memories
    )
    context.print_list(
        "memories",
        lambda: [_model(each) for each in memories],
        ("id", "kind", "memory", "sure", "said"),
        rows,
        empty="There are no memories yet.",
    )


def _model(memory: "Memory") -> "MemoryOut":
    from segue.server.schemas import memory as models

    return models.memory(memory)
