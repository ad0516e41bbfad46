"""The lane: the only way to a turn.

How a turn comes in and is taken out; how it is taken up is in `leasing`, and how it ends in `settle`. Every
transaction here is a generator (see `store.database`). Each takes the session's row first and looks at the
turns after: under READ COMMITTED that is what keeps a turn that is admitted meanwhile from being overlooked.

Invariants
  - at most one running turn per session
  - a turn ends only under the fence it was started with, and only by the lane's holder
  - a lane with a queued turn and no holder has `ready_at` set: no wake-up is lost
  - what a turn leaves in the log is numbered without gaps, under the session's row lock
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import IntEnum
from typing import Any

from segue.errors import AlreadyStarted, NotFound, SessionBusy
from segue.kernel.transactions import session_log, unified
from segue.model.auto_commit import AutoCommitPolicy
from segue.model.prompts import PromptFacts
from segue.model.records import Event, Lookup, Session, Source, Turn, merged
from segue.model.states import Outcome, WhenBusy
from segue.record import record
from segue.store import queries
from segue.store.database import Rows, Transaction, Value
from segue.store.rows import core as rows
from segue.times.clock import to_moment, to_ms


class Pool(IntEnum):
    """Who may take a lane. A scheduled turn that a user waits behind is taken by the users' pool."""

    SCHEDULE = 0
    USER = 1


@record
class Admission:
    """A turn that asks to be let in."""

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
    """Where in its chat the answer belongs, as its channel said."""


@record
class Admitted:
    turn_id: str
    session_id: str
    pool: Pool
    position: int
    """How many turns stand before it, the running one included."""
    events: Sequence[Event] = ()
    armed: bool = False
    """A job that waits for the session to fall quiet has its moment now."""


@record
class ReadyLane:
    """A lane that may be taken."""

    pool: Pool
    since: int
    """Its first turn has waited since then, or will be due."""


@record
class TurnEnd:
    """What a turn that ended leaves behind."""

    events: Sequence[Event]
    ready: ReadyLane | None
    """The lane, if something waits in it."""
    delivers: bool = False
    """A message for a channel was left with it."""


def receive(
    lookup: Lookup,
    key: str,
    words: Admission,
    now: int,
    *,
    new_id: str,
    when_busy: WhenBusy | None,
    default: WhenBusy,
    policy: AutoCommitPolicy | None = None,
    common_id: str | None = None,
) -> Transaction[Admitted]:
    """A user's message enters: the first door. The policy is for a session that is made here.

    `common_id`: in unified mode, for a common session that has to be made.
    """
    common = None
    if common_id is None or key == unified.KEY:
        chat = yield from session_log.open_found(lookup, key, new_id, now, policy=policy)
    else:
        common, chat = yield from session_log.open_shared(lookup, key, new_id, common_id, now, policy=policy)
    session = common or chat
    mode = when_busy or chat.when_busy or default
    if session.busy and mode == WhenBusy.REJECT:
        raise SessionBusy(f"{key} is busy; wait for its turn to end, or send with another when_busy")
    if session.holder and mode == WhenBusy.INTERRUPT:
        yield queries.turns.ask_to_stop, {"session_id": session.id}
        words = replace(words, rank=0)
    yield from hear(chat, now, title=words.content)
    if words.metadata:
        yield from _keep_metadata(chat, words.metadata)
    if common is not None:
        yield from hear(common, now)
    joins = bool(session.holder) and mode == WhenBusy.INJECT
    admitted = yield from admit(session, replace(words, joins=joins), now, via_id=chat.id)
    return replace(admitted, armed=True) if chat.unarmed or session.unarmed else admitted


def _keep_metadata(chat: Session, given: Mapping[str, Any]) -> Transaction[None]:
    """What a channel said of the place of a message; written only if it changes something."""
    kept = merged(chat.metadata, given)
    if kept != chat.metadata:
        yield queries.sessions.set_metadata, {"id": chat.id, "metadata": rows.to_text(kept) or "{}"}


def hear(session: Session, now: int, *, title: str | None = None) -> Transaction[None]:
    """A sign of life from the user's side. A busy chat pays two UPDATEs: idle jobs are armed, not moved."""
    line = title.strip().splitlines()[0][:80] if title else None
    yield queries.sessions.hear, {"id": session.id, "now": now, "title": line}
    yield queries.directory.hear, {"session_id": session.id, "now": now}
    if session.unarmed:
        waiting = yield queries.jobs.unarmed_of_session, {"session_id": session.id}
        for job in map(rows.job, waiting):
            quiet_at = job.trigger.next_after(to_moment(now))
            if quiet_at is not None:
                yield queries.jobs.arm, {"id": job.id, "next_at": to_ms(quiet_at)}
        yield queries.sessions.arm_idle, {"id": session.id}


