"""Settlement: ends a turn, on behalf of its holder, a shutdown, the reaper, or the deletion of its session.

One transaction writes everything: the turn's outcome (from which its run's is read), the job's failure count,
the closure in the log, the delivery for its channel, and the release of the lane.

Invariants
  - if no row matches the fence, the lease was lost: nothing is written and `LeaseLost` is raised
  - every turn that started leaves exactly one closure, unless it is requeued
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from segue.errors import LeaseLost
from segue.kernel.transactions import session_log, unified
from segue.kernel.transactions.deliveries import Outbox, put_answer
from segue.kernel.transactions.guards import budgets, open_question
from segue.kernel.transactions.jobs import UPDATES, count_failure
from segue.kernel.transactions.lane import freed, queue_update, withdraw
from segue.kernel.transactions.lease import HeldLane, hold
from segue.kernel.transactions.result import Name, Result
from segue.kernel.transactions.session_log import NOTHING, SessionTotals, growth, numbered, totals_of
from segue.kernel.transactions.unified import Route
from segue.model import closure
from segue.model.closure import Closure, OpenQuestion
from segue.model.decision import LATE_AFTER
from segue.model.policy import Late, Overlap
from segue.model.records import Event, Session, Source, Turn, parts_body
from segue.model.states import Close, JobKind, Outcome, Rerun, after_crash
from segue.record import positional
from segue.store import queries
from segue.store.database import Transaction
from segue.store.rows import core as rows

_NO_BODY: Mapping[str, Any] = {}


@positional
class _Lane:
    """A lane whose row is locked, with the holder and fence that release it."""

    session: Session
    holder: str
    fence: int
    totals: SessionTotals


def settle(
    held: HeldLane, ending: Closure, now: int, *, outbox: Outbox | None = None
) -> Transaction[Result[None]]:
    """End a turn with its agent's closure. `LeaseLost`: the fence is no longer current."""
    lane = yield from _lane_of(held)
    return (yield from _end(lane, held.turn, ending, now, outbox=outbox))


def retry(held: HeldLane, ending: Closure, now: int, *, at: int) -> Transaction[Result[None]]:
    """Requeue a failed turn whose policy allows another attempt, not before `at`."""
    lane = yield from _lane_of(held)
    yield from _requeue(held.turn, not_before=at, crashes=held.turn.crashes, error=ending.error)
    if held.turn.reserved is not None:
        yield from budgets.add_attempt(held.turn, held.turn.reserved, ending.usage)
    end = _event(lane, held.turn, "stream_end", now, {"state": "queued", "outcome": None, "retry_at": at})
    return (yield from _release(lane, held.turn, (end, _event(lane, held.turn, "session_sync", now)), now))


def give_up(held: HeldLane, now: int, *, outbox: Outbox | None = None) -> Transaction[Result[None]]:
    """Give up a running turn at the end of a shutdown's grace; handled like a crash."""
    lane = yield from _lane_of(held)
    # Read again: the turn may have acted since it was leased.
    running = yield queries.turns.running_in, {"session_id": held.session.id}
    return (yield from _after_crash(lane, rows.turn(running[0]), now, outbox))


def stop_running(session: Session, now: int) -> Transaction[Sequence[Event]]:
    """End the running turn of a locked session; its worker finds out at its next write or renewal."""
    running = yield queries.turns.running_in, {"session_id": session.id}
    if not running or session.holder is None:
        return ()
    lane = _Lane(session, session.holder, session.fence, totals_of(session))
    end = yield from _end(lane, rows.turn(running[0]), closure.stopped("", {}), now)
    return end.events


def reclaim(
    session_id: str,
    *,
    holder: str,
    lease_now: int | None,
    horizon: int | None,
    now: int,
    outbox: Outbox | None = None,
) -> Transaction[Result[None] | None]:
    """Reclaim a lane whose lease expired, under a new fence. None: it was renewed or released since."""
    taken = yield (
        queries.sessions.reclaim,
        {"id": session_id, "holder": holder, "lease_now": lease_now, "horizon": horizon},
    )
    if not taken:
        return None
    session = rows.session(taken[0])
    lane = _Lane(session, holder, session.fence, totals_of(session))
    running = yield queries.turns.running_in, {"session_id": session_id}
    if not running:
        return (yield from _release(lane, None, (), now))
    return (yield from _after_crash(lane, rows.turn(running[0]), now, outbox))


