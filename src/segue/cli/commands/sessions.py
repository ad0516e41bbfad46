"""`segue sessions`: list, show, edit, commit, stop and remove sessions, and store messages in them."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from segue.cli.commands.calendar import calendar, import_calendar
from segue.cli.commands.import_conversations import import_conversations
from segue.cli.support.command import CommandContext, command
from segue.cli.support.human_time import exact_time
from segue.cli.support.options import (
    AutoCommitEnabled,
    IdleTimeoutSeconds,
    KeepRecentCount,
    Key,
    Limit,
    MessageCountThreshold,
    MinCommitIntervalSeconds,
    TokenThreshold,
    policy_of,
)
from segue.cli.support.output import print_json, print_record, printable, to_json
from segue.cli.support.progress import progress
from segue.cli.support.read_file import read_file
from segue.errors import BadSetting, BadText, SessionHasJobs
from segue.kernel.api.export import ExportFormat
from segue.model.cost.budget import Budget
from segue.model.written_message import GivenMessage

if TYPE_CHECKING:
    from segue.kernel.kernel import Kernel
    from segue.kernel.transactions.sessions import MaybePolicy
    from segue.model.records import Overview
    from segue.server.schemas.common import SessionOut

app = typer.Typer(help="List and change sessions (conversations).", no_args_is_help=True)

Format = Annotated[ExportFormat, typer.Option(help="markdown or json; --json is the same as the latter.")]
CreatedAt = Annotated[
    str | None,
    typer.Option(
        help="When it was said, such as 2026-11-16T09:00:00+01:00; now if unset.", show_default=False
    ),
]
Role = Annotated[str, typer.Option(help="user, assistant or system.")]
Content = Annotated[str, typer.Argument(help="The message.", show_default=False)]
File = Annotated[
    Path,
    typer.Argument(
        help='A JSON list of {"role", "content", "created_at"}, or one a line; - reads standard input.'
    ),
]


@app.command("list")
@command()
def list_(context: CommandContext, limit: Limit = 100) -> None:
    """List sessions, most recent message first."""

    async def work(kernel: "Kernel") -> None:
        found = await kernel.sessions.overviews(owner=context.owner, limit=limit)
        rows = (
            (
                each.session.key,
                each.session.owner.user,
                each.session.title,
                "running" if each.session.holder else "idle",
                each.queued,
                each.message_count,
                each.cron_jobs,
                context.time(each.session.last_message_at),
            )
            for each in found
        )
        columns = ("session", "user", "title", "state", "queued", "messages", "automations", "last message")
        context.print_list(
            "sessions",
            lambda: [_model(each) for each in found],
            columns,
            rows,
            empty="There are no sessions yet. `segue chat` starts one.",
        )

    context.run(work)


@app.command()
@command()
def show(context: CommandContext, session: Key, limit: Limit = 20) -> None:
    """Show a session and its newest messages."""

    async def work(kernel: "Kernel") -> None:
        key = await context.key(kernel, session)
        overview = await kernel.sessions.overview(key, owner=context.owner)
        messages = await kernel.log.newest(overview.session, limit=limit)
        if context.as_json:
            from segue.server.markdown_pool import html_of
            from segue.server.schemas import views

            html = await html_of(each.content for each in messages)
            session_id = overview.session.id
            messages_json = [
                to_json(views.message(each, session_id, html=html[each.content])) for each in messages
            ]
            print_json({**to_json(_model(overview)), "messages": messages_json})
            return
        print_record(_fields(overview, context.zone))
        for each in messages:
            typer.echo(f"\n{context.time(each.at)}  {each.role}\n{printable(each.content)}")

    context.run(work)


@app.command()
@command()
def export(context: CommandContext, session: Key, format: Format = ExportFormat.MARKDOWN) -> None:
    """Print a whole conversation as Markdown, or as JSON lines that `segue sessions import` reads."""

    async def work(kernel: "Kernel") -> None:
        key = await context.key(kernel, session)
        wanted = ExportFormat.JSON if context.as_json else format
        written = 0
        # On a terminal the conversation itself is the progress.
        with progress(silent=context.as_json or sys.stdout.isatty()) as tell:
            async for piece in kernel.log.export(key, owner=context.owner, format=wanted):
                sys.stdout.write(piece)
                written += len(piece)
                tell(f"{written:,} characters written")

    context.run(work)


@app.command()
@command()
def add_message(
    context: CommandContext,
    session: Key,
    content: Content,
    role: Role = "user",
    created_at: CreatedAt = None,
    auto_commit_enabled: AutoCommitEnabled = None,
    token_threshold: TokenThreshold = None,
    message_count_threshold: MessageCountThreshold = None,
    idle_timeout_seconds: IdleTimeoutSeconds = None,
    min_commit_interval_seconds: MinCommitIntervalSeconds = None,
    keep_recent_count: KeepRecentCount = None,
) -> None:
    """Store a message without running the agent. Creates the session if it does not exist."""
    policy = policy_of(
        auto_commit_enabled,
        token_threshold=token_threshold,
        message_count_threshold=message_count_threshold,
        idle_timeout_seconds=idle_timeout_seconds,
        min_commit_interval_seconds=min_commit_interval_seconds,
        keep_recent_count=keep_recent_count,
    )
    _write(context, session, [(role, content, created_at)], policy)


@app.command()
@command()
def add_messages(
    context: CommandContext,
    session: Key,
    file: File = Path("-"),
    auto_commit_enabled: AutoCommitEnabled = None,
    token_threshold: TokenThreshold = None,
    message_count_threshold: MessageCountThreshold = None,
    idle_timeout_seconds: IdleTimeoutSeconds = None,
    min_commit_interval_seconds: MinCommitIntervalSeconds = None,
    keep_recent_count: KeepRecentCount = None,
) -> None:
    """Store up to 100 messages together without running the agent."""
    policy = policy_of(
        auto_commit_enabled,
        token_threshold=token_threshold,
        message_count_threshold=message_count_threshold,
        idle_timeout_seconds=idle_timeout_seconds,
        min_commit_interval_seconds=min_commit_interval_seconds,
        keep_recent_count=keep_recent_count,
    )
    _write(context, session, _messages_in(file), policy)


@app.command()
@command()
def commit(context: CommandContext, session: Key, keep_recent_count: KeepRecentCount = None) -> None:
    """Archive a session's messages. A worker then extracts memories from them."""
    from segue.kernel.transactions.memory.archive import ArchiveMade

    async def work(kernel: "Kernel") -> None:
        key = await context.key(kernel, session)
        from segue.server.schemas import memory

        done = await kernel.memory.commit(key, keep_recent_count=keep_recent_count, owner=context.owner)
        sentence = (
            f"Archive {done.archive_n} of {key} was created; task {done.task_id} extracts memories from it."
            if isinstance(done, ArchiveMade)
            else f"Nothing was archived: {done.reason}."
        )
        context.say(sentence, memory.commit_out(done).model_dump(exclude_none=True))

    context.run(work)


