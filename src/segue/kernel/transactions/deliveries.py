"""Deliveries: messages for a channel. Transactions that create, lease, renew and end one.

A turn's answer becomes a delivery in the transaction that ends the turn. The answer of a legacy job is
delivered to the session that the job names.

Invariants
  - a delivery is marked as sent or failed only under the fence it was leased with
  - the mark and its entry in the transcripts are one transaction
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from segue.errors import LeaseLost
from segue.kernel.transactions import jobs, session_log, unified
from segue.kernel.transactions.guards import unreadable
from segue.kernel.transactions.lane import queue_update
from segue.kernel.transactions.quiet import held
from segue.kernel.transactions.quiet.held import DefaultHours
from segue.kernel.transactions.result import Name, Result
from segue.kernel.transactions.unified import Route
from segue.model.action import Ask
from segue.model.channel import Receipt
from segue.model.files import File
from segue.model.records import Delivery, Event, Lookup, Session, Source, Turn, merged, message_id
from segue.model.states import JobKind, Outcome
from segue.record import positional
from segue.store import queries
from segue.store.database import Params, Rows, Transaction
from segue.store.reads import readable
from segue.store.rows import core as rows
from segue.store.rows import overviews

_COURIER = frozenset({Name.COURIER})
_ARCHIVIST = frozenset({Name.ARCHIVIST})
"""Woken when a transcript has grown, perhaps enough to be archived."""


@positional
class Outbox:
    """Where a turn's closure goes: to this delivery, unless the channel's clients read the log."""

    stored: frozenset[str] | None
    """The channels whose clients read the log; None for all. Other channels may be in another process."""
    delivery_id: str
    hours: DefaultHours = DefaultHours()

    def delivers(self, channel: str) -> bool:
        return self.stored is not None and channel not in self.stored


def put_answer(
    outbox: Outbox,
    route: Route,
    turn: Turn,
    text: str,
    now: int,
    *,
    outcome: Outcome,
    parts: Sequence[File] = (),
) -> Transaction[Result[None]]:
    """Create the delivery of a turn's answer through its chat, if its channel needs one."""
    chat = route.chat
    if turn.source is not None and turn.source.kind == JobKind.LEGACY:
        to = turn.brief.to if turn.brief else None
        if to is None:
            return Result(value=None)
        chat = yield from session_log.open_session(chat.owner, to, outbox.delivery_id, now)
    elif not outbox.delivers(chat.channel):
        return Result(value=None)
    if turn.source is None:  # a job may have answered while the user's message waited in the lane
        yield from held.send_now(chat, now)
    delivery = delivery_params(outbox.delivery_id, chat, text, turn.source, now)
    answer = {**delivery, "turn_id": turn.id, "parts": rows.parts_text(parts)}
    wait = yield from held.how_long(route.lane, turn, outcome, outbox.hours, now)
    if wait is None:
        yield queries.deliveries.create, answer
        return Result(value=None, wake=_COURIER)
    yield from held.hold(answer, wait, now)
    return Result(value=None, events=(yield from _tell_held(chat.id, now)), wake=_COURIER)


def _tell_held(session_id: str, now: int) -> Transaction[Sequence[Event]]:
    """Tell the clients of a session how many answers wait."""
    session = yield from session_log.lock_session(session_id)
    waiting = yield queries.turns.waiting_in, {"session_id": session.id}
    update = queue_update(session, waiting, now)
    return (yield from session_log.append_events(session, [update], now))


def say(
    lookup: Lookup, key: str, text: str, source: Source, now: int, *, delivery_id: str
) -> Transaction[None]:
    """Create a delivery that belongs to no turn. It joins the transcript when it is sent."""
    session = yield from session_log.open_by_lookup(lookup, key, delivery_id, now)
    yield queries.deliveries.create, delivery_params(delivery_id, session, text, source, now)


def delivery_params(delivery_id: str, session: Session, text: str, source: Source | None, now: int) -> Params:
    return {
        "id": delivery_id,
        "session_id": session.id,
        "run_id": None,
        "turn_id": None,
        "channel": session.channel,
        "chat_id": session.chat_id,
        "content": text,
        "parts": None,
        "source": rows.source_text(source),
        "not_before": now,
        "now": now,
        "logged": 0,
        "held_until": None,
        "carries": 0,
        "joins": None,
    }


