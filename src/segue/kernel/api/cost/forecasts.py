"""Forecasts: gathers the jobs of a session and their past runs, and plays them (`model.cost.forecast`).

A preview is what a new job would be: its next runs, and the tokens of its prompt and context now.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from segue.errors import BadTime
from segue.kernel.api.context import ApiContext
from segue.kernel.api.cost.budgets import budget_of, estimate_without_past, used_now, warnings, zone_of
from segue.kernel.api.quiet import speaking_hours
from segue.memory.model_context import assemble
from segue.memory.ranked_search import memory_query
from segue.model.action import Ask
from segue.model.cost.budget import Budget, Scope
from segue.model.cost.forecast import MOST_DAYS, Forecast, forecast
from segue.model.cost.played_budgets import PlayedBudget
from segue.model.prompts import PromptFacts, render, template_for
from segue.model.records import NEWEST, Job, Session
from segue.model.schedule import upcoming
from segue.model.schedule import zone_of as zone_of_trigger
from segue.model.states import JobState
from segue.model.tokens import estimate
from segue.record import record
from segue.times.clock import to_moment

_PAGE = 500
_NEXT = 5


async def forecast_session(context: ApiContext, session: Session, days: int) -> Forecast:
    if not 1 <= days <= MOST_DAYS:
        raise BadTime(f"a forecast is for 1 to {MOST_DAYS} days, got {days!r}")
    found = await all_jobs(context, session)
    jobs = [job for job in found if job.state is JobState.ACTIVE and not job.policy.unreadable]
    own = await budget_of(context, session)
    now = to_moment(context.clock.ms())
    heard = session.last_message_at
    past = {job.id: await context.store.past_runs(job.id) for job in jobs}
    return forecast(
        jobs,
        now,
        now + timedelta(days=days),
        past=past,
        last_message_at=None if heard is None else to_moment(heard),
        budgets={
            job.id: await _played(context, session, Scope.JOB, job.id, job.policy.budget)
            for job in jobs
            if job.policy.budget is not None
        },
        of_session=await _played(context, session, Scope.SESSION, session.id, own) if own else None,
        hours=speaking_hours(context, await context.lane_of(session)),
        first={job.id: estimate_without_past(context, job, past[job.id], session) for job in jobs},
    )


async def all_jobs(context: ApiContext, session: Session) -> list[Job]:
    """The active and paused jobs of a session."""
    found: list[Job] = []
    before = NEWEST
    while True:
        page = await context.store.jobs(session.id, kind=None, limit=_PAGE, before=before, ended=False)
        found += page
        if len(page) < _PAGE:
            return found
        before = page[-1].page_start


async def _played(
    context: ApiContext, session: Session, scope: Scope, scope_id: str, budget: Budget
) -> PlayedBudget:
    spent = await used_now(context, session, scope, scope_id, budget)
    return PlayedBudget(budget, spent.total, zone_of(context, session))


@record
class Preview:
    """What a job would be if it were made now."""

    job: Job
    message: str
    next: Sequence[datetime]
    prompt_tokens: int
    """An estimate for the prompt of a run."""
    context_tokens: int
    """An estimate for what the model is given of the session now."""
    warnings: Sequence[str] = ()


async def preview(context: ApiContext, session: Session | None, job: Job) -> Preview:
    action = job.action
    message = getattr(action, "prompt", getattr(action, "text", None)) or job.name
    tokens = 0
    if session is not None and isinstance(action, Ask):
        asked = memory_query(message, context.clock.ms(), context.zone_in(session))
        given = await assemble(context.memory, session, asked=asked, view=action.view)
        tokens = given.summary_tokens + given.memory_tokens + given.message_tokens
    return Preview(
        job=job,
        message=message,
        next=upcoming(job, _NEXT),
        prompt_tokens=estimate(_prompt(job, message, context.zone_in(session) or "UTC")),
        context_tokens=tokens,
        warnings=warnings(context, job, tokens),
    )


def _prompt(job: Job, message: str, zone: str) -> str:
    """The prompt of the next run, as it would be rendered."""
    if not isinstance(job.action, Ask) or job.slot is None:
        return message
    template = template_for(job.kind, job.action.mode)
    facts = PromptFacts(
        template=template.id,
        version=template.version,
        slot=job.slot,
        zone=zone_of_trigger(job.trigger, zone),
        mode=job.action.mode,
        to=job.action.to,
    )
    rendered = render(facts, job=job.name, message=message, now=job.slot)
    return rendered.text if rendered else message
