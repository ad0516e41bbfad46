"""Leases: starts turns, and the writes that the holder of a lane may make while its turn runs.

`lease` is the only way to start a turn.

Invariants
  - a lane is leased only while it has no holder, and each lease has a new fence
  - a holder's write names its fence; if the fence is no longer current, `LeaseLost` is raised
"""

from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import Any

from segue.errors import LeaseLost
from segue.kernel.transactions import session_log
from segue.kernel.transactions.guards import conditions, open_question, unreadable
from segue.kernel.transactions.guards.model_room import MODEL_PAUSE_MS, ModelRoom
from segue.kernel.transactions.lane import Pool, queue_update
from segue.kernel.transactions.replace import mark_replaced
from segue.kernel.transactions.result import Result, combined
from segue.model.records import Event, Session, Turn, parts_body
from segue.model.states import JobKind
from segue.record import record
from segue.store import queries
from segue.store.database import Params, Row, Rows, Transaction
from segue.store.reads import readable
from segue.store.rows import core as rows

QUANTUM = 8
"""The most lanes leased for one account at once while another account waits."""
SUSPECT_PAUSE_MS = 1000
"""How long a crash suspect waits while another one runs (see `live.running`)."""


@record
class HeldLane:
    """A lane under lease, with the turn that runs in it."""

    session: Session
    turn: Turn
    holder: str
    fence: int
    opened: Event
    """Its `stream_start`."""
    saved: str = "{}"
    """What the agent kept for this turn, as JSON."""
    resumed: Mapping[str, Any] | None = None
    """The question that a user's turn answers."""
    events: Sequence[Event] = ()
    """All events that its start wrote, also in the log of the chat that the turn came from."""


@record
class Leased:
    """What a lease has started, and what is left to do."""

    held: Sequence[HeldLane] = ()
    account: str | None = None
    """Whose lanes were leased, whether or not a turn could start in them."""
    limit_reached: bool = False
    """All processes together run as many turns as they may. Nothing was leased."""
    model_full: bool = False
    """A model has no room for another turn."""
    again: bool = False
    """Further lanes may be ready, of this account or of another one."""


@record
class LeaseTerms:
    """Who asks for a lease, and for how long."""

    holder: str
    lease_ms: int
    lease_now: int | None
    """When it begins; None for the database's own clock."""
    reports_tools: bool
    """Its agent reports tool calls before they run. Otherwise each turn counts as one that acted."""


def reliable_ms(lease_ms: int) -> int:
    """How long a holder relies on its lease. It cancels its turn a third of the lease before the lease ends,
    so that an agent that is slow to stop has stopped before a successor starts.

        0          1/3             2/3              1     of the lease
        leased     first renewal   cancel the turn  a successor may start
                   ├── retries ────┤                      every `keeper_pause_ms`, or more often

    A renewal that fails at 1/3 is retried by 1/2: one missed renewal does not cost the turn.
    The margin is at least 1 s for leases of 3 s and more.
    """
    return lease_ms - lease_ms // 3