UNKNOWN = "delivery unknown"
"""Prefix of the error of a delivery that may have arrived."""


def lease(
    limits: Sequence[tuple[str, int]],
    *,
    holder: str,
    lease_ms: int,
    lease_now: int | None,
    now: int,
    since: int = 0,
) -> Transaction[list[list[Delivery]]]:
    """Lease due deliveries. `limits`: the most of each list of channels. Returns a list for each of them.

    All in one commit: if it fails, none is leased.
    """
    terms: Params = {
        "holder": holder,
        "lease_ms": lease_ms,
        "lease_now": lease_now,
        "now": now,
        "since": since,
    }
    leased: list[list[Delivery]] = []
    for channels, limit in limits:
        found = yield queries.deliveries.lease, {"channels": channels, "limit": limit, **terms}
        leased.append((yield from _leased(found, now)))
    return leased


def _leased(found: Rows, now: int) -> Transaction[list[Delivery]]:
    """The deliveries of these rows, complete. One that this version cannot read is put back for a while."""
    readable_ones = {each.id: each for each in readable(found, "delivery", overviews.delivery)}
    deliveries: list[Delivery] = []
    for row in found:
        delivery = readable_ones.get(row["id"])
        if delivery is None:
            yield from unreadable.put_back_delivery(row, now)
            continue
        metadata: list[Mapping[str, Any]]
        metadata = [rows.from_text(row[name]) for name in ("session_metadata", "turn_metadata")]
        if delivery.source is not None and delivery.source.kind == JobKind.LEGACY:
            job = yield queries.jobs.by_id, {"id": delivery.source.job_id}
            metadata.append(_channel_meta(job))
        if delivery.carries:
            delivery = yield from held.filled(delivery)
        deliveries.append(replace(delivery, metadata=merged({}, *metadata)))
    return deliveries


def _channel_meta(job: Rows) -> Mapping[str, Any]:
    """The channel metadata that a legacy job carries."""
    try:
        action = rows.action_of(job[0]["action"]) if job else None
    except rows.UNREADABLE:
        return {}
    return (action.channel_meta or {}) if isinstance(action, Ask) else {}


def renew(held: Sequence[Delivery], *, lease_ms: int, lease_now: int | None) -> Transaction[None]:
    """Renew leases, under their fences: a reclaimed delivery stays reclaimed."""
    yield (
        queries.deliveries.renew,
        [{"id": each.id, "fence": each.fence, "lease_ms": lease_ms, "lease_now": lease_now} for each in held],
    )


def sent(
    delivery: Delivery, receipt: Receipt | None, now: int, *, lane_id: str | None = None
) -> Transaction[Result[None]]:
    """Mark a delivery as sent and append it to the transcript as the assistant's message.

    `receipt`: None if the channel's clients read the log; the message id is then that of the transcript.
    `lane_id`: in unified mode, the id for a common session created here; it is appended to that transcript
    too. `LeaseLost`: it was reclaimed.
    """
    route = yield from unified.lock_route(delivery.session_id, now, lane_id=lane_id)
    # A turn's answer is in the transcript already.
    source = None if _is_answer(delivery) else delivery.source
    stored_id = message_id(route.chat.id, route.chat.last_seq + 1) if source else None
    marked: Params = {
        "id": delivery.id,
        "fence": delivery.fence,
        "now": now,
        "sent_message_id": stored_id if receipt is None else receipt.message_id,
    }
    taken = yield queries.deliveries.mark_sent, marked
    if not taken:
        raise LeaseLost(f"delivery {delivery.id} is no longer held")
    yield from _anchor(delivery, receipt, now)
    if delivery.carries:
        yield from held.end_sent(delivery, receipt.message_id if receipt else None, now)
        return Result(value=None, events=(yield from _tell_held(delivery.session_id, now)))
    if source is None:
        return Result(value=None)
    if delivery.run_id is not None:
        yield from _close_run(source, Outcome.OK, now)
    body = {"delivery_id": delivery.id} | ({} if receipt is None else {"delivery": "sent"})
    message = session_log.message(
        delivery.session_id, "assistant", delivery.content, now, source=source, body=body
    )
    events = yield from unified.append_events(route, [message], now)
    return Result(value=None, events=events, wake=_ARCHIVIST)