@app.command()
@command()
def stop(context: CommandContext, session: Key) -> None:
    """Stop the running turn of a session."""

    async def work(kernel: "Kernel") -> None:
        key = await context.key(kernel, session)
        turn_id = await kernel.turns.stop(key, owner=context.owner)
        sentence = "No turn is running." if turn_id is None else f"Turn {turn_id} was asked to stop."
        context.say(sentence, {"stopped": turn_id is not None, "turn_id": turn_id})

    context.run(work)


@app.command()
@command()
def edit(
    context: CommandContext,
    session: Key,
    title: Annotated[str | None, typer.Option(help="Its title.")] = None,
    timezone: Annotated[str | None, typer.Option(help="Its IANA zone, such as Europe/Berlin.")] = None,
    days: Annotated[
        str | None,
        typer.Option(help="The day set that words such as 'every workday' mean in it, such as CN; or none."),
    ] = None,
    quiet: Annotated[
        str | None,
        typer.Option(help="Its quiet hours, such as '22:00-07:00' or '22:00-07:00 weekdays'; or none."),
    ] = None,
    digest: Annotated[
        str | None,
        typer.Option(help="When answers that jobs collect are sent: a time such as 08:00, seconds, or none."),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(help='What its scheduled runs may use, such as {"usd": 0.5, "per": "day"}; or none.'),
    ] = None,
) -> None:
    """Change the given fields of a session."""
    changes: dict[str, Any] = {"title": title, "timezone": timezone, "days": days, "budget": budget}
    changes = {name: value for name, value in changes.items() if value is not None}
    if days == "none":
        changes["days"] = None
    if quiet is not None:
        changes["quiet"] = _quiet(quiet)
    if digest is not None:
        changes["digest"] = _digest(digest)
    if budget is not None:
        changes["budget"] = _budget(budget)
    if not changes:
        raise BadSetting("give what to change: --title, --timezone, --days, --quiet, --digest or --budget")

    async def work(kernel: "Kernel") -> None:
        key = await context.key(kernel, session)
        changed = await kernel.sessions.update(key, owner=context.owner, **changes)
        model = _model(await kernel.sessions.overview_of(changed.id))
        context.say(f"Session {key} was changed.", to_json(model))

    context.run(work)


@app.command()
@command()
def send_held(context: CommandContext, session: Key) -> None:
    """Send the answers that wait for the end of quiet hours or for a digest now."""

    async def work(kernel: "Kernel") -> None:
        sent = await kernel.sessions.send_held(await context.key(kernel, session), owner=context.owner)
        context.say(f"{sent} waiting answers are sent." if sent else "No answer waits.", {"sent": sent})

    context.run(work)


