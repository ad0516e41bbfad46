"""Repairs of broken invariants: for each audit query a transaction, or the step that an operator can take.

Invariants
  - a repair changes only what can be derived for certain from what is stored, and deletes nothing
  - it repeats the condition of its audit query under a lock, so it may run beside workers
"""

from collections.abc import Callable, Mapping

from segue.kernel.transactions import session_log, settle
from segue.kernel.transactions.memory import archive
from segue.record import positional, record
from segue.store import queries
from segue.store.database import Params, Transaction

_HOLDER = "doctor"
_MISSING_TURN = "repaired: its turn is missing"
_MISSING_TASK = "repaired: its task is missing"


@record
class RepairTerms:
    """When a repair is made."""

    now: int
    lease_now: int | None
    horizon: int | None


@positional
class Repair:
    words: str
    """What it does, for the operator who is asked."""
    transaction: Callable[[str, RepairTerms], Transaction[bool]]
    """Takes an id that the audit found. False: there was nothing to repair any more."""


def _reclaim_turn(turn_id: str, terms: RepairTerms) -> Transaction[bool]:
    expired = yield (
        queries.repairs.expire_lease_of_turn,
        {"id": turn_id, "holder": _HOLDER, "lease_now": terms.lease_now},
    )
    return bool(expired) and (yield from _reclaim(expired[0]["id"], terms))


def _reclaim_lane(session_id: str, terms: RepairTerms) -> Transaction[bool]:
    expired = yield (
        queries.repairs.expire_lease_without_a_turn,
        {"id": session_id, "lease_now": terms.lease_now},
    )
    return bool(expired) and (yield from _reclaim(session_id, terms))


def _reclaim(session_id: str, terms: RepairTerms) -> Transaction[bool]:
    """Without an outbox: the closure is in the session's log and is not delivered."""
    end = yield from settle.reclaim(
        session_id, holder=_HOLDER, lease_now=terms.lease_now, horizon=terms.horizon, now=terms.now
    )
    return end is not None


def _end_waiting(session_id: str, terms: RepairTerms) -> Transaction[bool]:
    session = yield from session_log.lock_session(session_id)
    if session.waiting_until is None:
        return False
    yield queries.repairs.let_go, {"id": session_id}
    yield queries.repairs.end_waiting, {"id": session_id}
    return (yield from _refresh(session_id, terms))


def _end_waiting_of_turn(turn_id: str, terms: RepairTerms) -> Transaction[bool]:
    found = yield queries.repairs.session_of_turn, {"id": turn_id}
    return bool(found) and (yield from _end_waiting(found[0]["id"], terms))


def _hold_turn(turn_id: str, terms: RepairTerms) -> Transaction[bool]:
    held = yield queries.repairs.hold, {"id": turn_id}
    return bool(held) and (yield from _refresh(held[0]["id"], terms))


def _refresh(session_id: str, terms: RepairTerms) -> Transaction[bool]:
    yield from session_log.lock_session(session_id)
    yield queries.sessions.refresh, {"id": session_id, **session_log.NOTHING}
    return True


def _refresh_of_turn(turn_id: str, terms: RepairTerms) -> Transaction[bool]:
    found = yield queries.repairs.session_of_turn, {"id": turn_id}
    return bool(found) and (yield from _refresh(found[0]["id"], terms))


def _enter_directory(session_id: str, terms: RepairTerms) -> Transaction[bool]:
    return bool((yield queries.repairs.enter_directory, {"id": session_id}))


def _enter_activity(session_id: str, terms: RepairTerms) -> Transaction[bool]:
    return bool((yield queries.repairs.enter_activity, {"id": session_id}))


def _close_run(run_id: str, terms: RepairTerms) -> Transaction[bool]:
    closed = yield queries.repairs.close_run, {"id": run_id, "reason": _MISSING_TURN, "now": terms.now}
    return bool(closed)


def _close_run_by_delivery(run_id: str, terms: RepairTerms) -> Transaction[bool]:
    return bool((yield queries.repairs.close_run_by_delivery, {"id": run_id, "now": terms.now}))


def _recount(session_id: str, terms: RepairTerms) -> Transaction[bool]:
    return (yield from archive.recount(session_id, terms.now))


