"""Forecast by day: how many runs of each job a forecast expects on each day of a zone."""

from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from segue.model.cost.forecast import Forecast, ForecastVerdict, slots_until
from segue.record import positional

_EXPECTED = {ForecastVerdict.RUN, ForecastVerdict.DEPENDS}


@positional
class ForecastDay:
    day: date
    jobs: Mapping[str, int]
    """The runs by job id; only jobs that run on this day."""

    @property
    def runs(self) -> int:
        return sum(self.jobs.values())


def forecast_days(found: Forecast, zone: str) -> list[ForecastDay]:
    """All days of a forecast, the first and the last in part. Their runs are those of its jobs."""
    tz = ZoneInfo(zone)
    first, last = found.start.astimezone(tz).date(), found.end.astimezone(tz).date()
    days: dict[date, dict[str, int]] = {
        first + timedelta(days=number): {} for number in range((last - first).days + 1)
    }
    if found.listed:
        for slot in found.slots:
            if slot.verdict in _EXPECTED:
                jobs = days[max(first, slot.slot.astimezone(tz).date())]  # one that is overdue runs now
                jobs[slot.job_id] = jobs.get(slot.job_id, 0) + 1
    else:
        before: Mapping[str, int] = {}
        for day, jobs in days.items():
            until = _counted(found, datetime.combine(day, time.max, tz))
            jobs |= _added(before, until)
            before = until
    return [ForecastDay(*each) for each in days.items()]


def _added(before: Mapping[str, int], now: Mapping[str, int]) -> dict[str, int]:
    return {
        job_id: count - before.get(job_id, 0)
        for job_id, count in now.items()
        if count > before.get(job_id, 0)
    }


def _counted(found: Forecast, until: datetime) -> dict[str, int]:
    """The runs of each job by its schedule alone, as a forecast of very many slots counts them."""
    return {each.job.id: slots_until(each.job, min(until, found.end)) for each in found.jobs}
