"""Forecasts: gathers the jobs of a session and their past runs, and plays them (`model.cost.forecast`)."""

from datetime import timedelta

from segue.errors import BadTime
from segue.kernel.api.context import ApiContext
from segue.model.cost.forecast import MOST_DAYS, Forecast, forecast
from segue.model.records import NEWEST, Job, Session
from segue.model.states import JobState
from segue.times.clock import to_moment

_PAGE = 500


async def forecast_session(context: ApiContext, session: Session, days: int) -> Forecast:
    if isinstance(days, bool) or not isinstance(days, int) or not 1 <= days <= MOST_DAYS:
        raise BadTime(f"a forecast is for 1 to {MOST_DAYS} days, got {days!r}")
    jobs = await _active_jobs(context, session)
    now = to_moment(context.clock.ms())
    heard = session.last_message_at
    return forecast(
        jobs,
        now,
        now + timedelta(days=days),
        past={job.id: await context.store.past_runs(job.id) for job in jobs},
        last_message_at=None if heard is None else to_moment(heard),
    )


async def _active_jobs(context: ApiContext, session: Session) -> list[Job]:
    found: list[Job] = []
    before = NEWEST
    while True:
        page = await context.store.jobs(session.id, kind=None, limit=_PAGE, before=before, ended=False)
        found += [job for job in page if job.state is JobState.ACTIVE and not job.policy.unreadable]
        if len(page) < _PAGE:
            return found
        before = page[-1].page_start