def lease(
    terms: LeaseTerms,
    *,
    pool: Pool,
    after: str,
    limit: int,
    now: int,
    since: int = 0,
    allow_suspect: bool = True,
    models: ModelRoom | None = None,
) -> Transaction[Result[Leased]]:
    """Lease ready lanes of the account that follows `after`, and start the first turn of each.

    The result's events are those of turns that were withdrawn instead, because their conditions no longer
    hold. `since`: lower bound on `ready_at`. `allow_suspect`: start at most one turn that has already crashed
    twice, the oldest; the others are requeued. `models`: a turn whose model has no room there waits for it.
    A lane that this version cannot read, because a newer one wrote it, is put back for a while.
    """
    leased = yield (
        queries.sessions.lease,
        {
            "user_waits": int(pool),
            "since": since,
            "now": now,
            "after": after,
            "limit": limit,
            "quantum": min(limit, QUANTUM),
            "holder": terms.holder,
            "lease_ms": terms.lease_ms,
            "lease_now": terms.lease_now,
        },
    )
    if not leased:
        return Result(value=Leased())
    lanes = {row["id"]: row for row in leased}
    sessions = readable(leased, "session", rows.session)
    acted = int(not terms.reports_tools)
    started = yield (
        queries.turns.start_next,
        [{"session_id": s.id, "fence": s.fence, "acted": acted, "now": now} for s in sessions],
    )
    turns = {turn.session_id: turn for turn in readable(started, "turn", rows.turn)}
    if len(sessions) < len(leased) or len(turns) < len(started):
        sessions = yield from unreadable.put_back_lanes(leased, sessions, started, turns, terms.holder, now)
    withdrawn = yield from _put_back(sessions, turns, terms.holder, allow_suspect, models, now)
    emptied = {row["session_id"] for row in started if row["empties_queue"]}
    opened = yield from _open([s for s in sessions if s.id in turns], turns, emptied, now)
    held: list[HeldLane] = []
    for session in sessions:
        if turn := turns.get(session.id):
            row, events = lanes[session.id], opened[session.id]
            held += [(yield from _held(row, session, turn, terms.holder, events, now))]
    value = Leased(held=held, account=leased[-1]["account"])
    return combined(value, withdrawn) if withdrawn else Result(value=value)


def _held(
    row: Row, session: Session, turn: Turn, holder: str, events: Sequence[Event], now: int
) -> Transaction[HeldLane]:
    """The lane of a turn that starts. If its session has waited for an answer, the waiting ends."""
    question = open_question.answered_by(row, session, turn, now) if row["waiting"] else None
    if session.waiting_until is not None:
        yield from open_question.end(turn, session.waiting_until, answered=question is not None)
    return HeldLane(
        session=session,
        turn=turn,
        holder=holder,
        fence=session.fence,
        opened=events[0],
        saved=row["saved"] or "{}",
        resumed=question,
        events=events,
    )


def _put_back(
    sessions: Sequence[Session],
    turns: dict[str, Turn],
    holder: str,
    allow_suspect: bool,
    models: ModelRoom | None,
    now: int,
) -> Transaction[list[Result[None]]]:
    """Release the lanes whose turn must not start now, and remove these turns from `turns`."""
    withdrawn: list[Result[None]] = []
    suspects = sorted(turn.id for turn in turns.values() if turn.on_trial)
    delayed = suspects[int(allow_suspect) :]
    for session in sessions:
        turn = turns.get(session.id)
        if turn is None:  # no turn is due by our clock: return the event number that the lease took
            nothing = {**session_log.NOTHING, "events": -1}
            yield queries.sessions.release, {**_lane(session, holder), **nothing}
        elif turn.id in delayed:
            yield from _delay(session, turns.pop(session.id), holder, now + SUSPECT_PAUSE_MS)
        elif turn.guarded:
            unwanted = yield from conditions.why_unwanted(session, turn, now)
            if unwanted is not None:
                withdrawn.append((yield from conditions.withdraw(session, holder, turn, *unwanted, now)))
                del turns[session.id]
    for session, turn, wait in models.put_off(sessions, turns) if models is not None else ():
        yield from _delay(session, turn, holder, now + MODEL_PAUSE_MS)
        yield queries.model_waits.put, wait
    return withdrawn


def _delay(session: Session, turn: Turn, holder: str, ready_at: int) -> Transaction[None]:
    """Requeue a turn, and delay its lane too, or the turns behind would overtake it."""
    yield queries.turns.delay, {"id": turn.id, "fence": session.fence}
    yield queries.sessions.delay, {**_lane(session, holder), "ready_at": ready_at}


def _lane(session: Session, holder: str) -> Params:
    return {"id": session.id, "holder": holder, "fence": session.fence}