def _anchor(delivery: Delivery, receipt: Receipt | None, now: int) -> Transaction[None]:
    """Remember each part of a job's message, so that a message that quotes one is known to answer the job."""
    if delivery.source is None or receipt is None:
        return
    for part in receipt.all_ids:
        anchor: Params = {"channel": delivery.channel, "chat_id": delivery.chat_id, "message_id": part}
        about: Params = {"job_id": delivery.source.job_id, "run_id": delivery.source.run_id}
        yield queries.anchors.add, {**anchor, **about, "session_id": delivery.session_id, "now": now}


def failed(delivery: Delivery, reason: str, now: int) -> Transaction[Result[None]]:
    """Mark a delivery as failed, and note it in each transcript that has the message or would have had it.

    A delivery that carries answers fails with all of them.
    """
    answers = (yield from held.carried(delivery)) if delivery.carries else [delivery]
    lane = (yield from _lane_of_answer(answers[0])) if answers else None
    session = yield from session_log.lock_session(delivery.session_id)
    lost: Params = {"id": delivery.id, "fence": delivery.fence, "error": reason}
    if not (yield queries.deliveries.mark_failed, lost):
        raise LeaseLost(f"delivery {delivery.id} is no longer held")
    text = f"A message could not be delivered ({reason.partition(':')[0]})."
    if delivery.carries:
        yield from held.end_failed(delivery, reason)
    elif delivery.source and delivery.run_id is not None:
        paused = yield from _close_run(delivery.source, Outcome.ERROR, now, error=reason)
        text = f"{text}\n\n{paused}" if paused else text
    events: list[Event] = []
    # Never attempted: no process had the channel. An answer is already in the transcript and needs no note.
    noted = delivery.attempt > 0 or not (delivery.carries or _is_answer(delivery))
    for target in (session, lane) if noted else ():
        if target is not None:
            notes: list[Event] = []
            for answer in answers:
                notes += [(yield from _note(answer, target, text, reason, now))]
            events += yield from session_log.append_events(target, notes, now)
    if delivery.carries:
        events += yield from _tell_held(delivery.session_id, now)
    return Result(value=None, events=events, wake=_ARCHIVIST if events else frozenset())


def _is_answer(delivery: Delivery) -> bool:
    """Whether it is in its session's log already, as a turn's answer is. A legacy job's is not."""
    legacy = delivery.source is not None and delivery.source.kind == JobKind.LEGACY
    return delivery.logged or (delivery.turn_id is not None and not legacy)


def _lane_of_answer(delivery: Delivery) -> Transaction[Session | None]:
    """The session in which its turn ran, locked, if that is not the session it is sent through."""
    turn = (yield queries.turns.by_id, {"id": delivery.turn_id}) if delivery.turn_id else ()
    if not turn or turn[0]["session_id"] == delivery.session_id:
        return None
    return (yield from session_log.lock_session(turn[0]["session_id"]))


def _note(delivery: Delivery, session: Session, text: str, reason: str, now: int) -> Transaction[Event]:
    """The note that a message was not delivered; for an answer, with its number in this log."""
    body: dict[str, Any] = {"delivery_id": delivery.id}
    end: Rows = ()
    if delivery.turn_id is not None:
        end = yield queries.events.end_of_turn, {"session_id": session.id, "turn_id": delivery.turn_id}
    if end:
        state = "unknown" if reason.startswith(UNKNOWN) else "failed"
        about = {"seq": end[0]["seq"], "turn_id": delivery.turn_id, "delivery": state, "reason": reason}
        body = {"undelivered": about}
    return session_log.message(session.id, "system", text, now, source=delivery.source, body=body)


def _close_run(
    source: Source, outcome: Outcome, now: int, *, error: str | None = None
) -> Transaction[str | None]:
    ended: Params = {"outcome": str(outcome), "reason": None, "error": error, "now": now}
    yield queries.runs.close, {"id": source.run_id, **ended}
    return (yield from jobs.count_failure(source, outcome, now))


def requeue(delivery: Delivery, not_before: int, reason: str) -> Transaction[Result[None]]:
    again: Params = {"id": delivery.id, "fence": delivery.fence, "not_before": not_before, "error": reason}
    taken = yield queries.deliveries.requeue, again
    if not taken:
        raise LeaseLost(f"delivery {delivery.id} is no longer held")
    return Result(value=None)
