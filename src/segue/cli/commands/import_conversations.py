"""`segue sessions import`: imports conversations that were held elsewhere."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo

import typer

from segue.cli.support.command import CommandContext, command
from segue.cli.support.output import print_json, print_table, printable
from segue.cli.support.progress import Tell, progress
from segue.cli.support.timezone import Timezone, terminal_zone
from segue.errors import BadSetting
from segue.record import record

if TYPE_CHECKING:
    from segue.cli.support.conversations import ConversationInFile
    from segue.kernel.kernel import Kernel

File = Annotated[
    Path,
    typer.Argument(
        help="An OpenAI export (conversations.json), a nanobot session (.jsonl), or lines of "
        '{"role", "content", "created_at"}.',
        show_default=False,
    ),
]
ToKey = Annotated[
    str | None,
    typer.Option("--key", help="The session to import into; a new one if unset.", show_default=False),
]
Archive = Annotated[bool, typer.Option("--commit", help="Archive the sessions, so that search finds them.")]


@record
class ImportResult:
    conversation: "ConversationInFile"
    key: str
    added: int
    present: int


@command()
def import_conversations(
    context: CommandContext, file: File, key: ToKey = None, timezone: Timezone = None, commit: Archive = False
) -> None:
    """Import conversations. What was imported before is not imported again, and bad lines are reported."""

    async def work(kernel: "Kernel") -> None:
        from segue.cli.support.conversations import FileContext, read_conversations
        from segue.model.settings import check_zone

        zone = timezone or terminal_zone() or "UTC"
        check_zone(zone)
        found = read_conversations(file, FileContext(now=kernel.clock.ms(), zone=ZoneInfo(zone)))
        if key is not None and len(found) != 1:
            raise BadSetting(
                f"--key names one session, and {file} has {len(found)} conversations; leave it out"
            )
        results = []
        with progress(silent=context.as_json) as tell:
            for number, conversation in enumerate(found, start=1):
                place = partial(_tell_place, tell, f"Conversation {number:,} of {len(found):,}")
                results.append(await _import(context, kernel, conversation, key, place))
                if commit and conversation.messages:
                    await kernel.memory.commit(results[-1].key, owner=context.owner)
        _print(context, results)

    context.run(work, create=True)


async def _import(
    context: CommandContext, kernel: "Kernel", conversation: "ConversationInFile", key: str | None, tell: Tell
) -> ImportResult:
    into = conversation.key if key is None else key
    total = len(conversation.messages)
    if not total:
        return ImportResult(conversation=conversation, key=into, added=0, present=0)
    await kernel.sessions.open(into, title=conversation.title, owner=context.owner)

    done = await kernel.log.import_all(
        into,
        conversation.messages,
        owner=context.owner,
        progress=lambda stored: tell(f"{stored:,} of {total:,} messages"),
    )
    return ImportResult(conversation=conversation, key=into, added=done.added, present=done.present)


def _tell_place(tell: Tell, place: str, done: str) -> None:
    tell(f"{place}: {done}")


def _print(context: CommandContext, results: "list[ImportResult]") -> None:
    if context.as_json:
        print_json({"conversations": [_as_json(each) for each in results]})
        return
    columns = ("session", "title", "added", "present", "left out", "bad")
    rows = (
        (
            each.key,
            each.conversation.title,
            each.added,
            each.present,
            ", ".join(f"{count} {what}" for what, count in sorted(each.conversation.left_out.items())),
            len(each.conversation.bad),
        )
        for each in results
    )
    print_table(columns, rows, empty="The file holds no conversation.")
    for each in results:
        for bad in each.conversation.bad:
            typer.echo(f"{bad.where}: {printable(bad.reason)}")


def _as_json(result: ImportResult) -> dict[str, object]:
    conversation = result.conversation
    return {
        "session_key": result.key,
        "title": conversation.title,
        "added": result.added,
        "present": result.present,
        "left_out": dict(conversation.left_out),
        "bad": [{"where": bad.where, "reason": bad.reason} for bad in conversation.bad],
    }