def _send_alone(delivery_id: str, terms: RepairTerms) -> Transaction[bool]:
    freed = yield queries.repairs.send_alone, {"id": delivery_id}
    if freed:
        yield queries.repairs.recount_held, {"id": freed[0]["id"]}
    return bool(freed)


def _recount_carried(delivery_id: str, terms: RepairTerms) -> Transaction[bool]:
    return bool((yield queries.repairs.recount_carried, {"id": delivery_id}))


def _recount_held(session_id: str, terms: RepairTerms) -> Transaction[bool]:
    return bool((yield queries.repairs.recount_held, {"id": session_id}))


def _fail_archive(session_id: str, terms: RepairTerms) -> Transaction[bool]:
    params: Params = {"id": session_id, "reason": _MISSING_TASK, "now": terms.now}
    return bool((yield queries.repairs.fail_archive, params))


_SET_READY = "read again from its queued turns when the session is ready"
_CLOSE = "close the run as interrupted"

REPAIRS: Mapping[str, Repair] = {
    "running_without_a_lease": Repair("treat the turn as after a crash of its worker", _reclaim_turn),
    "leased_without_a_turn": Repair("end the lease", _reclaim_lane),
    "running_while_waiting": Repair("end the wait for the user", _end_waiting_of_turn),
    "waiting_without_a_question": Repair("end the wait for the user", _end_waiting),
    "not_held": Repair("let the turn wait as long as its session waits for the user", _hold_turn),
    "queued_and_never_ready": Repair(_SET_READY, _refresh_of_turn),
    "ready_and_nothing_queued": Repair(_SET_READY, _refresh),
    "wrong_pool": Repair(_SET_READY, _refresh),
    "not_as_in_the_directory": Repair("enter the session in the directory", _enter_directory),
    "wrong_activity": Repair("enter the session in the list of sessions", _enter_activity),
    "run_without_its_turn": Repair(_CLOSE, _close_run),
    "settled_delivery_with_an_open_run": Repair("close the run like its delivery", _close_run_by_delivery),
    "open_run_of_nothing": Repair(_CLOSE, _close_run),
    "held_by_nothing": Repair("send the answer by itself", _send_alone),
    "wrong_carried": Repair("count the answers of the delivery again", _recount_carried),
    "wrong_held": Repair("count the answers that wait in the session again", _recount_held),
    "wrong_live_part": Repair("count the messages of the session again", _recount),
    "extracting_archive_without_a_task": Repair("mark the archive as failed", _fail_archive),
}
"""By audit query."""

_COPY = "keep a copy of the database and report it"
_RESTORE = f"other sessions are not affected; restore the database from a backup, or {_COPY}"

STEPS: Mapping[str, str] = {
    "two_running_turns": "an index is damaged: stop Segue, run REINDEX in the database, and report it",
    "open_turn_with_a_closed_run": f"stop the turn in its session, or wait for its end; if it stays, {_COPY}",
    "started_run_without_a_closure": f"the run's record has its outcome, so nothing has to be done; {_COPY}",
    "gap_in_the_log": f"another program has changed the log: restore the database from a backup, or {_COPY}",
    "enabled_job_without_a_next_moment": "run `segue jobs pause ID`, then `segue jobs resume ID`",
    "overdue_slot_without_a_row": "start `segue serve` or `segue worker`",
    "orphan_event": f"events of a deleted session take space and do no harm; {_COPY}",
    "archives_out_of_step": _RESTORE,
    "archived_without_an_archive": _RESTORE,
    "turn_cut_by_an_archive": f"nothing is lost, and nothing has to be done; {_COPY}",
    "wrong_news": "open the session on the page: what is read there counts again from then on",
    "open_reservation_without_an_open_run": f"a budget counts it until its period ends; {_COPY}",
    "open_run_without_its_reservation": f"the run goes on, and its budget does not count it; {_COPY}",
    "replaced_without_a_start": f"the earlier version is hidden, and is still in the log; {_COPY}",
    "started_without_replacing": f"both versions are shown, and nothing is lost; {_COPY}",
}
"""By audit query: what the operator can do where no repair is certain."""
