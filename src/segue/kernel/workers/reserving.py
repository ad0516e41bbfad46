"""What a due slot reserves of budgets: which budgets it draws on, and an estimate of its run."""

from collections.abc import Sequence
from math import ceil

from segue.errors import PriceUnknown
from segue.kernel.transactions.guards.budgets import Reserving, ScopedBudget
from segue.kernel.workers.worker_context import WorkerContext
from segue.model.action import Action, Ask
from segue.model.cost.budget import Budget, BudgetUnit, Estimate, Scope, local_day, window
from segue.model.cost.past_runs import MICROS, PastRuns
from segue.model.decision import DueSlot, Fire, skipped_instead
from segue.model.settings import Settings
from segue.model.tokens import estimate
from segue.store.queues import DueJob
from segue.times.clock import to_moment, to_ms

OUTPUT_TOKENS = 4_096
"""What a run without a past is expected to answer at most."""


def budgets_of(due: DueJob, settings: Settings, now: int) -> list[ScopedBudget]:
    """The budgets that a run of a due job draws on."""
    given = {
        Scope.JOB: due.job.policy.budget,
        Scope.SESSION: due.session_budget,
        Scope.ACCOUNT: settings.account_budget,
    }
    zone = _zone(due, settings)
    return [scoped(scope, budget, now, zone) for scope, budget in given.items() if budget is not None]


def scoped(scope: Scope, budget: Budget, now: int, zone: str) -> ScopedBudget:
    period = window(budget.per, to_moment(now), zone)
    return ScopedBudget(scope, budget, period.first_day, to_ms(period.began_at))


def reserving(
    due: DueJob,
    decision: Fire,
    slot: DueSlot,
    expected: Estimate,
    budgets: Sequence[ScopedBudget],
    settings: Settings,
    now: int,
) -> Reserving:
    return Reserving(
        estimate=expected,
        period=local_day(to_moment(now), _zone(due, settings)),
        budgets=budgets,
        otherwise=skipped_instead(decision, slot, to_moment(now), ""),
    )


async def estimate_run(context: WorkerContext, due: DueJob, budgets: Sequence[ScopedBudget]) -> Estimate:
    """What a run is expected to use: the 95th percentile of past runs, else its prompt and a long answer.

    Raises `PriceUnknown` if a budget is in US dollars and neither past runs nor the model have a price.
    """
    units = {each.budget.unit for each in budgets}
    if units == {BudgetUnit.RUNS}:
        return Estimate()
    past = await context.store.past_runs(due.job.id)
    if past.tokens is None or (BudgetUnit.USD in units and past.usd is None):
        session = await context.store.session_by_id(due.job.session_id)
        return first_estimate(
            context.settings, due.job.action, past, session.live.tokens, priced=BudgetUnit.USD in units
        )
    return Estimate(usd_micros=ceil(past.usd.p95 * MICROS) if past.usd else 0, tokens=ceil(past.tokens.p95))


def first_estimate(
    settings: Settings, action: Action, past: PastRuns, context_tokens: int, *, priced: bool
) -> Estimate:
    """The estimate for a job whose past runs do not tell. Raises `PriceUnknown`."""
    tokens_in = estimate(action.prompt if isinstance(action, Ask) else "") + context_tokens
    tokens = ceil(past.tokens.p95) if past.tokens else tokens_in + OUTPUT_TOKENS
    if past.usd is not None:
        return Estimate(usd_micros=ceil(past.usd.p95 * MICROS), tokens=tokens)
    if not priced:
        return Estimate(tokens=tokens)
    dollars = price_of(settings, action, tokens_in)
    return Estimate(usd_micros=ceil(dollars * MICROS), tokens=tokens)


def price_of(settings: Settings, action: Action, tokens_in: int = 0) -> float:
    """What a run with so many tokens of prompt costs at most. Raises `PriceUnknown`."""
    name = getattr(action, "model", None)
    price, model = settings.price_of(name), settings.full_model(name)
    cost = price.cost(input_tokens=tokens_in, output_tokens=OUTPUT_TOKENS) if price else None
    if cost is None:
        raise PriceUnknown(
            f"a budget in US dollars needs the price of its model, and that of {model or 'this agent'} is "
            "not known; give its price (SEGUE_PRICES), or a budget in tokens or runs"
        )
    return cost


def _zone(due: DueJob, settings: Settings) -> str:
    return due.session_zone or settings.timezone or "UTC"