def _open(
    sessions: Sequence[Session], turns: Mapping[str, Turn], emptied: Container[str], now: int
) -> Transaction[Mapping[str, list[Event]]]:
    """Log the starts of turns. Returns the events of each by its session, the copies for its chat last."""
    events: list[Event] = []
    counts: list[Params] = []
    for session in sessions:
        opened = _opened(session, turns[session.id], now)
        updates = _updates_at_start(session, opened, now, empties_queue=session.id in emptied)
        events += (opened, *updates)
        if updates:  # the lease has taken a number for the start only
            counts.append({"id": session.id, "events": len(updates)})
    if counts:
        yield queries.sessions.number_events, counts
    written = yield from session_log.append_turn_events(events)
    by_session: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        by_session[event.session_id].append(event)
    lane_of = {turns[session.id].chat_id: session.id for session in sessions}
    for copy in written[len(events) :]:
        by_session[lane_of[copy.session_id]].append(copy)
    if replacing := [turn for turn in turns.values() if turn.replaces is not None and turn.attempt == 1]:
        yield from mark_replaced(replacing)
    return by_session


def _updates_at_start(session: Session, opened: Event, now: int, *, empties_queue: bool) -> list[Event]:
    """What follows the start: the session's recall runs now, or the last of its waiting turns has started."""
    updates: list[Event] = []
    if opened.source and opened.source.kind == JobKind.RECALL:
        body = {"job_id": opened.source.job_id}
        updates.append(replace(opened, type="recall_update", role=None, content=None, source=None, body=body))
    if empties_queue:
        updates.append(queue_update(session, (), now, chat_id=opened.via_id))
    return session_log.numbered(updates, session.last_seq)


def _opened(session: Session, turn: Turn, now: int) -> Event:
    """The `stream_start` of a turn."""
    first = turn.attempt == 1 and turn.call is None
    body: dict[str, Any] = {"attempt": turn.attempt}
    if prompt := turn.rendered():
        body["prompt_ref"] = prompt.ref.to_json()
    if first:
        body |= parts_body(turn.parts)
    if turn.replaces is not None:
        body["replaces"] = turn.replaces
    return Event(
        session_id=session.id,
        seq=session.last_seq,
        type="stream_start",
        at=now,
        turn_id=turn.id,
        via_id=turn.chat_id,
        # The user's message joins the transcript with the first attempt only.
        role="user" if first else None,
        content=turn.content if first else None,
        source=turn.source,
        body=body,
    )


def append(held: HeldLane, events: Sequence[Event], *, acted: bool = False) -> Transaction[Sequence[Event]]:
    """Append events of the running turn. `acted`: after a crash, the turn is not rerun by default."""
    last_seq, _, _ = yield from hold(held)
    if acted:
        yield queries.turns.note_act, {"id": held.turn.id, "fence": held.fence}
    chat_id = held.turn.chat_id
    events = [replace(event, via_id=chat_id) for event in session_log.numbered(events, last_seq)]
    written = yield from session_log.append_turn_events(events)
    yield queries.sessions.number_events, {"id": held.session.id, "events": len(events)}
    return written


def join(held: HeldLane, now: int) -> Transaction[Sequence[Event]]:
    """Add the queued messages that may be injected to the running turn, if it is a user's turn."""
    totals = yield from hold(held)
    waiting: Rows = ()
    if not held.turn.scheduled:
        waiting = yield queries.turns.to_join, {"session_id": held.session.id}
    if not waiting:
        return ()
    joined = [
        Event(
            session_id=held.session.id,
            seq=0,
            type="message",
            at=now,
            turn_id=held.turn.id,
            via_id=held.turn.chat_id,
            role="user",
            content=row["content"],
            body={"joined_turn_id": row["id"], **parts_body(rows.parts_of(row["parts"]))},
        )
        for row in waiting
    ]
    joined = session_log.numbered(joined, totals.last_seq)
    yield queries.turns.join_into, [{"id": row["id"], "host_id": held.turn.id, "now": now} for row in waiting]
    written = yield from session_log.append_turn_events(joined)
    grown = yield from session_log.growth(held.session.id, totals, joined, now)
    yield queries.sessions.refresh, {"id": held.session.id, **grown}
    return written


def hold(held: HeldLane) -> Transaction[session_log.SessionTotals]:
    """Lock the session's row and return its totals. `LeaseLost`: the fence is no longer current."""
    found = yield queries.sessions.hold, {"id": held.session.id, "holder": held.holder, "fence": held.fence}
    if not found:
        raise LeaseLost(f"the lane of {held.session.key} is no longer held under fence {held.fence}")
    return session_log.totals_of_row(found[0])