def _lane_of(held: HeldLane) -> Transaction[_Lane]:
    totals = yield from hold(held)
    return _Lane(held.session, held.holder, held.fence, totals)


def _end(
    lane: _Lane, turn: Turn, ending: Closure, now: int, *, outbox: Outbox | None = None
) -> Transaction[Result[None]]:
    prompt = turn.rendered()
    finished = yield (
        queries.turns.finish,
        {
            "id": turn.id,
            "fence": turn.fence,
            "state": str(ending.state),
            "outcome": str(ending.outcome),
            "reason": ending.reason,
            "reply": ending.reply,
            "error": ending.error,
            "usage": rows.to_text(ending.usage),
            "prompt_version": prompt.ref.version if prompt else None,
            "rendered_prompt": prompt.text if prompt else None,
            "now": now,
        },
    )
    if not finished:
        raise LeaseLost(f"turn {turn.id} is no longer held under fence {turn.fence}")
    if turn.reserved is not None:
        yield from budgets.settle(turn, turn.reserved, ending.usage)
    shown = ending.shown
    paused = None
    if turn.source:
        paused = yield from count_failure(turn.source, ending.outcome, now)
        shown = f"{shown}\n\n{paused}" if paused else shown
    # A function call shows no text, unless its job was paused.
    text = shown if turn.call is None or paused else None
    closing = [_event(lane, turn, "stream_end", now, _end_body(ending), text)]
    if turn.source and (update := UPDATES.get(turn.source.kind)):
        # What is shown of a job depends on how its run ended.
        closing.append(_event(lane, turn, update, now, {"job_id": turn.source.job_id}))
    if ending.saved is not None:
        yield queries.agent_states.save, {"session_id": lane.session.id, "saved": ending.saved}
    if ending.waiting is not None:
        yield from open_question.ask(lane.session.id, ending.waiting)
        closing.append(_waiting(lane, turn, ending.waiting, now))
    end = yield from _release(lane, turn, (*closing, _event(lane, turn, "session_sync", now)), now)
    chat = yield from unified.chat_of_answer(lane.session, turn)
    if chat and chat.id != turn.via_id and text is not None:
        # The turn did not come through this chat, so its events are not copied there.
        body = parts_body(ending.parts)
        answer = session_log.message(chat.id, "assistant", text, now, source=turn.source, body=body)
        said = yield from session_log.append_events(chat, [answer], now)
        end = replace(end, events=[*end.events, *said])
    if outbox is None or chat is None or turn.call is not None or not _is_news(turn, ending, paused):
        return end
    route = Route(chat, lane.session)
    # That a job was paused is a failure, which does not wait.
    outcome = ending.outcome if paused is None else Outcome.ERROR
    put = yield from put_answer(outbox, route, turn, shown, now, outcome=outcome, parts=ending.parts)
    return replace(end, events=[*end.events, *put.events], wake=end.wake | put.wake) if put.wake else end


def _waiting(lane: _Lane, turn: Turn, waiting: OpenQuestion, now: int) -> Event:
    body = {"question": waiting.question, "choices": list(waiting.choices), "until": waiting.until}
    return replace(_event(lane, turn, "waiting", now, body), source=turn.source)


def _is_news(turn: Turn, ending: Closure, paused: str | None) -> bool:
    """Whether to deliver the closure. A legacy job delivers answers, and that it was paused."""
    if turn.source is not None and turn.source.kind == JobKind.LEGACY and ending.outcome is not Outcome.OK:
        return paused is not None
    return not ending.quiet or paused is not None


