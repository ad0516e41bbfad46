"""Leases: starts turns, and the writes that the holder of a lane may make while its turn runs.

`lease` starts turns that wait in a lane. `begin` admits a turn and starts it in the same commit, if its lane
is empty and a runner has free capacity.

Invariants
  - a lane is leased only while it has no holder, and each lease has a new fence
  - a holder's write names its fence; if the fence is no longer current, `LeaseLost` is raised
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from segue.errors import LeaseLost
from segue.kernel.transactions import session_log, unified
from segue.kernel.transactions.lane import Admission, Pool, queue_update, turn_params
from segue.model.records import Event, Session, Turn
from segue.model.states import TurnState
from segue.record import record
from segue.store import queries
from segue.store.database import Params, Rows, Transaction
from segue.store.rows import core as rows

QUANTUM = 8
"""The most lanes leased for one account at once while another account waits."""
TRIAL_PAUSE_MS = 1000
"""How long a crash suspect waits while another one runs (see `crash_suspects`)."""


@record
class HeldLane:
    """A lane under lease, with the turn that runs in it."""

    session: Session
    turn: Turn
    holder: str
    fence: int
    opened: Event
    """Its `stream_start`."""
    copies: Sequence[Event] = ()
    """The same event in the log of the chat that the turn came from."""
    queue_events: Sequence[Event] = ()
    """The `queue_update` of the last turn that waited, and its copy."""

    @property
    def via_id(self) -> str | None:
        """The chat that the turn came from, if that is not the session it runs in."""
        return self.turn.via_id if self.turn.via_id != self.session.id else None


@record
class Seat:
    """The lease that a runner offers to a turn: who holds it, and for how long."""

    holder: str
    lease_ms: int
    lease_now: int | None
    held_until: int
    """By the runner's steady clock: until then it may rely on the lease."""
    reports_tools: bool


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
    seat: Seat, *, pool: Pool, after: str, limit: int, now: int, since: int = 0, allow_suspect: bool = True
) -> Transaction[list[HeldLane]]:
    """Lease ready lanes of the account that follows `after`, and start the first turn of each.

    `since`: lower bound on `ready_at`. `allow_suspect`: start at most one turn that has already crashed
    twice, the oldest; the others are requeued.
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
            "holder": seat.holder,
            "lease_ms": seat.lease_ms,
            "lease_now": seat.lease_now,
        },
    )
    return (yield from _start([rows.session(row) for row in leased], seat, allow_suspect, now))


def _start(
    sessions: Sequence[Session], seat: Seat, allow_suspect: bool, now: int
) -> Transaction[list[HeldLane]]:
    if not sessions:
        return []
    acted = int(not seat.reports_tools)
    started = yield (
        queries.turns.start_next,
        [{"session_id": s.id, "fence": s.fence, "acted": acted, "now": now} for s in sessions],
    )
    turns = {turn.session_id: turn for turn in map(rows.turn, started)}
    suspects = sorted((turn for turn in turns.values() if turn.on_trial), key=lambda turn: turn.id)
    put_off = {turn.session_id: turns.pop(turn.session_id) for turn in suspects[int(allow_suspect) :]}
    held = [
        _held(session, turns[session.id], seat.holder, now) for session in sessions if session.id in turns
    ]
    yield queries.events.append, [rows.event_params(lane.opened) for lane in held]
    for index, one in enumerate(held):
        if one.via_id is not None:
            held[index] = replace(one, copies=(yield from unified.mirror((one.opened,), one.via_id)))
    emptied = {row["session_id"] for row in started if row["empties_queue"]}
    for index, one in enumerate(held):
        if one.session.id in emptied:
            held[index] = replace(one, queue_events=(yield from _empty_queue(one, now)))
    for session in sessions:
        if session.id in turns:
            continue
        lane: Params = {"id": session.id, "holder": seat.holder, "fence": session.fence}
        if suspect := put_off.get(session.id):  # and its lane too, or the turns behind would overtake it
            yield queries.turns.put_off, {"id": suspect.id, "fence": session.fence}
            yield queries.sessions.put_off, {**lane, "ready_at": now + TRIAL_PAUSE_MS}
        else:  # no turn is due by our clock: return the event number that the lease took
            yield queries.sessions.release, {**lane, **session_log.NOTHING, "events": -1}
    return held


def _empty_queue(held: HeldLane, now: int) -> Transaction[Sequence[Event]]:
    """Tell the session that the last of its waiting turns has started."""
    update = queue_update(held.session, (), now)
    yield queries.events.append, rows.event_params(update)
    yield queries.sessions.number_events, {"id": held.session.id, "events": 1}
    return (update, *(yield from unified.mirror((update,), held.via_id)))


def _held(session: Session, turn: Turn, holder: str, now: int) -> HeldLane:
    first = turn.attempt == 1 and turn.call is None
    body: dict[str, Any] = {"attempt": turn.attempt}
    if prompt := turn.rendered():
        body["prompt_ref"] = prompt.ref.to_json()
    opened = Event(
        session_id=session.id,
        seq=session.last_seq,
        type="stream_start",
        at=now,
        turn_id=turn.id,
        via_id=turn.via_id if turn.via_id != session.id else None,
        # The user's message joins the transcript with the first attempt only.
        role="user" if first else None,
        content=turn.content if first else None,
        source=turn.source,
        body=body,
    )
    return HeldLane(session=session, turn=turn, holder=holder, fence=session.fence, opened=opened)


def append(held: HeldLane, events: Sequence[Event], *, acted: bool = False) -> Transaction[Sequence[Event]]:
    """Append events of the running turn. `acted`: after a crash, the turn is not rerun by default."""
    last_seq, _, _ = yield from hold(held)
    if acted:
        yield queries.turns.note_act, {"id": held.turn.id, "fence": held.fence}
    events = session_log.numbered(events, last_seq)
    yield queries.events.append, [rows.event_params(event) for event in events]
    yield queries.sessions.number_events, {"id": held.session.id, "events": len(events)}
    return [*events, *(yield from unified.mirror(events, held.via_id))]


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
            seq=totals.last_seq + offset,
            type="message",
            at=now,
            turn_id=held.turn.id,
            role="user",
            content=row["content"],
            body={"joined_turn_id": row["id"]},
        )
        for offset, row in enumerate(waiting, 1)
    ]
    yield queries.turns.join_into, [{"id": row["id"], "host_id": held.turn.id, "now": now} for row in waiting]
    yield queries.events.append, [rows.event_params(event) for event in joined]
    grown = yield from session_log.growth(held.session.id, totals, joined, now)
    yield queries.sessions.refresh, {"id": held.session.id, **grown}
    return [*joined, *(yield from unified.mirror(joined, held.via_id))]


def begin(
    session: Session, admission: Admission, seat: Seat, now: int, *, via_id: str
) -> Transaction[HeldLane]:
    """Admit a turn to the empty lane of a locked session and start it: `admit` and `lease` in one commit.

    A lone turn waits for one disk write instead of two.
    """
    yield (
        queries.sessions.take,
        {"id": session.id, "holder": seat.holder, "lease_ms": seat.lease_ms, "lease_now": seat.lease_now},
    )
    session = replace(session, holder=seat.holder, fence=session.fence + 1, last_seq=session.last_seq + 1)
    acted = not seat.reports_tools or admission.call is not None
    yield (
        queries.turns.begin,
        {**turn_params(session, admission, now, via_id), "fence": session.fence, "acted": int(acted)},
    )
    turn = Turn(
        id=admission.turn_id,
        session_id=session.id,
        via_id=via_id,
        run_id=admission.source.run_id if admission.source else None,
        state=TurnState.RUNNING,
        content=admission.content,
        prompt=admission.prompt,
        brief=admission.brief,
        call=admission.call,
        source=admission.source,
        joined_into=None,
        attempt=1,
        crashes=0,
        retries=admission.retries,
        crash=admission.crash,
        timeout_ms=admission.timeout_ms,
        acted=acted,
        fence=session.fence,
        draft=None,
        not_before=admission.not_before,
        queued_at=now,
        started_at=now,
        finished_at=None,
        outcome=None,
        reply=None,
        error=None,
        usage=None,
    )
    held = _held(session, turn, seat.holder, now)
    yield queries.events.append, rows.event_params(held.opened)
    copies = yield from unified.mirror((held.opened,), held.via_id)
    return replace(held, copies=copies) if copies else held


def hold(held: HeldLane) -> Transaction[session_log.SessionTotals]:
    """Lock the session's row and return its totals. `LeaseLost`: the fence is no longer current."""
    found = yield queries.sessions.hold, {"id": held.session.id, "holder": held.holder, "fence": held.fence}
    if not found:
        raise LeaseLost(f"the lane of {held.session.key} is no longer held under fence {held.fence}")
    return session_log.totals_of_row(found[0])
