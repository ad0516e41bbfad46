"""What a reader asks for: the conversation from its end backwards, text as HTML, a time as a moment."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query

from segue.errors import BadTrigger
from segue.server.error_responses import responses
from segue.server.markdown_pool import html_of
from segue.server.paging import LARGEST_SEQ, Cursor, Limit, cursor_of_seq, seq_of, that_fit
from segue.server.request_context import AuthenticatedRequest, Guarded
from segue.server.routes.sessions import KeyInPath
from segue.server.schemas import common, events, views
from segue.times.clock import to_moment
from segue.times.reader import CronLine, Interval, Moment, When
from segue.times.reader.zones import find_zone
from segue.times.trigger import At, Cron, Every

router = APIRouter(route_class=Guarded, tags=["Reading"], responses=responses(400, 401, 403, 422))

_NEXT_SHOWN = 3


@router.get("/sessions/{key}/log", summary="Read the conversation backwards", responses=responses(404))
async def read_log(
    key: KeyInPath, asked: AuthenticatedRequest, limit: Limit = 100, cursor: Cursor = None
) -> common.LogOut:
    """The newest events that a reader is shown, oldest first, as they go over the socket; `next_cursor`
    leads to those before them."""
    session = await asked.kernel.session(key, owner=asked.owner)
    overview = await asked.kernel.overview_of(session.id)
    found = await asked.kernel.told(
        key, owner=asked.owner, before=seq_of(cursor, LARGEST_SEQ), limit=limit + 1
    )
    lengths = (len(event.content or "") for event in reversed(found))
    shown = found[-that_fit(lengths, limit) :]
    html = await html_of(event.content for event in shown if event.content is not None)
    return common.LogOut(
        events=[
            await events.event(asked.kernel, session, event, overview=overview, html=html) for event in shown
        ],
        next_cursor=cursor_of_seq(shown[0].seq) if len(found) > len(shown) else None,
    )


@router.post("/markdown", summary="Render Markdown", responses=responses(413))
async def render(body: common.MarkdownIn) -> common.RenderedOut:
    """As the `html` of a message is: for text that is still being written."""
    html = await html_of([body.text])
    return common.RenderedOut(html=html[body.text])


@router.get("/when", summary="Find a time in a sentence")
async def find_time(
    asked: AuthenticatedRequest,
    text: Annotated[str, Query(max_length=1000, pattern=r"^[^\x00]*$", examples=["call Ana tomorrow at 9"])],
    timezone: Annotated[
        str | None,
        Query(
            max_length=100,
            description="Of a time that names none; left out, that of the settings, if there is one.",
            examples=["Europe/Berlin"],
        ),
    ] = None,
) -> common.FoundOut:
    """The one time or schedule in it, and when that would be. Where words of time are left over, or it can
    mean several things, it is not read, and the verdict says what was left over or what it can mean.

    A time on the clock that has a zone neither in its words nor in `timezone` is refused (`zone_needed`).
    """
    from segue.times.reader.finder import find  # its tables are large, and most processes never need them

    now, zone = to_moment(asked.kernel.clock.ms()), timezone or asked.kernel.zone_in(None)
    found = find(text, now=now.astimezone(find_zone(zone) if zone else UTC), zone=zone)
    if found.when is None:
        return common.FoundOut(
            when=None, verdict=found.verdict.value, readings=list(found.readings), unread=found.unread
        )
    try:
        moments = _moments(found.when, now)
    except BadTrigger:  # a cron line that never fires
        return common.FoundOut(when=None, verdict="not_read", readings=[], unread=found.phrase)
    when = common.WhenOut(
        phrase=found.phrase,
        repeats=not isinstance(found.when, Moment),
        passed=found.passed,
        next=[views.moment(round(moment.timestamp() * 1000)) for moment in moments],
    )
    return common.FoundOut(when=when, verdict="read", readings=[], unread="")


def _moments(when: When, now: datetime) -> list[datetime]:
    trigger: At | Every | Cron
    match when:
        case Moment(at):
            return [at]
        case Interval(seconds):
            trigger = Every(seconds).anchored(now)
        case CronLine(expr, zone):
            trigger = Cron(expr, tz=zone)
    moments: list[datetime] = []
    after = now.astimezone(UTC)
    while len(moments) < _NEXT_SHOWN and (following := trigger.next_after(after)) is not None:
        moments.append(following)
        after = following
    return moments
