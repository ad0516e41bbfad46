"""Leases: starts turns, and the writes that the holder of a lane may make while its turn runs.

`lease` is the only way to start a turn.

Invariants
  - a lane is leased only while it has no holder, and each lease has a new fence
  - a holder's write names its fence; if the fence is no longer current, `LeaseLost` is raised
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

from segue.errors import LeaseLost
from segue.kernel.transactions import session_log
from segue.kernel.transactions.guards import conditions
from segue.kernel.transactions.guards.model_room import MODEL_PAUSE_MS, ModelRoom
from segue.kernel.transactions.lane import Pool, queue_update
from segue.kernel.transactions.replace import mark_replaced
from segue.kernel.transactions.result import Result, combined
from segue.model.records import Event, Session, Turn, parts_body
from segue.model.states import JobKind
from segue.record import record
from segue.store import queries
from segue.store.database import Params, Row, Rows, Transaction
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
class AgentState:
    """What the agent kept with its session, and the question that it asked the user."""

    saved: str
    question: Mapping[str, Any] | None
    answered_by: str | None

    @classmethod
    def of(cls, row: Row) -> Self:
        return cls(
            saved=row["saved"] or "{}",
            question=rows.from_text(row["waiting"]) if row["waiting"] else None,
            answered_by=row["answered_by"],
        )

    def is_answered_by(self, turn: Turn, session: Session, now: int) -> bool:
        """A user's turn is the answer while the session waits, and when it is tried again. One that replaces
        another turn is not: it ends the waiting, and the question is forgotten."""
        if self.answered_by is not None:
            return self.answered_by == turn.id
        return not turn.scheduled and turn.replaces is None and session.waits_at(now)


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
                   ├── retries ────┤                      every TICK or sixth of the lease, the shorter

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
) -> Transaction[Result[list[HeldLane]]]:
    """Lease ready lanes of the account that follows `after`, and start the first turn of each.

    The result's events are those of turns that were withdrawn instead, because their conditions no longer
    hold. `since`: lower bound on `ready_at`. `allow_suspect`: start at most one turn that has already crashed
    twice, the oldest; the others are requeued. `models`: a turn whose model has no room there waits for it.
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
    states = {row["id"]: AgentState.of(row) for row in leased}
    sessions = [rows.session(row) for row in leased]
    return (yield from _start(sessions, states, terms, allow_suspect, models, now))


def _start(
    sessions: Sequence[Session],
    states: Mapping[str, AgentState],
    terms: LeaseTerms,
    allow_suspect: bool,
    models: ModelRoom | None,
    now: int,
) -> Transaction[Result[list[HeldLane]]]:
    if not sessions:
        return Result(value=[])
    acted = int(not terms.reports_tools)
    started = yield (
        queries.turns.start_next,
        [{"session_id": s.id, "fence": s.fence, "acted": acted, "now": now} for s in sessions],
    )
    turns = {turn.session_id: turn for turn in map(rows.turn, started)}
    suspects = sorted((turn for turn in turns.values() if turn.on_trial), key=lambda turn: turn.id)
    delayed = {turn.session_id: turns.pop(turn.session_id) for turn in suspects[int(allow_suspect) :]}
    withdrawn = yield from _withdraw_unwanted(sessions, turns, terms.holder, now)
    without_room = models.put_off(sessions, turns) if models is not None else {}
    opened = {s.id: _opened(s, turns[s.id], now) for s in sessions if s.id in turns}
    events_of: dict[str | None, list[Event]] = defaultdict(list)
    for event in (yield from session_log.append_turn_events([*opened.values()])):
        events_of[event.turn_id].append(event)
    yield from mark_replaced([*turns.values()])
    emptied = {row["session_id"] for row in started if row["empties_queue"]}
    held: list[HeldLane] = []
    for session in (session for session in sessions if session.id in turns):
        turn, state = turns[session.id], states[session.id]
        updates = yield from _updates_at_start(
            session, opened[session.id], now, empties_queue=session.id in emptied
        )
        events = [*events_of[turn.id], *updates]
        resumed = state.question if state.is_answered_by(turn, session, now) else None
        if session.waiting_until is not None:
            yield from _end_waiting(turn, session.waiting_until, answered=resumed is not None)
        held.append(
            HeldLane(
                session=session,
                turn=turn,
                holder=terms.holder,
                fence=session.fence,
                opened=opened[session.id],
                saved=state.saved,
                resumed=resumed,
                events=events,
            )
        )
    for session in sessions:
        if session.id in turns or session.id in withdrawn:
            continue
        lane: Params = {"id": session.id, "holder": terms.holder, "fence": session.fence}
        if suspect := delayed.get(session.id):  # and its lane too, or the turns behind would overtake it
            yield queries.turns.delay, {"id": suspect.id, "fence": session.fence}
            yield queries.sessions.delay, {**lane, "ready_at": now + SUSPECT_PAUSE_MS}
        elif wait := without_room.get(session.id):
            yield queries.turns.delay, {"id": wait.turn_id, "fence": session.fence}
            yield queries.sessions.delay, {**lane, "ready_at": now + MODEL_PAUSE_MS}
            yield queries.model_waits.put, wait.row
        else:  # no turn is due by our clock: return the event number that the lease took
            yield queries.sessions.release, {**lane, **session_log.NOTHING, "events": -1}
    return combined(held, withdrawn.values())


def _withdraw_unwanted(
    sessions: Sequence[Session], turns: dict[str, Turn], holder: str, now: int
) -> Transaction[dict[str, Result[None]]]:
    """Withdraw the turns whose conditions no longer hold, and release their lanes."""
    withdrawn: dict[str, Result[None]] = {}
    for session in sessions:
        turn = turns.get(session.id)
        unwanted = (yield from conditions.why_unwanted(session, turn, now)) if turn else None
        if turn is not None and unwanted is not None:
            withdrawn[session.id] = yield from conditions.withdraw(session, holder, turn, *unwanted, now)
            del turns[session.id]
    return withdrawn


def _updates_at_start(
    session: Session, opened: Event, now: int, *, empties_queue: bool
) -> Transaction[Sequence[Event]]:
    """Tell the session that its recall is running, and that the last of its waiting turns has started."""
    updates: list[Event] = []
    if opened.source and opened.source.kind == JobKind.RECALL:
        body = {"job_id": opened.source.job_id}
        updates.append(replace(opened, type="recall_update", role=None, content=None, source=None, body=body))
    if empties_queue:
        updates.append(queue_update(session, (), now, chat_id=opened.via_id))
    if not updates:
        return ()
    yield queries.sessions.number_events, {"id": session.id, "events": len(updates)}
    return (yield from session_log.append_turn_events(session_log.numbered(updates, session.last_seq)))


def _end_waiting(turn: Turn, until: int, *, answered: bool) -> Transaction[None]:
    """A turn starts: the user's, which is the answer, or a scheduled one after the time for it has passed."""
    session_id = turn.session_id
    yield queries.sessions.wait, {"id": session_id, "until": None}
    yield queries.turns.let_go, {"session_id": session_id, "until": until}
    if not answered:
        yield queries.agent_states.forget, {"session_id": session_id}
        return
    yield queries.agent_states.answer, {"session_id": session_id, "turn_id": turn.id}
    yield queries.turns.put_first, {"id": turn.id}


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
