"""Played budgets: what budgets have left while a forecast passes through time.

A run needs room for what it would reserve, and is expected to use the median of past runs.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from math import ceil

from segue.model.action import Say
from segue.model.cost.budget import Budget, BudgetUnit, Estimate, Scope, has_room, no_room, window
from segue.model.cost.past_runs import MICROS, PastRuns, Spread
from segue.model.records import Job
from segue.record import positional


@positional
class PlayedBudget:
    """A budget, with what was used of it in its current period."""

    budget: Budget
    used: int
    zone: str


class PlayedBudgets:
    """The budgets of a session and its jobs. `first`: by job id, the estimate for a job without a past."""

    def __init__(
        self,
        of_jobs: Mapping[str, PlayedBudget],
        of_session: PlayedBudget | None,
        first: Mapping[str, Estimate],
        start: datetime,
    ) -> None:
        self._of_jobs, self._of_session = of_jobs, of_session
        self._first, self._start = first, start
        self._used: dict[tuple[Scope, str, str], int] = {}
        """By scope, job and first day of the period."""

    def refuse(self, job: Job, past: PastRuns, now: datetime) -> tuple[Budget, str] | None:
        """The budget that has no room for a run, and the reason; else count the run."""
        first = self._first.get(job.id, Estimate())
        found = list(self._budgets(job))
        for scope, played in found:
            used, needed = self._spent(scope, job, played, now), _needed(past, first, played.budget.unit)
            if not has_room(played.budget, used, needed):
                return played.budget, no_room(played.budget, used, needed, scope)
        for scope, played in found:
            used = self._spent(scope, job, played, now)
            self._used[_period(scope, job, played, now)] = used + _used(past, first, played.budget.unit)
        return None

    def _budgets(self, job: Job) -> Iterator[tuple[Scope, PlayedBudget]]:
        if isinstance(job.action, Say):  # it asks no model
            return
        if job.id in self._of_jobs:
            yield Scope.JOB, self._of_jobs[job.id]
        if self._of_session is not None:
            yield Scope.SESSION, self._of_session

    def _spent(self, scope: Scope, job: Job, played: PlayedBudget, now: datetime) -> int:
        has_begun = window(played.budget.per, now, played.zone).began_at <= self._start
        return self._used.get(_period(scope, job, played, now), played.used if has_begun else 0)


def _period(scope: Scope, job: Job, played: PlayedBudget, now: datetime) -> tuple[Scope, str, str]:
    first_day = window(played.budget.per, now, played.zone).first_day
    return scope, job.id if scope is Scope.JOB else "", first_day


def _needed(past: PastRuns, first: Estimate, unit: BudgetUnit) -> int:
    spread = _spread(past, unit)
    return first.of(unit) if spread is None else ceil(spread.p95)


def _used(past: PastRuns, first: Estimate, unit: BudgetUnit) -> int:
    spread = _spread(past, unit)
    return first.of(unit) if spread is None else ceil(spread.p50)


def _spread(past: PastRuns, unit: BudgetUnit) -> Spread | None:
    match unit:
        case BudgetUnit.USD:
            return past.usd and past.usd.times(MICROS)
        case BudgetUnit.TOKENS:
            return past.tokens
        case BudgetUnit.RUNS:
            return None