@app.command()
@command()
def remove(
    context: CommandContext,
    session: Key,
    with_jobs: Annotated[bool, typer.Option("--with-jobs", help="Remove its jobs too.")] = False,
) -> None:
    """Remove a session with all its data. A session with jobs is removed only with --with-jobs."""

    async def work(kernel: "Kernel") -> None:
        key = await context.key(kernel, session)
        try:
            await kernel.sessions.delete(key, with_jobs=with_jobs, owner=context.owner)
        except SessionHasJobs as error:
            count, them = ("1 job", "it") if len(error.jobs) == 1 else (f"{len(error.jobs)} jobs", "them")
            raise SessionHasJobs(f"{key} has {count}; --with-jobs removes {them} too", error.jobs) from None
        context.say(f"Session {key} was removed.", {"deleted": True})

    context.run(work)


app.command("import")(import_conversations)
app.command("calendar")(calendar)
app.command("import-calendar")(import_calendar)


def _budget(text: str) -> Budget | None:
    if text == "none":
        return None
    try:
        given = json.loads(text)
    except ValueError:
        raise BadSetting(f'--budget is JSON such as {{"usd": 0.5, "per": "day"}}, got {text!r}') from None
    return Budget.from_json(given)


def _model(overview: "Overview") -> "SessionOut":
    from segue.server.schemas import views

    return views.session(overview)


def _fields(overview: "Overview", zone: str) -> dict[str, object]:
    session = overview.session
    return {
        "session": session.key,
        "account": session.owner.account,
        "user": session.owner.user,
        "title": session.title,
        "state": "running" if session.holder else "idle",
        "queued": overview.queued,
        "messages": overview.message_count,
        "tokens": overview.pending_tokens,
        "automations": overview.cron_jobs,
        "zone": session.timezone,
        "working days": overview.days,
        "quiet hours": _quiet_words(overview.quiet),
        "digest": next(iter((overview.digest or {}).values()), None),
        "waiting answers": session.held or None,
        "budget": overview.budget and json.dumps(overview.budget.to_json()),
        "when busy": session.when_busy,
        "created": exact_time(session.created_at, zone),
        "last message": exact_time(session.last_message_at, zone),
    }


def _quiet(text: str) -> dict[str, Any] | None:
    """`22:00-07:00 fri,sat` as the kernel takes it; it checks the parts."""
    if text == "none":
        return None
    hours, _, days = text.partition(" ")
    start, _, end = hours.partition("-")
    named = {} if not days else {"days": days if days in ("all", "weekdays") else days.split(",")}
    return {"from": start, "to": end, **named}


def _digest(text: str) -> dict[str, Any] | None:
    if text == "none":
        return None
    return {"every_seconds": int(text)} if text.isdecimal() else {"at": text}


def _quiet_words(quiet: Mapping[str, Any] | None) -> str | None:
    if quiet is None:
        return None
    days = quiet["days"] if isinstance(quiet["days"], str) else ",".join(quiet["days"])
    return f"{quiet['from']}-{quiet['to']}" + ("" if days == "all" else f" {days}")


def _write(
    context: CommandContext, session: str, messages: Sequence[GivenMessage], policy: "MaybePolicy"
) -> None:
    async def work(kernel: "Kernel") -> None:
        key = await context.key(kernel, session)
        written = await kernel.log.write_all(key, messages, owner=context.owner, auto_commit_policy=policy)
        stored = "1 message was" if written.added == 1 else f"{written.added} messages were"
        context.say(
            f"{stored} stored; {key} has {written.message_count} now.",
            {
                "session_key": key,
                "message_count": written.message_count,
                "pending_tokens": written.pending_tokens,
                "added": written.added,
            },
        )

    context.run(work, create=True)


def _messages_in(file: Path) -> list[GivenMessage]:
    text = read_file(file, "the messages in")
    try:
        given = json.loads(text) if text.lstrip().startswith("[") else _json_lines(text)
    except ValueError as error:
        raise BadText(f"messages are a JSON list, or one JSON object per line: {error}") from None
    return [_message(each, number) for number, each in enumerate(given, start=1)]


def _json_lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def _message(given: Any, number: int) -> GivenMessage:
    match given:
        case {"role": str(role), "content": str(content), **rest} if not rest:
            return role, content
        case {"role": str(role), "content": str(content), "created_at": str(said), **rest} if not rest:
            return role, content, said
        case {"auto_commit_policy": _}:
            raise BadText(
                f"message {number} has a policy of its own; give one policy for all messages by the options"
            )
        case _:
            raise BadText(f'message {number} must be {{"role": …, "content": …}}, perhaps with "created_at"')
