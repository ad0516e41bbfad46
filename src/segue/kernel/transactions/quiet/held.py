"""Held answers: collects answers that wait in one delivery, sends it early, and ends its answers with it.

An answer that waits is a delivery that joins another one, which carries it. The carrying delivery is due when
the quiet hours end or the digest is sent. Its text is composed when a courier leases it: from then on no
answer joins it, so a repeated send has the same text.

Invariants
  - an answer joins a delivery only while that still collects, under the lock of its row
  - an answer ends, as sent or failed, in the transaction in which the delivery that carries it ends
  - `sessions.held` counts the answers that wait; it changes under the lock of the session's row
  - a session without quiet hours and without a digest costs no statement
"""

from collections.abc import Sequence
from dataclasses import replace

from segue.errors import BadSetting
from segue.kernel.transactions import session_log
from segue.model.quiet.digest import compose
from segue.model.quiet.holding import SpeakingHours, Wait, wait_of
from segue.model.quiet.hours import QuietHours
from segue.model.records import Delivery, Session, Turn
from segue.model.states import Outcome
from segue.record import positional
from segue.store import queries
from segue.store.database import Params, Transaction
from segue.store.rows import core as rows
from segue.store.rows import overviews
from segue.times.clock import to_moment, to_ms


@positional
class DefaultHours:
    """The quiet hours and the zone of sessions that have none of their own."""

    quiet: QuietHours | None = None
    zone: str = "UTC"


NO_HOURS = DefaultHours()


def hours_of(session: Session, default: DefaultHours) -> SpeakingHours:
    """When a session may be spoken to. Raises `BadSetting` for what this version cannot read."""
    return SpeakingHours(
        quiet=rows.quiet_of(session.quiet) or default.quiet,
        digest=rows.digest_of(session.digest),
        zone=session.timezone or default.zone,
    )


def how_long(
    lane: Session, turn: Turn, outcome: Outcome, default: DefaultHours, now: int
) -> Transaction[Wait | None]:
    """How long the answer of a scheduled turn waits; None: it is sent now. `lane`: as it was leased."""
    asked_for = turn.source is None or (turn.brief is not None and turn.brief.through)
    if asked_for or not (lane.quiet or lane.digest or default.quiet):
        return None
    found = yield queries.sessions.by_id, {"id": lane.id}
    try:
        hours = hours_of(rows.session(found[0]), default)
    except BadSetting:  # a newer version wrote it: the timer pauses the job, and nothing is kept back
        return None
    if not hours.holds_at(to_moment(now)):
        return None
    job = (yield queries.jobs.by_id, {"id": turn.source.job_id}) if turn.source else ()
    return wait_of(rows.job(job[0]), outcome, hours, to_moment(now)) if job else None


def hold(answer: Params, wait: Wait, now: int) -> Transaction[None]:
    """Let an answer join a delivery of its session that is sent in time; open one if there is none."""
    session_id, answer_id = str(answer["session_id"]), str(answer["id"])
    yield from session_log.lock_session(session_id)
    latest = to_ms(wait.latest)
    window: Params = {"session_id": session_id, "earliest": to_ms(wait.earliest), "latest": latest}
    found = yield queries.deliveries.open_for, window
    carrier = str(found[0]["id"]) if found else f"{answer_id}c"
    if not found:
        empty: Params = {"turn_id": None, "run_id": None, "content": "", "parts": None, "source": None}
        opened: Params = {"id": carrier, "not_before": latest, "held_until": latest, "carries": 1}
        yield queries.deliveries.create, {**answer, **empty, **opened, "logged": 1}
    yield queries.deliveries.create, {**answer, "joins": carrier}
    yield queries.sessions.count_held, {"id": session_id, "answers": 1}


def send_now(session: Session, now: int) -> Transaction[bool]:
    """Send what waits in a locked session, as one message. False: nothing waits, or it is being sent."""
    if not session.held:
        return False
    found = yield queries.deliveries.collecting, {"session_id": session.id}
    if not found:
        return False
    first, *others = found
    for other in others:
        yield queries.deliveries.join_instead, {"id": first["id"], "other": other["id"]}
        yield queries.deliveries.drop_empty, {"id": other["id"]}
    total = sum(row["carries"] for row in found)
    yield queries.deliveries.send_now, {"id": first["id"], "now": now, "carries": total}
    return True


def filled(delivery: Delivery) -> Transaction[Delivery]:
    """A leased delivery with the text and the files of the answers that it carries."""
    answers = yield from carried(delivery)
    text = answers[0].content if len(answers) == 1 else compose(answers)
    source = answers[0].source if len(answers) == 1 else None
    parts = tuple(file for answer in answers for file in answer.parts)
    columns: Params = {"content": text, "parts": rows.parts_text(parts), "source": rows.source_text(source)}
    yield queries.deliveries.fill, {"id": delivery.id, "fence": delivery.fence, **columns}
    return replace(delivery, content=text, parts=parts, source=source)


def carried(delivery: Delivery) -> Transaction[Sequence[Delivery]]:
    """The answers that a delivery carries."""
    found = yield queries.deliveries.carried, {"id": delivery.id}
    return [overviews.delivery(row) for row in found]


def end_sent(delivery: Delivery, message_id: str | None, now: int) -> Transaction[None]:
    """The delivery was sent, and so were the answers that it carries. Its session's row is locked."""
    yield queries.deliveries.carried_sent, {"id": delivery.id, "sent_message_id": message_id, "now": now}
    yield queries.sessions.count_held, {"id": delivery.session_id, "answers": -delivery.carries}


def end_failed(delivery: Delivery, reason: str) -> Transaction[None]:
    """The delivery failed, and so did the answers that it carries. Its session's row is locked."""
    yield queries.deliveries.carried_failed, {"id": delivery.id, "error": reason}
    yield queries.sessions.count_held, {"id": delivery.session_id, "answers": -delivery.carries}