def _after_crash(lane: _Lane, turn: Turn, now: int, outbox: Outbox | None) -> Transaction[Result[None]]:
    crashes = turn.crashes + 1
    match after_crash(crash=turn.crash, acted=turn.acted, crashes=crashes):
        case Close(reason):
            return (yield from _end(lane, turn, closure.interrupted(reason), now, outbox=outbox))
        case Rerun():
            # Not `now`: a process whose clock is behind ours would start the next turn of the lane first.
            since = turn.started_at or now
            yield from _requeue(turn, not_before=since, crashes=crashes, error="its worker was lost")
            if turn.reserved is not None:
                yield from budgets.add_attempt(turn, turn.reserved, None)
            closures = (yield from _coalesce(lane, turn, turn.source, now)) if turn.source else []
            return (yield from _release(lane, turn, closures, now))


def _requeue(turn: Turn, *, not_before: int, crashes: int, error: str | None) -> Transaction[None]:
    again = {"id": turn.id, "fence": turn.fence, "not_before": not_before, "crashes": crashes, "error": error}
    taken = yield queries.turns.requeue, again
    if not taken:
        raise LeaseLost(f"turn {turn.id} is no longer held under fence {turn.fence}")


def _coalesce(lane: _Lane, turn: Turn, source: Source, now: int) -> Transaction[list[Event]]:
    """Keep `overlap = buffer_one` when a crashed run is requeued: withdraw the job's other queued runs.

    Late runs of `late = all` are kept, however many there are.
    """
    found = yield queries.jobs.by_id, {"id": source.job_id}
    policy = rows.job(found[0]).policy if found else None
    if policy is None or policy.overlap is not Overlap.BUFFER_ONE:
        return []
    waiting = yield queries.turns.queued_of_job, {"job_id": source.job_id}
    events: list[Event] = []
    withdrawn = 0
    for row in waiting:
        owed = policy.late is Late.ALL and timedelta(milliseconds=row["lateness_ms"]) > LATE_AFTER
        if row["id"] != turn.id and not owed:
            reason = f"overlap: run {source.run_id} came back after a crash"
            closures = yield from withdraw(row["id"], Outcome.SKIPPED, reason, now)
            withdrawn += closures is not None
            events += closures or ()
    if withdrawn:
        left = yield queries.turns.waiting_in, {"session_id": lane.session.id}
        events.append(queue_update(lane.session, left, now, chat_id=turn.chat_id))
    return events


def _event(
    lane: _Lane, turn: Turn, kind: str, now: int, body: Mapping[str, Any] = _NO_BODY, text: str | None = None
) -> Event:
    """An event of the turn, without a number."""
    return Event(
        session_id=lane.session.id,
        seq=0,
        type=kind,
        at=now,
        turn_id=turn.id,
        via_id=turn.chat_id,
        role=None if text is None else "assistant",
        content=text,
        source=turn.source if kind == "stream_end" else None,
        body=body,
    )


def _end_body(ending: Closure) -> dict[str, Any]:
    """Body of the `stream_end` event. `reply` is included only if it differs from the text shown."""
    body: dict[str, Any] = {"state": str(ending.state), "outcome": str(ending.outcome)}
    body |= parts_body(ending.parts)
    if ending.usage:
        body["usage"] = dict(ending.usage)
    if ending.waiting is not None:
        body["said"] = ending.waiting.said
    if ending.code is not None:
        body["code"] = ending.code
    if ending.quiet:
        body["quiet"] = True
    elif ending.reply is not None and ending.reply != ending.shown:
        body["reply"] = ending.reply
    return body


def _release(lane: _Lane, turn: Turn | None, events: Sequence[Event], now: int) -> Transaction[Result[None]]:
    events = numbered(events, lane.totals.last_seq)
    written = yield from session_log.append_turn_events(events)
    grown = NOTHING
    if turn is not None:
        # The message that opened the turn was logged by its first attempt, and is counted when that ends.
        opened = turn if turn.attempt == 1 and turn.call is None else None
        grown = yield from growth(lane.session.id, lane.totals, events, now, opened=opened)
    released = yield (
        queries.sessions.release,
        {"id": lane.session.id, "holder": lane.holder, "fence": lane.fence, **grown},
    )
    if not released:
        raise LeaseLost(f"the lane of session {lane.session.id} is no longer held under fence {lane.fence}")
    end = freed(released, written)
    return replace(end, wake=end.wake | {Name.ARCHIVIST}) if lane.totals.unarchived.policy else end
