"""Resources of the MCP wire: messages, automations and runs of a session as JSON, in the HTTP API's shapes.

A URI names a session of the caller. Sessions, jobs and runs of others are not found.
"""

from collections.abc import Awaitable, Callable
from urllib.parse import quote, unquote, urlsplit

from mcp import MCPError, types
from pydantic import BaseModel

from segue.errors import NotFound, SegueError
from segue.kernel.kernel import Kernel
from segue.model.records import Overview, Session
from segue.model.states import JobKind
from segue.server.error_responses import Refused, problem_of
from segue.server.paging import decode_cursor, encode_cursor, page_length
from segue.server.schemas import automations, common, views
from segue.server.wires.mcp.binding import Binding

_JSON = "application/json"
_SESSIONS_A_PAGE = 50
_MOST = 100
"""Messages and automations in a resource, the newest ones."""

_TEMPLATES = (
    ("messages", "messages", "The newest messages of a session, oldest first."),
    ("automations", "automations", "The scheduled jobs of a session, newest first, with their next runs."),
    ("run", "runs/{id}", "One run of a job: when it was planned, when it ran, its outcome and the reason."),
)


def templates() -> list[types.ResourceTemplate]:
    return [
        types.ResourceTemplate(
            name=name,
            uri_template=f"segue://sessions/{{key}}/{path}",
            description=f"{description} `key` is percent-encoded.",
            mime_type=_JSON,
        )
        for name, path, description in _TEMPLATES
    ]


async def list_resources(kernel: Kernel, binding: Binding, cursor: str | None) -> types.ListResourcesResult:
    """The resources of the caller's sessions, the one with the newest message first."""
    try:
        before = decode_cursor(cursor)
    except Refused as error:
        raise MCPError(types.INVALID_PARAMS, error.detail) from error
    found = await kernel.sessions.overviews(owner=binding.owner, limit=_SESSIONS_A_PAGE + 1, before=before)
    page = found[:_SESSIONS_A_PAGE]
    return types.ListResourcesResult(
        resources=[resource for overview in page for resource in _resources_of(overview)],
        next_cursor=encode_cursor(page[-1].page_start) if len(found) > len(page) else None,
    )


async def keys(kernel: Kernel, binding: Binding, start: str) -> list[str]:
    """The keys of the caller's sessions that begin with `start`."""
    sessions = await kernel.sessions.list(owner=binding.owner, limit=_MOST)
    return [session.key for session in sessions if session.key.startswith(start)]


def _resources_of(overview: Overview) -> list[types.Resource]:
    session = overview.session
    name = session.title or session.key
    return [
        types.Resource(
            name=f"{session.key} {path}",
            title=f"{name}: {path}",
            uri=f"segue://sessions/{quote(session.key, safe=':')}/{path}",
            mime_type=_JSON,
        )
        for path in ("messages", "automations")
    ]


async def read_resource(kernel: Kernel, binding: Binding, uri: str) -> types.ReadResourceResult:
    """Raises MCPError for a URI of another form, and for what is not the caller's."""
    try:
        found = await _read(kernel, binding, uri)
    except NotFound as error:
        raise MCPError(types.INVALID_PARAMS, f"resource not found: {error}", {"uri": uri}) from error
    except SegueError as error:
        raise MCPError(types.INVALID_PARAMS, problem_of(error).detail, {"uri": uri}) from error
    contents = types.TextResourceContents(uri=uri, mime_type=_JSON, text=_json(found))
    return types.ReadResourceResult(contents=[contents])


async def _read(kernel: Kernel, binding: Binding, uri: str) -> BaseModel:
    parts = urlsplit(uri)
    key, *path = (unquote(part) for part in parts.path.removeprefix("/").split("/"))
    if (parts.scheme, parts.netloc) != ("segue", "sessions") or not key:
        raise NotFound(
            f"a URI is segue://sessions/KEY/messages, …/automations or …/runs/ID, got {uri[:200]!r}"
        )
    match path:
        case ["runs", run_id]:
            return await _run(kernel, binding, key, run_id)
        case [name] if read := _READERS.get(name):
            return await read(kernel, await kernel.sessions.get(key, owner=binding.owner))
    raise NotFound(f"a session has messages, automations and runs/ID, got {'/'.join(path)[:200]!r}")


async def _messages(kernel: Kernel, session: Session) -> BaseModel:
    found = await kernel.log.newest(session, limit=_MOST)
    if found:
        found = found[-page_length((len(each.content) for each in reversed(found)), _MOST) :]
    archived = session.live.archived_seq
    messages = [views.message(each, session.id, html="", archived_seq=archived) for each in found]
    return common.MessagesOut(messages=messages, next_cursor=None)


async def _automations(kernel: Kernel, session: Session) -> BaseModel:
    found = await kernel.jobs.list(session, kind=JobKind.CRON, limit=_MOST)
    return automations.JobsOut(jobs=await automations.jobs_out(kernel, found, session), next_cursor=None)


_READERS: dict[str, Callable[[Kernel, Session], Awaitable[BaseModel]]] = {
    "messages": _messages,
    "automations": _automations,
}


async def _run(kernel: Kernel, binding: Binding, key: str, run_id: str) -> BaseModel:
    session = await kernel.sessions.get(key, owner=binding.owner)
    run = await kernel.runs.get(run_id, owner=binding.owner)
    if run.session_id != session.id:
        raise NotFound(f"there is no run {run_id} in {key}")
    return views.run(run, key)


def _json(found: BaseModel) -> str:
    # The HTML of a message is for the page.
    return found.model_dump_json(exclude={"messages": {"__all__": {"html"}}, "next_cursor": True})