def admit(session: Session, words: Admission, now: int, *, via_id: str) -> Transaction[Admitted]:
    """Into the lane of a session whose row is locked. Whoever came by either door walks through here."""
    pool = Pool.USER if words.source is None else Pool.SCHEDULE
    asked = turn_params(session, words, now, via_id)
    made = yield (
        queries.turns.enqueue,
        {**asked, "joins": int(words.joins), "metadata": rows.to_text(words.metadata)},
    )
    admitted = Admitted(turn_id=words.turn_id, session_id=session.id, pool=pool, position=0)
    if not made:  # driven again after a commit whose answer was lost: it is in already
        return admitted
    if session.busy:
        queued = yield queries.turns.queued_in, {"session_id": session.id}
        update = queue_update(session, [rows.turn(row) for row in queued], now)
        yield queries.events.append, rows.event_params(update)
        ahead = [row["id"] for row in queued].index(words.turn_id) + (session.holder is not None)
        admitted = replace(admitted, position=ahead, events=(update,))
    yield (
        queries.sessions.enqueue,
        {
            "id": session.id,
            "not_before": words.not_before,
            "user_waits": int(pool),
            "events": len(admitted.events),
        },
    )
    copies = yield from unified.mirror(admitted.events, via_id if via_id != session.id else None)
    return replace(admitted, events=(*admitted.events, *copies)) if copies else admitted


def turn_params(session: Session, words: Admission, now: int, via_id: str) -> dict[str, Value]:
    return {
        "id": words.turn_id,
        "session_id": session.id,
        "via_id": via_id,
        "job_id": words.source.job_id if words.source else None,
        "run_id": words.source.run_id if words.source else None,
        "rank": words.rank,
        "not_before": words.not_before,
        "content": words.content,
        "prompt": words.prompt,
        "brief": rows.brief_text(words.brief),
        "call": rows.to_text(words.call),
        "source": rows.source_text(words.source),
        "retries": words.retries,
        "crash": words.crash,
        "timeout_ms": words.timeout_ms,
        "now": now,
    }


def cancel(turn_id: str, reason: str, now: int) -> Transaction[TurnEnd]:
    """Take a queued turn out of its lane; `AlreadyStarted` when it is too late."""
    found = yield queries.turns.by_id, {"id": turn_id}
    if not found:
        raise NotFound(f"there is no turn {turn_id}")
    session = yield from session_log.lock_session(found[0]["session_id"])
    closures = yield from withdraw(turn_id, Outcome.CANCELLED, reason, now)
    if closures is None:
        raise AlreadyStarted(f"turn {turn_id} has already started; stop it instead")
    return (yield from queue_changed(session, closures, now))


def withdraw(turn_id: str, outcome: Outcome, reason: str, now: int) -> Transaction[Sequence[Event] | None]:
    """A queued turn ends, and its run with it. The caller has the session's row and refreshes the lane.

    Gives the closure to be numbered, if it had started before and came back. None: it is too late.
    """
    taken = yield queries.turns.cancel, {"id": turn_id, "outcome": str(outcome), "reason": reason, "now": now}
    if not taken:
        return None
    turn = rows.turn(taken[0])
    if turn.attempt == 0 or turn.call is not None:
        return ()
    end = Event(
        session_id=turn.session_id,
        seq=0,
        type="stream_end",
        at=now,
        turn_id=turn.id,
        via_id=turn.via_id if turn.via_id != turn.session_id else None,
        role="assistant",
        content=f"This turn was not tried again: {reason}.",
        source=turn.source,
        body={"state": str(turn.state), "outcome": str(outcome)},
    )
    return (end,)


def queue_changed(session: Session, closures: Sequence[Event], now: int) -> Transaction[TurnEnd]:
    """After turns were taken out of a locked session's lane: make it ready, or not, by what is left."""
    queued = yield queries.turns.queued_in, {"session_id": session.id}
    update = queue_update(session, [rows.turn(row) for row in queued], now)
    facts = session_log.numbered((*closures, update), session.last_seq)
    yield queries.events.append, [rows.event_params(event) for event in facts]
    grown = yield from session_log.growth(session.id, session_log.totals_of(session), facts, now)
    left = yield queries.sessions.refresh, {"id": session.id, **grown}
    for closure in closures:
        facts += yield from unified.mirror((closure,), closure.via_id)
    return TurnEnd(events=facts, ready=ready_of(left))


def stop(session_id: str) -> Transaction[str | None]:
    """Ask the running turn to stop; its worker will see to it."""
    yield from session_log.lock_session(session_id)
    asked = yield queries.turns.ask_to_stop, {"session_id": session_id}
    return asked[0]["id"] if asked else None


def queue_update(session: Session, queued: Sequence[Turn], now: int) -> Event:
    waiting = [
        {
            "turn_id": turn.id,
            "content": turn.content[:200],
            "label": turn.source.label if turn.source else None,
        }
        for turn in queued[:20]
    ]
    return Event(
        session_id=session.id,
        seq=session.last_seq + 1,
        type="queue_update",
        at=now,
        body={"queued": len(queued), "waiting": waiting},
    )


def ready_of(lane: Rows) -> ReadyLane | None:
    """How a lane stands that was just released or refreshed."""
    if not lane or lane[0]["ready_at"] is None:
        return None
    return ReadyLane(pool=Pool(lane[0]["user_waits"]), since=lane[0]["ready_at"])
