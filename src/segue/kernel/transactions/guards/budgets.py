"""Budgets: reserves what a run may use when its slot is taken, and settles what it used when it ends.

Invariants
  - a reservation and its run are written in one transaction, and so are its settlement and the run's end
  - the check that there is room and the reservation are one statement, under the lock of the session's row;
    for the budget of an account, under a lock of the account
"""

from collections.abc import Mapping, Sequence
from typing import Any

from segue.model.cost.budget import Budget, BudgetUnit, Estimate, Scope, has_room, no_room
from segue.model.cost.past_runs import used
from segue.model.cost.usage import run_usage
from segue.model.decision import PassOver
from segue.model.records import Job, Turn, run_id
from segue.record import positional, record
from segue.store import queries
from segue.store.database import Params, Row, Transaction, Value
from segue.store.rows import core as rows

_AFTER_ALL_DAYS = "~"
_ANY_ROOM = 1 << 62


@positional
class ScopedBudget:
    """A budget that a run draws on, and its current period."""

    scope: Scope
    budget: Budget
    since: str
    """The first day of the period."""
    began_at: int


@record
class Reserving:
    """What a slot reserves when it is taken, and what happens if there is no room."""

    estimate: Estimate
    period: str
    """The day, in the zone of the session."""
    budgets: Sequence[ScopedBudget]
    otherwise: PassOver
    """The decision to skip the slot, without its reason."""


@positional
class NoRoom:
    """The budget that has no room for a run, and why."""

    scoped: ScopedBudget
    reason: str


def reserve(job: Job, slot: int, asking: Reserving) -> Transaction[NoRoom | bool]:
    """Reserve for a run, in a session that is locked. Returns the budget that has no room for it, else True.

    False: the job was changed since it was read, or this slot has been taken. Then it cannot be taken now.
    """
    if any(each.scope is Scope.ACCOUNT for each in asking.budgets):
        yield queries.reservations.lock_account, {"account": job.account}
    reserved = yield (
        queries.reservations.reserve,
        {
            "run_id": run_id(job.id, slot),
            "job_id": job.id,
            "revision": job.revision,
            "period": asking.period,
            "usd_micros": asking.estimate.usd_micros,
            "tokens": asking.estimate.tokens,
            **_rooms(asking),
        },
    )
    if reserved:
        return True
    for scoped in asking.budgets:
        spent = yield from spent_in(scoped, _id_in(job, scoped.scope))
        needed = asking.estimate.of(scoped.budget.unit)
        if not has_room(scoped.budget, spent.total, needed):
            return NoRoom(scoped, no_room(scoped.budget, spent.total, needed, scoped.scope))
    return False


def _rooms(asking: Reserving) -> dict[str, Value]:
    by_scope = {each.scope: each for each in asking.budgets}
    params: dict[str, Value] = {}
    for scope in Scope:
        scoped = by_scope.get(scope)
        unit = scoped.budget.unit if scoped else BudgetUnit.RUNS
        room = scoped.budget.amount - asking.estimate.of(unit) if scoped else _ANY_ROOM
        since = scoped.since if scoped else _AFTER_ALL_DAYS
        params |= {f"{scope}_unit": str(unit), f"{scope}_since": since, f"{scope}_room": room}
    return params


@positional
class Spent:
    """What was used in a period, and what is reserved by runs that have not ended."""

    settled: int
    reserved: int

    @property
    def total(self) -> int:
        return self.settled + self.reserved


_USED = {
    Scope.JOB: queries.reservations.used_by_job,
    Scope.SESSION: queries.reservations.used_by_session,
    Scope.ACCOUNT: queries.reservations.used_by_account,
}


def spent_in(scoped: ScopedBudget, scope_id: str) -> Transaction[Spent]:
    found = yield _USED[scoped.scope], {"id": scope_id, "since": scoped.since}
    return _spent(found[0], scoped.budget.unit)


def _spent(row: Row, unit: BudgetUnit) -> Spent:
    return Spent(int(row[str(unit)]), int(row[f"{unit}_reserved"]))


def _id_in(job: Job, scope: Scope) -> str:
    return {Scope.JOB: job.id, Scope.SESSION: job.session_id, Scope.ACCOUNT: job.account}[scope]


def withdraw(job: Job, slot: int) -> Transaction[None]:
    """Undo the reservation of a slot that was not taken after all."""
    yield queries.reservations.drop, {"run_id": run_id(job.id, slot)}


def settle(turn: Turn, reserved: Estimate, usage: Mapping[str, Any] | None) -> Transaction[None]:
    """Settle the run of a turn that ends, with what it used; what is not known counts as reserved."""
    yield queries.reservations.settle, {**_used(turn, reserved, usage), **_given_back(reserved), "runs": 1}


def release(turn: Turn, reserved: Estimate) -> Transaction[None]:
    """Settle the run of a turn that left the lane. One that never started has used nothing."""
    nothing: Params = {"run_id": turn.run_id, "usd_micros": 0, "tokens": 0, "runs": int(turn.attempt > 0)}
    yield queries.reservations.settle, {**nothing, **_given_back(reserved)}


def add_attempt(turn: Turn, reserved: Estimate, usage: Mapping[str, Any] | None) -> Transaction[None]:
    """Count an attempt that is followed by another, which keeps the reservation."""
    yield queries.reservations.add, _used(turn, reserved, usage)


def limit_session(session_id: str, budget: Budget | None) -> Transaction[None]:
    """Set the budget of a session; None removes it."""
    if budget is None:
        yield queries.reservations.remove_budget, {"session_id": session_id}
    else:
        text = rows.to_text(budget.to_json())
        yield queries.reservations.set_budget, {"session_id": session_id, "budget": text}


def was_told(job: Job, scoped: ScopedBudget) -> Transaction[bool]:
    """Whether the session was told in this period that this budget has no room."""
    of_job = job.id if scoped.scope is Scope.JOB else None
    params: Params = {"session_id": job.session_id, "job_id": of_job, "since": scoped.began_at}
    return bool((yield queries.reservations.told, params))


def raise_once(given_id: str, scope: Scope, scope_id: str, budget: Budget, day: str) -> Transaction[bool]:
    """Give a budget as much again for the current period: a use below zero in its own scope only.

    False: the raise of this id was given already.
    """
    amounts = {unit: -budget.amount if unit is budget.unit else 0 for unit in BudgetUnit}
    given = yield (
        queries.reservations.give,
        {
            "id": given_id,
            "job_id": scope_id if scope is Scope.JOB else "",
            "session_id": scope_id if scope is Scope.SESSION else "",
            "period": day,
            "usd_micros": amounts[BudgetUnit.USD],
            "tokens": amounts[BudgetUnit.TOKENS],
            "runs": amounts[BudgetUnit.RUNS],
        },
    )
    return bool(given)


def _used(turn: Turn, reserved: Estimate, usage: Mapping[str, Any] | None) -> dict[str, Value]:
    usd_micros, tokens = used(run_usage(usage))
    return {
        "run_id": turn.run_id,
        "usd_micros": reserved.usd_micros if usd_micros is None else usd_micros,
        "tokens": reserved.tokens if tokens is None else tokens,
    }


def _given_back(reserved: Estimate) -> dict[str, Value]:
    return {"reserved_usd": reserved.usd_micros, "reserved_tokens": reserved.tokens}
