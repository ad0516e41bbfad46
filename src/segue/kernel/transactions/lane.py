"""Lane: the queue of turns of one session. Every turn, of a user or of a job, is admitted here.

This module admits queued turns and withdraws them; `lease` starts a turn and `settle` ends it. Every
transaction is a generator (see `store.database`). Each locks the session's row before it reads the session's
turns: under READ COMMITTED, this order guarantees that it sees every turn admitted before it.

Invariants
  - at most one running turn per session
  - a turn ends only under the fence it was started with, and only by the lane's holder
  - a lane with a queued turn and no holder has `ready_at` set, so no wake-up is lost
  - the events of a turn are numbered without gaps, under the session's row lock
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import IntEnum
from typing import Any

from segue.errors import AlreadyStarted, NotFound, SessionBusy
from segue.kernel.transactions import session_log, unified
from segue.kernel.transactions.guards import budgets
from segue.kernel.transactions.quiet import held
from segue.kernel.transactions.replace import check_replaceable
from segue.kernel.transactions.result import Name, Result, combined
from segue.kernel.transactions.unified import Address, Route
from segue.model.cost.budget import Estimate
from segue.model.files import File
from segue.model.prompts import PromptFacts
from segue.model.records import Event, Session, Source, merged
from segue.model.states import Outcome, WhenBusy
from segue.record import record
from segue.store import queries
from segue.store.database import Rows, Transaction
from segue.store.rows import core as rows
from segue.times.clock import to_moment, to_ms

_USER = frozenset({Name.USER})
_SCHEDULE = frozenset({Name.SCHEDULE})
_ANY_RUNNER = _USER | _SCHEDULE


class Pool(IntEnum):
    """Which runner may lease a lane. If a user's turn waits behind a scheduled one, the users' runner may."""

    SCHEDULE = 0
    USER = 1


@record
class Admission:
    """A turn to be queued."""

    turn_id: str
    content: str
    rank: int
    not_before: int
    timeout_ms: int
    prompt: str | None = None
    brief: PromptFacts | None = None
    call: Mapping[str, Any] | None = None
    source: Source | None = None
    joins: bool = False
    retries: int = 0
    crash: str = "auto"
    metadata: Mapping[str, Any] | None = None
    """The channel's data on where in the chat the answer belongs."""
    parts: tuple[File, ...] = ()
    """The files of a user's message."""
    reserved: Estimate | None = None
    """What its run reserves of budgets."""
    replaces: str | None = None
    """The turn whose place it takes."""


@record
class QueuedTurn:
    turn_id: str
    session_id: str
    position: int = 0
    """Number of turns ahead of it, including the running one."""


def receive(
    address: Address, admission: Admission, now: int, *, when_busy: WhenBusy | None, default: WhenBusy
) -> Transaction[Result[QueuedTurn]]:
    """Admit a user's message. `SessionBusy`: the lane is busy and the mode is to reject.

    `NotFound`, `CannotReplace`: of the turn that it is to replace.
    """
    route = yield from unified.open_route(address, now)
    yield from record_activity(route, now, title=admission.content)
    return (yield from enter(route, admission, now, when_busy=when_busy, default=default))


def enter(
    route: Route, admission: Admission, now: int, *, when_busy: WhenBusy | None, default: WhenBusy
) -> Transaction[Result[QueuedTurn]]:
    """Admit a user's message whose activity is recorded, as the chat's mode says for a busy lane."""
    session, chat = route.lane, route.chat
    if admission.replaces is not None:
        yield from check_replaceable(route, admission.replaces, by=admission.turn_id)
    mode = when_busy or chat.when_busy or default
    if session.busy and mode == WhenBusy.REJECT:
        raise SessionBusy(f"{chat.key} is busy; wait for its turn to end, or send with another when_busy")
    if session.holder and mode == WhenBusy.INTERRUPT:
        yield queries.turns.ask_to_stop, {"session_id": session.id}
        admission = replace(admission, rank=0)
    if admission.metadata:
        yield from _keep_metadata(chat, admission.metadata)
    if session.holder and mode == WhenBusy.INJECT and admission.replaces is None:
        admission = replace(admission, joins=True)
    queued = yield from admit(route, admission, now)
    woken = woken_by_activity(route)
    if queued.value.position:  # the turn ahead may have been asked to stop
        woken |= {Name.KEEPER}
    return replace(queued, wake=queued.wake | woken) if woken else queued


