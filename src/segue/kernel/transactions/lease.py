"""A lane under lease: how its first turn is taken up, and what its holder may do until it ends.

Transactions, as in `lane`. A turn that waits is taken up by `lease`; one that finds its lane empty and a
runner with a free seat is taken up as it comes in, by `begin`.

Invariants
  - a lane is taken when nobody holds it, and each time under a new fence
  - whoever holds it writes only under that fence: else `LeaseLost` is raised
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from segue.errors import LeaseLost
from segue.kernel.transactions import session_log, unified
from segue.kernel.transactions.lane import Admission, Pool, turn_params
from segue.model.records import Event, Session, Turn
from segue.model.states import TurnState
from segue.record import record
from segue.store import queries
from segue.store.database import Params, Rows, Transaction
from segue.store.rows import core as rows

QUANTUM = 8
"""The most lanes taken for one account while another one waits."""
TRIAL_PAUSE_MS = 1000
"""How long a turn on its last chance waits while another one has its trial."""


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
    """The same in the log of the chat it came by."""

    @property
    def via_id(self) -> str | None:
        """The chat it came by, if that is another session than the one it runs in."""
        return self.turn.via_id if self.turn.via_id != self.session.id else None


@record
class Seat:
    """A free slot of a runner, offered to a turn that may start as soon as it comes in."""

    holder: str
    lease_ms: int
    lease_now: int | None
    held_until: int
    """By the runner's own steady clock: until then its lease can be relied on."""
    reports_tools: bool


def reliable_ms(lease_ms: int) -> int:
    """How long a holder relies on its lease. It stops its turn a margin of a third before the lease ends, so
    that an agent that takes a moment to stop has stopped before a successor starts.

        0          1/3             2/3              1     of the lease
        leased     first renewal   stop the turn    a successor may start
                   ├── retries ────┤                      every TICK or sixth of the lease, the shorter

    A renewal that fails at 1/3 is tried again by 1/2: one missed renewal does not cost the turn.
    The margin is at least 1 s for leases of 3 s and more.
    """
    return lease_ms - lease_ms // 3


