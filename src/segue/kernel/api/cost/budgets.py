"""Budgets: reads what was used of them, sets that of a session, and raises one for its current period."""

from collections.abc import Sequence
from datetime import datetime

from segue.errors import Conflict, PriceUnknown
from segue.kernel.api.context import ApiContext
from segue.kernel.transactions.guards import budgets
from segue.kernel.transactions.guards.budgets import Spent
from segue.kernel.workers.reserving import first_estimate, price_of, scoped
from segue.model.action import Action, Ask
from segue.model.cost.budget import Budget, BudgetUnit, Estimate, Scope, has_room, local_day, shown, window
from segue.model.cost.forecast import NO_RUNS
from segue.model.cost.past_runs import PastRuns
from segue.model.records import Job, Session
from segue.record import record
from segue.store import queries
from segue.store.rows import core as rows
from segue.times.clock import to_moment

_ANY_ASK = Ask("?")


@record
class BudgetNow:
    """A budget in its current period. Amounts are whole millionths of a dollar, tokens, or runs."""

    budget: Budget
    spent: int
    reserved: int
    """By runs that have not ended."""
    resets_at: datetime

    @property
    def left(self) -> int:
        return max(0, self.budget.amount - self.spent - self.reserved)


@record
class JobBudget:
    """The budget of a job in its current period."""

    job_id: str
    name: str
    now: BudgetNow


@record
class SessionBudget:
    """What a session and its jobs have left."""

    own: BudgetNow | None
    """None: the session has no budget."""
    jobs: Sequence[JobBudget]
    """Of those of its jobs that have a budget."""


async def check_price(context: ApiContext, budget: Budget, action: Action, job_id: str | None) -> None:
    """Raises `PriceUnknown` for a budget of a job in US dollars that could not be kept."""
    if budget.unit is BudgetUnit.USD:
        past = await context.store.past_runs(job_id) if job_id else NO_RUNS
        if past.usd is None:
            price_of(context.settings, action)


def check_session_price(context: ApiContext, budget: Budget | None) -> None:
    """Raises `PriceUnknown` for a budget of a session in US dollars that could not be kept."""
    if budget is not None and budget.unit is BudgetUnit.USD:
        price_of(context.settings, _ANY_ASK)


async def budget_of(context: ApiContext, session: Session) -> Budget | None:
    """Raises `BadPolicy` for a budget that this version cannot read."""
    found = await context.store.database.read(
        queries.reservations.budget_of_session, {"session_id": session.id}
    )
    return rows.budget_of(found[0]["budget"]) if found else None


async def session_budget(context: ApiContext, session: Session, jobs: Sequence[Job]) -> SessionBudget:
    own = await budget_of(context, session)
    limited = [(job, job.policy.budget) for job in jobs if job.policy.budget is not None]
    return SessionBudget(
        own=await _now(context, session, Scope.SESSION, session.id, own) if own else None,
        jobs=[
            JobBudget(
                job_id=job.id,
                name=job.name,
                now=await _now(context, session, Scope.JOB, job.id, budget),
            )
            for job, budget in limited
        ],
    )


async def raise_budget(context: ApiContext, session: Session, job: Job | None) -> None:
    """Give the budget of a job, or of the session, as much again until its period ends."""
    budget = job.policy.budget if job else await budget_of(context, session)
    if budget is None:
        raise Conflict(f"{f'job {job.id}' if job else session.key} has no budget to raise")
    now = context.clock.ms()
    scope, scope_id = (Scope.JOB, job.id) if job else (Scope.SESSION, session.id)
    day = local_day(to_moment(now), zone_of(context, session))
    given_id = f"raise:{context.ids(now)}"
    await context.store.commit(budgets.raise_once, given_id, scope, scope_id, budget, day)


def warnings(context: ApiContext, job: Job, tokens: int) -> list[str]:
    """What to say before a job is made: a budget below one run never lets it run."""
    budget = job.policy.budget
    if budget is None:
        return []
    priced = budget.unit is BudgetUnit.USD
    needed = _estimate(context, job, NO_RUNS, tokens, priced=priced).of(budget.unit)
    if has_room(budget, 0, needed):
        return []
    amounts = f"{shown(budget.unit, needed)} and the budget is {shown(budget.unit, budget.amount)}"
    return [f"the budget is below one run: a run takes about {amounts}, so none would start"]


def estimate_without_past(context: ApiContext, job: Job, past: PastRuns, session: Session) -> Estimate:
    """What a run is expected to use whose past does not tell; no money if the price is not known."""
    return _estimate(context, job, past, session.live.tokens, priced=True)


def _estimate(context: ApiContext, job: Job, past: PastRuns, tokens: int, *, priced: bool) -> Estimate:
    try:
        return first_estimate(context.settings, job.action, past, tokens, priced=priced)
    except PriceUnknown:
        return first_estimate(context.settings, job.action, past, tokens, priced=False)


async def used_now(
    context: ApiContext, session: Session, scope: Scope, scope_id: str, budget: Budget
) -> Spent:
    asked = scoped(scope, budget, context.clock.ms(), zone_of(context, session))
    return await context.store.commit(budgets.spent_in, asked, scope_id)


async def _now(
    context: ApiContext, session: Session, scope: Scope, scope_id: str, budget: Budget
) -> BudgetNow:
    spent = await used_now(context, session, scope, scope_id, budget)
    period = window(budget.per, to_moment(context.clock.ms()), zone_of(context, session))
    return BudgetNow(budget=budget, spent=spent.settled, reserved=spent.reserved, resets_at=period.resets_at)


def zone_of(context: ApiContext, session: Session) -> str:
    return context.zone_in(session) or "UTC"