def _keep_metadata(chat: Session, given: Mapping[str, Any]) -> Transaction[None]:
    """Merge the channel's metadata into the chat's; written only if it differs."""
    kept = merged(chat.metadata, given)
    if kept != chat.metadata:
        yield queries.sessions.set_metadata, {"id": chat.id, "metadata": rows.to_text(kept) or "{}"}


def record_activity(route: Route, now: int, *, title: str | None) -> Transaction[int]:
    """Record user activity in a chat, and in its common session. `title`: for a chat that has none.

    Answers that wait are sent now, before the answer to this message, and idle jobs get a deadline: the
    caller wakes what `woken_by_activity` names. Returns when a job last said something in the chat, or 0.
    """
    line = title.strip().splitlines()[0][:80] if title else None
    if route.chat.held:
        yield from held.send_now(route.chat, now)
    job_said_at = yield from _record_activity(route.chat, line, now)
    if route.common:
        yield from _record_activity(route.common, None, now)
    return job_said_at


def woken_by_activity(route: Route) -> frozenset[Name]:
    """What has work after `record_activity`. `route`: as it was before."""
    timer = {Name.TIMER} if route.chat.unarmed or route.lane.unarmed else set()
    return frozenset(timer | ({Name.COURIER} if route.chat.held else set()))


def _record_activity(session: Session, title: str | None, now: int) -> Transaction[int]:
    """Idle jobs get a deadline once, not on every message, so a busy chat costs two UPDATEs."""
    yield queries.sessions.hear, {"id": session.id, "now": now, "title": title}
    touched = yield queries.activity.touch, {"id": session.id, "now": now}
    if session.unarmed:
        waiting = yield queries.jobs.unarmed_of_session, {"session_id": session.id}
        for job in map(rows.job, waiting):
            quiet_at = job.trigger.next_after(to_moment(now))
            if quiet_at is not None:
                yield queries.jobs.arm, {"id": job.id, "next_at": to_ms(quiet_at)}
        yield queries.jobs.look_again, {"session_id": session.id, "now": now}
        yield queries.sessions.arm_idle, {"id": session.id}
    return int(touched[0]["job_said_at"]) if touched else 0


def admit(route: Route, admission: Admission, now: int) -> Transaction[Result[QueuedTurn]]:
    """Queue a turn in a locked lane. Users' turns and jobs' turns both pass through here."""
    session = route.lane
    pool = Pool.USER if admission.source is None else Pool.SCHEDULE
    waits = pool is Pool.SCHEDULE and session.waits_at(admission.not_before)
    if waits:
        admission = replace(admission, not_before=session.waiting_until or 0)
    behind = session.busy or waits
    made = yield (
        queries.turns.enqueue,
        {
            "id": admission.turn_id,
            "session_id": session.id,
            "via_id": route.chat.id,
            "job_id": admission.source.job_id if admission.source else None,
            "run_id": admission.source.run_id if admission.source else None,
            "rank": admission.rank,
            "not_before": admission.not_before,
            "content": admission.content,
            "prompt": admission.prompt,
            "brief": rows.json_text(admission.brief),
            "call": rows.to_text(admission.call),
            "source": rows.source_text(admission.source),
            "retries": admission.retries,
            "crash": admission.crash,
            "timeout_ms": admission.timeout_ms,
            "joins": int(admission.joins),
            "waits": int(behind),
            "metadata": rows.to_text(admission.metadata),
            "parts": rows.parts_text(admission.parts),
            "reserved": rows.reserved_text(admission.reserved),
            "replaces": admission.replaces,
            "now": now,
        },
    )
    turn = QueuedTurn(turn_id=admission.turn_id, session_id=session.id)
    # In a busy lane a user may wait, and then the users' runner may lease it for a scheduled turn.
    wake = _USER if pool is Pool.USER else _ANY_RUNNER if session.busy else _SCHEDULE
    if not made:  # a retry after a commit whose answer was lost: it is queued already
        return Result(value=turn, wake=wake)
    events: list[Event] = []
    if behind:
        waiting = yield queries.turns.waiting_in, {"session_id": session.id}
        update = queue_update(session, waiting, now, chat_id=route.chat_id)
        events = yield from session_log.append_turn_events([update])
        ahead = [row["id"] for row in waiting].index(admission.turn_id) + (session.holder is not None)
        turn = replace(turn, position=ahead)
    yield (
        queries.sessions.enqueue,
        {
            "id": session.id,
            "not_before": admission.not_before,
            "user_waits": int(pool),
            "events": int(bool(events)),
        },
    )
    return Result(value=turn, events=events, wake=wake)