def lease(
    seat: Seat, *, pool: Pool, after: str, limit: int, now: int, since: int = 0, trial: bool = True
) -> Transaction[list[HeldLane]]:
    """Take ready lanes of the next account in turn and start the first turn of each, in a seat like this one.

    `since`: none has been ready for longer. `trial`: one of them may be on its last chance, the oldest. Who
    else is waits for another try.
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
    return (yield from _start([rows.session(row) for row in leased], seat, trial, now))


def _start(sessions: Sequence[Session], seat: Seat, trial: bool, now: int) -> Transaction[list[HeldLane]]:
    if not sessions:
        return []
    acted = int(not seat.reports_tools)
    started = yield (
        queries.turns.start_next,
        [{"session_id": s.id, "fence": s.fence, "acted": acted, "now": now} for s in sessions],
    )
    turns = {turn.session_id: turn for turn in map(rows.turn, started)}
    suspects = sorted((turn for turn in turns.values() if turn.on_trial), key=lambda turn: turn.id)
    put_off = {turn.session_id: turns.pop(turn.session_id) for turn in suspects[int(trial) :]}
    held = [
        _held(session, turns[session.id], seat.holder, now) for session in sessions if session.id in turns
    ]
    yield queries.events.append, [rows.event_params(lane.opened) for lane in held]
    for place, one in enumerate(held):
        if one.via_id is not None:
            held[place] = replace(one, copies=(yield from unified.mirror((one.opened,), one.via_id)))
    for session in sessions:
        if session.id in turns:
            continue
        lane: Params = {"id": session.id, "holder": seat.holder, "fence": session.fence}
        if suspect := put_off.get(session.id):  # with its lane: those behind it would overtake it
            yield queries.turns.put_off, {"id": suspect.id, "fence": session.fence}
            yield queries.sessions.put_off, {**lane, "ready_at": now + TRIAL_PAUSE_MS}
        else:  # due by another clock; the number it took goes back
            yield queries.sessions.release, {**lane, **session_log.NOTHING, "events": -1}
    return held


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
        # The words join the transcript here, once: a second attempt finds them there.
        role="user" if first else None,
        content=turn.content if first else None,
        source=turn.source,
        body=body,
    )
    return HeldLane(session=session, turn=turn, holder=holder, fence=session.fence, opened=opened)


def append(held: HeldLane, facts: Sequence[Event], *, acted: bool = False) -> Transaction[Sequence[Event]]:
    """Facts of the running turn, into the log. `acted`: from here on a crash is not run again unasked."""
    last_seq, _, _ = yield from hold(held)
    if acted:
        yield queries.turns.note_act, {"id": held.turn.id, "fence": held.fence}
    facts = session_log.numbered(facts, last_seq)
    yield queries.events.append, [rows.event_params(event) for event in facts]
    yield queries.sessions.number_events, {"id": held.session.id, "events": len(facts)}
    return [*facts, *(yield from unified.mirror(facts, held.via_id))]


def join(held: HeldLane, now: int) -> Transaction[Sequence[Event]]:
    """Let the messages that may be injected into the turn under way, if it is a user's."""
    standing = yield from hold(held)
    waiting: Rows = ()
    if not held.turn.scheduled:
        waiting = yield queries.turns.to_join, {"session_id": held.session.id}
    if not waiting:
        return ()
    joined = [
        Event(
            session_id=held.session.id,
            seq=standing.last_seq + place,
            type="message",
            at=now,
            turn_id=held.turn.id,
            role="user",
            content=row["content"],
            body={"joined_turn_id": row["id"]},
        )
        for place, row in enumerate(waiting, 1)
    ]
    yield queries.turns.join_into, [{"id": row["id"], "host_id": held.turn.id, "now": now} for row in waiting]
    yield queries.events.append, [rows.event_params(event) for event in joined]
    grown = yield from session_log.growth(held.session.id, standing, joined, now)
    yield queries.sessions.refresh, {"id": held.session.id, **grown}
    return [*joined, *(yield from unified.mirror(joined, held.via_id))]


def begin(session: Session, words: Admission, seat: Seat, now: int, *, via_id: str) -> Transaction[HeldLane]:
    """Into the empty lane of a session whose row is locked, and under lease at once: nobody stands before it.

    What `admit` and `lease` do, in one commit: a turn that comes alone waits for the disk once.
    """
    yield (
        queries.sessions.take,
        {"id": session.id, "holder": seat.holder, "lease_ms": seat.lease_ms, "lease_now": seat.lease_now},
    )
    session = replace(session, holder=seat.holder, fence=session.fence + 1, last_seq=session.last_seq + 1)
    acted = not seat.reports_tools or words.call is not None
    yield (
        queries.turns.begin,
        {**turn_params(session, words, now, via_id), "fence": session.fence, "acted": int(acted)},
    )
    turn = Turn(
        id=words.turn_id,
        session_id=session.id,
        via_id=via_id,
        run_id=words.source.run_id if words.source else None,
        state=TurnState.RUNNING,
        content=words.content,
        prompt=words.prompt,
        brief=words.brief,
        call=words.call,
        source=words.source,
        joined_into=None,
        attempt=1,
        crashes=0,
        retries=words.retries,
        crash=words.crash,
        timeout_ms=words.timeout_ms,
        acted=acted,
        fence=session.fence,
        draft=None,
        not_before=words.not_before,
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
    """The session's row, if the lane is still ours; gives how its log stands."""
    found = yield queries.sessions.hold, {"id": held.session.id, "holder": held.holder, "fence": held.fence}
    if not found:
        raise LeaseLost(f"the lane of {held.session.key} is no longer held under fence {held.fence}")
    return session_log.totals_in(found[0])
