"""Events as they go over the wire. One shape for WebSocket and server-sent events."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from segue.errors import NotFound
from segue.kernel.kernel import Kernel
from segue.kernel.live.hub import LiveText
from segue.kernel.transactions.jobs import UPDATES
from segue.model.records import Event, Overview, Session, message_id
from segue.model.states import JobKind, JobState
from segue.model.transcript import message_of
from segue.server.markdown_pool import html_of
from segue.server.schemas import automations, scheduled_messages, views

Wired = dict[str, Any]


async def event(
    kernel: Kernel,
    session: Session,
    happened: Event,
    *,
    overview: Overview | None,
    html: Mapping[str, str] | None = None,
) -> Wired:
    """`overview`, if the caller has one that is new enough, saves a look at the session; `html`, if the
    caller has rendered what happened, saves to render it."""
    message = await _message(happened, html)
    wired = {
        "type": happened.type,
        "session": session.key,
        "seq": happened.seq,
        "turn_id": happened.turn_id,
        "at": views.moment(happened.at),
    }
    match happened.type:
        case "stream_start":
            return wired | _started(happened, message)
        case "stream_end":
            return wired | _ended(happened, message)
        case "message":
            return wired | {"message": message} | _undelivered(happened)
        case "session_sync":
            return wired | {"object": await _session(kernel, session, overview)}
        case "automation_update":
            return wired | {"job": await _job(kernel, happened.body["job_id"])}
        case "recall_update":
            return wired | {"recall": await _recall(kernel, session, happened)}
        case "message_update":
            promised = await _promised(kernel, session, happened.body["job_id"])
            return wired | {"scheduled_message": promised}
        case _:
            return wired | dict(happened.body)


def of_its_job(happened: Event) -> Event | None:
    """A turn that starts or ends changes its job too: what to tell those who watch the job.

    It is no row of the log, and has the number of the event that it follows. The log itself tells how a
    recall ends.
    """
    source = happened.source
    if source is None or happened.type not in ("stream_start", "stream_end"):
        return None
    if source.kind not in UPDATES or (source.kind == JobKind.RECALL and happened.type == "stream_end"):
        return None
    return replace(
        happened, type=UPDATES[source.kind], role=None, content=None, body={"job_id": source.job_id}
    )


def live(session: Session, said: LiveText, now: int) -> Wired:
    wired = {
        "type": said.type,
        "session": session.key,
        "seq": said.seq,
        "turn_id": said.turn_id,
        "at": views.moment(now),
        "offset": said.offset,
        "text": said.text,
    }
    return wired | {"replay": True} if said.replay else wired


def summary(overview: Overview, now: int) -> Wired:
    """For those who watch the list: a session as it stands. It is no event of the session's log."""
    session = overview.session
    return {
        "type": "session_sync",
        "summary": True,
        "session": session.key,
        "seq": session.last_seq,
        "turn_id": None,
        "at": views.moment(now),
        "object": views.session(overview).model_dump(mode="json"),
    }


def deleted(session: Session, now: int) -> Wired:
    return {
        "type": "session_sync",
        "summary": True,
        "session": session.key,
        "seq": session.last_seq,
        "turn_id": None,
        "at": views.moment(now),
        "object": None,
    }


def _started(event: Event, message: Wired | None) -> Wired:
    source = views.source(event.source)
    return {
        "source": source and source.model_dump(),
        "attempt": event.body["attempt"],
        "message": message,
    }


def _ended(event: Event, said: Wired | None) -> Wired:
    body = event.body
    reply = body.get("reply", event.content if body["outcome"] == "ok" else None)
    wired = {
        "state": body["state"],
        "outcome": body["outcome"],
        "reply": reply,
        "message_id": said and said["id"],
        "usage": body.get("usage"),
        "message": said,
    }
    if body.get("quiet"):
        wired["quiet"] = True
    return wired | {"retry_at": views.moment(body["retry_at"])} if "retry_at" in body else wired


def _undelivered(event: Event) -> Wired:
    """Of the note that an answer could not be delivered: which one, and why."""
    note = event.body.get("undelivered")
    if note is None:
        return {}
    named = {"message_id": message_id(event.session_id, note["seq"])}
    return {"undelivered": named | {name: note[name] for name in ("turn_id", "delivery", "reason")}}


async def _message(event: Event, html: Mapping[str, str] | None) -> Wired | None:
    said = message_of(event)
    if said is None:
        return None
    html = html or await html_of([said.content])
    return views.message(said, event.session_id, html=html[said.content]).model_dump(mode="json")


async def _session(kernel: Kernel, session: Session, overview: Overview | None) -> Wired | None:
    try:
        overview = overview or await kernel.overview_of(session.id)
    except NotFound:  # deleted since
        return None
    return views.session(overview).model_dump(mode="json")


async def _recall(kernel: Kernel, session: Session, happened: Event) -> Wired | None:
    """As it stands now, also where the event is an old one: a banner follows the last of them."""
    current = await kernel.store.current_recall(happened.via_id or session.id)
    return None if current is None else views.recall(current, session.key).model_dump(mode="json")


async def _promised(kernel: Kernel, session: Session, job_id: str) -> Wired | None:
    """As it stands now, whatever became of it; null where its session is gone."""
    try:
        found = await kernel.store.scheduled_message(job_id)
    except NotFound:
        return None
    return scheduled_messages.scheduled_message(found, session.key).model_dump(mode="json")


async def _job(kernel: Kernel, job_id: str) -> Wired:
    try:
        job = await kernel.store.job(job_id)
    except NotFound:
        return {"id": job_id, "deleted": True}
    if job.state is JobState.REMOVED:
        return {"id": job_id, "deleted": True}
    (shown,) = await automations.shown(kernel, [job])
    return shown.model_dump(mode="json")