def cancel(turn_id: str, reason: str, now: int) -> Transaction[Result[None]]:
    """Withdraw a queued turn. `NotFound`: no such turn. `AlreadyStarted`: it runs, or has ended."""
    found = yield queries.turns.by_id, {"id": turn_id}
    if not found:
        raise NotFound(f"there is no turn {turn_id}")
    session = yield from session_log.lock_session(found[0]["session_id"])
    closures = yield from withdraw(turn_id, Outcome.CANCELLED, reason, now)
    if closures is None:
        raise AlreadyStarted(f"turn {turn_id} has already started; stop it instead")
    return (yield from queue_changed(session, closures, now))


def withdraw(turn_id: str, outcome: Outcome, reason: str, now: int) -> Transaction[Sequence[Event] | None]:
    """End a queued turn and its run. The caller holds the session's row lock and then refreshes the lane.

    Returns the closure to append if an earlier attempt had started, and None if the turn is not queued.
    """
    taken = yield queries.turns.cancel, {"id": turn_id, "outcome": str(outcome), "reason": reason, "now": now}
    if not taken:
        return None
    turn = rows.turn(taken[0])
    if turn.reserved is not None:
        yield from budgets.release(turn, turn.reserved)
    if turn.attempt == 0 or turn.call is not None:
        return ()
    end = Event(
        session_id=turn.session_id,
        seq=0,
        type="stream_end",
        at=now,
        turn_id=turn.id,
        via_id=turn.chat_id,
        role="assistant",
        content=f"This turn was not tried again: {reason}.",
        source=turn.source,
        body={"state": str(turn.state), "outcome": str(outcome)},
    )
    return (end,)


def queue_changed(session: Session, closures: Sequence[Event], now: int) -> Transaction[Result[None]]:
    """Refresh the lane of a locked session after turns were withdrawn, and append their closures."""
    waiting = yield queries.turns.waiting_in, {"session_id": session.id}
    update = queue_update(session, waiting, now)
    events = session_log.numbered((*closures, update), session.last_seq)
    written = yield from session_log.append_turn_events(events)
    grown = yield from session_log.growth(session.id, session_log.totals_of(session), events, now)
    left = yield queries.sessions.refresh, {"id": session.id, **grown}
    return freed(left, written)


def stop(session_id: str) -> Transaction[str | None]:
    """Ask the running turn to stop; its keeper cancels it. Returns its id, or None if none runs."""
    yield from session_log.lock_session(session_id)
    stopping = yield queries.turns.ask_to_stop, {"session_id": session_id}
    return stopping[0]["id"] if stopping else None


def stop_turn(turn_id: str, reason: str, now: int) -> Transaction[Result[bool]]:
    """Withdraw a turn if it is queued, ask it to stop if it runs. False: it has ended. `NotFound`."""
    found = yield queries.turns.by_id, {"id": turn_id}
    if not found:
        raise NotFound(f"there is no turn {turn_id}")
    session = yield from session_log.lock_session(found[0]["session_id"])
    closures = yield from withdraw(turn_id, Outcome.CANCELLED, reason, now)
    if closures is not None:
        return combined(True, [(yield from queue_changed(session, closures, now))])
    stopping = yield queries.turns.ask_turn_to_stop, {"id": turn_id}
    return Result(value=bool(stopping), wake=frozenset({Name.KEEPER}))


def queue_update(session: Session, waiting: Rows, now: int, *, chat_id: str | None = None) -> Event:
    """The event that says which turns wait. `chat_id`: the chat through which the change came."""
    shown = []
    for row in waiting[:20]:
        source = rows.source_of(row["source"])
        shown.append(
            {"turn_id": row["id"], "content": row["content"], "label": source.label if source else None}
        )
    return Event(
        session_id=session.id,
        seq=session.last_seq + 1,
        type="queue_update",
        at=now,
        via_id=chat_id,
        # What waits to be sent is counted in the chat, and not known here for a common session.
        body={"queued": len(waiting), "waiting": shown} | ({} if chat_id else {"held": session.held}),
    )


def freed(lane: Rows, events: Sequence[Event]) -> Result[None]:
    """The result of releasing or refreshing a lane, from its row: wakes the runner for which it is ready."""
    if not lane or lane[0]["ready_at"] is None:
        return Result(value=None, events=events)
    wake = _USER if lane[0]["user_waits"] else _SCHEDULE
    return Result(value=None, events=events, wake=wake, ready_at=lane[0]["ready_at"])
