"""Routes for clients that show conversations: the log, search, export, Markdown, and times in text."""

from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from segue.errors import BadTrigger
from segue.kernel.api.export import ExportFormat
from segue.memory.message_search import LAST_POSITION, LONGEST_QUERY
from segue.model.conditions.spoken_conditions import split_condition
from segue.model.text_checks import MAX_KEY
from segue.server.error_responses import responses
from segue.server.markdown_pool import html_of
from segue.server.paging import (
    LARGEST_SEQ,
    Cursor,
    Limit,
    decode_position,
    decode_seq,
    encode_seq,
    page_length,
)
from segue.server.request_context import AuthenticatedRequest, AuthenticatedRoute
from segue.server.routes.sessions import KeyInPath
from segue.server.schemas import common, events, views
from segue.times.clock import to_moment
from segue.times.reader import Moment, When
from segue.times.reader.triggers import trigger_of
from segue.times.reader.zones import find_zone
from segue.times.trigger import resolve

router = APIRouter(route_class=AuthenticatedRoute, tags=["Reading"], responses=responses(400, 401, 403, 422))

_NEXT_TIMES = 3
_MEDIA_TYPES = {
    ExportFormat.MARKDOWN: "text/markdown; charset=utf-8",
    ExportFormat.JSON: "application/x-ndjson",
}


@router.get("/sessions/{key}/log", summary="Read the log from its end", responses=responses(404))
async def read_log(
    key: KeyInPath, request: AuthenticatedRequest, limit: Limit = 100, cursor: Cursor = None
) -> common.LogOut:
    """Return the newest events that a client shows, oldest first, in the form of live events.
    `next_cursor` leads to earlier events."""
    session = await request.kernel.sessions.get(key, owner=request.owner)
    overview = await request.kernel.sessions.overview_of(session.id)
    found = await request.kernel.log.page(session, before=decode_seq(cursor, LARGEST_SEQ), limit=limit + 1)
    lengths = (len(event.content or "") for event in reversed(found))
    page = found[-page_length(lengths, limit) :]
    html = await html_of(event.content for event in page if event.content is not None)
    return common.LogOut(
        events=[
            await events.to_wire(request.kernel, session, event, overview=overview, html=html)
            for event in page
        ],
        next_cursor=encode_seq(page[0].seq) if len(found) > len(page) else None,
    )


@router.get("/messages/search", summary="Search messages", responses=responses(404))
async def search_messages(
    request: AuthenticatedRequest,
    query: Annotated[
        str,
        Query(
            max_length=LONGEST_QUERY,
            pattern=r"^[^\x00]*$",
            description="Words that a message must have, in any order.",
            examples=["rollback deploy"],
        ),
    ],
    session: Annotated[
        str | None,
        Query(pattern=common.KEY_PATTERN, max_length=MAX_KEY, description="Search only this session."),
    ] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> common.FoundMessagesOut:
    """Find messages in the caller's sessions, newest first, archived ones too. A word of three or more
    letters is found at the beginning of longer words too. Messages are found soon after their turn ended."""
    found = await request.kernel.log.search(
        query,
        owner=request.owner,
        session=session,
        before=decode_position(cursor, LAST_POSITION),
        limit=limit + 1,
    )
    page = found[:limit]
    return common.FoundMessagesOut(
        messages=[views.found_message(each) for each in page],
        next_cursor=encode_seq(page[-1].position) if len(found) > limit else None,
    )


@router.get(
    "/sessions/{key}/export",
    summary="Export a conversation",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "The whole conversation, as a file.",
            "content": {"text/markdown": {}, "application/x-ndjson": {}},
        },
        **responses(404),
    },
)
async def export_session(
    key: KeyInPath,
    request: AuthenticatedRequest,
    format: Annotated[
        ExportFormat,
        Query(description="`json` has one message a line; `segue sessions import` reads it."),
    ] = ExportFormat.MARKDOWN,
) -> StreamingResponse:
    """Download the messages of a session, archived ones too. Files are named, not included."""
    session = await request.kernel.sessions.get(key, owner=request.owner)
    return StreamingResponse(
        request.kernel.log.export(session, format=format),
        media_type=_MEDIA_TYPES[format],
        headers={
            "Content-Disposition": f"attachment; filename*=UTF-8''{quote(key, safe='')}.{format.suffix}",
            "X-Content-Type-Options": "nosniff",
        },
    )


@router.post("/markdown", summary="Render Markdown", responses=responses(413))
async def render_markdown(body: common.MarkdownIn) -> common.RenderedOut:
    """Render a text like the `html` of a message, for text that is still streaming."""
    html = await html_of([body.text])
    return common.RenderedOut(html=html[body.text])


@router.get("/when", summary="Find a time in a sentence")
async def find_time(
    request: AuthenticatedRequest,
    text: Annotated[str, Query(max_length=1000, pattern=r"^[^\x00]*$", examples=["call Ana tomorrow at 9"])],
    timezone: Annotated[
        str | None,
        Query(
            max_length=100,
            description="The IANA zone for a time without a zone. Default: the server's setting, if any.",
            examples=["Europe/Berlin"],
        ),
    ] = None,
    days: Annotated[
        str | None,
        Query(max_length=50, description="The day set that words about working days mean.", examples=["CN"]),
    ] = None,
) -> common.FoundTimeOut:
    """Find the one time or schedule in a sentence and return when that is. If words about time remain, or if
    there are several meanings, there is no result; the response says which words or which meanings.

    A clock time with a zone neither in the text nor in `timezone` is refused (`zone_needed`).
    """
    from segue.times.reader.finder import find  # loads large tables that most processes never need

    now, zone = to_moment(request.kernel.clock.ms()), timezone or request.kernel.sessions.zone_in(None)
    sentence, unless = split_condition(text)
    result = find(sentence, now=now.astimezone(find_zone(zone) if zone else UTC), zone=zone)
    if result.when is None:
        return common.FoundTimeOut(
            when=None,
            verdict=result.verdict.value,
            readings=list(result.readings),
            unread=result.unread,
            unless=unless,
        )
    try:
        moments = await _moments(request, result.when, now, days)
    except BadTrigger:  # a cron line that never fires
        return common.FoundTimeOut(
            when=None, verdict="not_read", readings=[], unread=result.phrase, unless=unless
        )
    when = common.WhenOut(
        phrase=result.phrase,
        repeats=not isinstance(result.when, Moment),
        passed=result.passed,
        next=[views.moment(round(moment.timestamp() * 1000)) for moment in moments],
    )
    return common.FoundTimeOut(when=when, verdict="read", readings=[], unread="", unless=unless)


async def _moments(
    request: AuthenticatedRequest, when: When, now: datetime, days: str | None
) -> list[datetime]:
    if isinstance(when, Moment):
        return [when.at]
    trigger = resolve(trigger_of(when, days=days), now=now, zone=None)
    trigger = await request.kernel.days.applied(trigger, owner=request.owner)
    moments: list[datetime] = []
    after = now.astimezone(UTC)
    while len(moments) < _NEXT_TIMES and (following := trigger.next_after(after)) is not None:
        moments.append(following)
        after = following
    return moments
