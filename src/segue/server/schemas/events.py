"""Wire form of events: one shape for WebSocket and server-sent events."""

from collections.abc import Mapping
from typing import Any

from segue.errors import NotFound
from segue.kernel.kernel import Kernel
from segue.kernel.live.hub import LiveText
from segue.model.records import Event, Overview, Session, message_id
from segue.model.transcript import message_of
from segue.server.markdown_pool import html_of
from segue.server.schemas import automations, scheduled_messages, views

WireEvent = dict[str, Any]


async def to_wire(
    kernel: Kernel,
    session: Session,
    event: Event,
    *,
    overview: Overview | None,
    html: Mapping[str, str] | None = None,
) -> WireEvent:
    """`overview` and `html` save a query and a rendering if the caller already has them. `overview` must be
    at least as new as the event."""
    message = await _message(event, html)
    wire_event = {
        "type": event.type,
        "session": session.key,
        "seq": event.seq,
        "turn_id": event.turn_id,
        "at": views.moment(event.at),
    }
    match event.type:
        case "stream_start":
            return wire_event | _started(event, message)
        case "stream_end":
            return wire_event | _ended(event, message) | await _said(event)
        case "message":
            return wire_event | {"message": message} | _undelivered(event)
        case "session_sync":
            return wire_event | {"object": await _session(kernel, session, overview)}
        case "automation_update":
            return wire_event | {"job": await _job(kernel, session, event.body["job_id"])}
        case "recall_update":
            return wire_event | {"recall": await _recall(kernel, session, event)}
        case "message_update":
            scheduled_message = await _scheduled_message(kernel, session, event.body["job_id"])
            return wire_event | {"scheduled_message": scheduled_message}
        case "waiting":
            return wire_event | await _question(event)
        case _:
            return wire_event | dict(event.body)


def live_text(session: Session, piece: LiveText, now: int) -> WireEvent:
    wire_event = {
        "type": piece.type,
        "session": session.key,
        "seq": piece.seq,
        "turn_id": piece.turn_id,
        "attempt": piece.attempt,
        "at": views.moment(now),
        "offset": piece.offset,
        "text": piece.text,
    }
    return wire_event | {"replay": True} if piece.replay else wire_event


def summary(overview: Overview, now: int) -> WireEvent:
    """The current state of a session, for clients that show the list of sessions. It is not in the log."""
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


def deleted(session: Session, now: int) -> WireEvent:
    return {
        "type": "session_sync",
        "summary": True,
        "session": session.key,
        "seq": session.last_seq,
        "turn_id": None,
        "at": views.moment(now),
        "object": None,
    }


def _started(event: Event, message: WireEvent | None) -> WireEvent:
    source = views.source(event.source)
    return {
        "source": source and source.model_dump(),
        "attempt": event.body["attempt"],
        "replaces": event.body.get("replaces"),
        "message": message,
    }


def _ended(event: Event, message: WireEvent | None) -> WireEvent:
    body = event.body
    reply = body.get("reply", event.content if body["outcome"] in ("ok", "asked") else None)
    wire_event = {
        "state": body["state"],
        "outcome": body["outcome"],
        "reply": reply,
        "message_id": message and message["id"],
        "usage": body.get("usage"),
        "message": message,
    }
    if body.get("quiet"):
        wire_event["quiet"] = True
    if "code" in body:
        wire_event["code"] = body["code"]
    return wire_event | {"retry_at": views.moment(body["retry_at"])} if "retry_at" in body else wire_event


async def _said(event: Event) -> WireEvent:
    """The answer without its question, for clients that show the question of `waiting` by itself."""
    if "said" not in event.body:
        return {}
    content = (event.content or "")[: event.body["said"]]
    return {"said": {"content": content, "html": await _html(content)}}


async def _question(event: Event) -> WireEvent:
    body = event.body
    return dict(body) | {"html": await _html(body["question"]), "until": views.moment(body["until"])}


async def _html(text: str) -> str:
    return (await html_of([text]))[text] if text else ""


def _undelivered(event: Event) -> WireEvent:
    """Which answer could not be delivered and why, for the note that says so."""
    note = event.body.get("undelivered")
    if note is None:
        return {}
    undelivered = {"message_id": message_id(event.session_id, note["seq"])}
    return {"undelivered": undelivered | {name: note[name] for name in ("turn_id", "delivery", "reason")}}


async def _message(event: Event, html: Mapping[str, str] | None) -> WireEvent | None:
    message = message_of(event)
    if message is None:
        return None
    html = html or await html_of([message.content])
    return views.message(message, event.session_id, html=html[message.content]).model_dump(mode="json")


async def _session(kernel: Kernel, session: Session, overview: Overview | None) -> WireEvent | None:
    try:
        overview = overview or await kernel.sessions.overview_of(session.id)
    except NotFound:  # deleted after the event
        return None
    return views.session(overview).model_dump(mode="json")


async def _recall(kernel: Kernel, session: Session, event: Event) -> WireEvent | None:
    """The current recall, also for an old event: clients show only the newest state."""
    try:
        chat = session if event.via_id is None else await kernel.sessions.by_id(event.via_id)
    except NotFound:  # the chat was deleted, and its recall with it
        return None
    current = await kernel.recalls.get(chat)
    return None if current is None else views.recall(current, session.key).model_dump(mode="json")


async def _scheduled_message(kernel: Kernel, session: Session, job_id: str) -> WireEvent | None:
    """The current state of the message; None if its session was deleted."""
    try:
        message = await kernel.scheduled_messages.get(job_id, owner=session.owner)
    except NotFound:
        return None
    return scheduled_messages.scheduled_message(message, session.key).model_dump(mode="json")


async def _job(kernel: Kernel, session: Session, job_id: str) -> WireEvent:
    try:
        found = await kernel.jobs.load(job_id, owner=session.owner)
    except NotFound:
        return {"id": job_id, "deleted": True}
    (job_out,) = await automations.jobs_out(kernel, [found.job], found.session)
    return job_out.model_dump(mode="json")
