"""Usage by day and job: sums what the runs and the users' turns of a session used, by days of a zone."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from math import fsum
from typing import Any
from zoneinfo import ZoneInfo

from segue.model.cost.usage import run_usage
from segue.model.states import Outcome
from segue.record import positional, record
from segue.times.clock import to_ms

MOST_USAGE_DAYS = 366

_FAILED = {Outcome.ERROR, Outcome.INTERRUPTED}
_PASSED = {Outcome.SKIPPED, Outcome.CANCELLED}


@positional
class Used:
    """One run of a job, or one turn of a user."""

    at: int
    """Its slot, or when the user's message arrived."""
    job_id: str | None
    """None for a user's turn."""
    name: str | None
    """None if the job is gone."""
    outcome: Outcome | None
    slots: int
    """How many moments of the job it stands for that did not run."""
    started_at: int | None
    """None if no turn was started for it."""
    usage: Mapping[str, Any]


@record
class UsageSum:
    runs: int = 0
    """Runs of jobs, or turns of users, that were started or sent, also those under way."""
    failed: int = 0
    skipped: int = 0
    """Moments that did not run: skipped or cancelled."""
    missed: int = 0
    latest_ms: int = 0
    """The longest time from a slot to its start."""
    input_tokens: int = 0
    """All tokens of the prompts, those of the provider's cache included."""
    cache_read_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    """The sum of the known prices; None if none is known."""
    without_price: int = 0
    """Runs that are not in `cost_usd`: they used tokens whose price is not known."""

    def plus(self, other: "UsageSum") -> "UsageSum":
        costs = [cost for cost in (self.cost_usd, other.cost_usd) if cost is not None]
        return UsageSum(
            runs=self.runs + other.runs,
            failed=self.failed + other.failed,
            skipped=self.skipped + other.skipped,
            missed=self.missed + other.missed,
            latest_ms=max(self.latest_ms, other.latest_ms),
            input_tokens=self.input_tokens + other.input_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost_usd=fsum(costs) if costs else None,
            without_price=self.without_price + other.without_price,
        )


@positional
class UsageDay:
    day: date
    jobs: Mapping[str | None, UsageSum]
    """By job id; None stands for the users' own turns. Only those that did something."""

    @property
    def total(self) -> UsageSum:
        return _total(self.jobs.values())


@record
class SessionUsage:
    start: datetime
    end: datetime
    zone: str
    days: Sequence[UsageDay]
    """All days, the oldest first."""
    names: Mapping[str, str | None]
    """Of the jobs that are in `days`; None for a job that is gone."""

    @property
    def jobs(self) -> Mapping[str | None, UsageSum]:
        ids = {job_id: None for day in self.days for job_id in day.jobs}
        return {job_id: _total(day.jobs[job_id] for day in self.days if job_id in day.jobs) for job_id in ids}

    @property
    def total(self) -> UsageSum:
        return _total(day.total for day in self.days)


def usage_start(now: datetime, days: int, zone: str) -> datetime:
    """The beginning of the first day, so that today is the last of them."""
    first = now.astimezone(ZoneInfo(zone)).date() - timedelta(days=days - 1)
    return datetime.combine(first, time(), ZoneInfo(zone))


def usage_by_day(found: Iterable[Used], start: datetime, now: datetime, zone: str) -> SessionUsage:
    """Sum what was used from `start` on, which is the beginning of a day in the zone."""
    count = (now.astimezone(ZoneInfo(zone)).date() - start.date()).days + 1
    dates = [start.date() + timedelta(days=number) for number in range(count)]
    begins = [to_ms(datetime.combine(day, time(), ZoneInfo(zone))) for day in dates]
    days: list[dict[str | None, list[Used]]] = [{} for _ in dates]
    names: dict[str, str | None] = {}
    for used in found:
        if used.at < begins[0]:
            continue
        days[bisect_right(begins, used.at) - 1].setdefault(used.job_id, []).append(used)
        if used.job_id is not None:
            names[used.job_id] = used.name
    summed = [{job_id: _sum(each) for job_id, each in jobs.items()} for jobs in days]
    return SessionUsage(
        start=start,
        end=now,
        zone=zone,
        days=[UsageDay(*each) for each in zip(dates, summed, strict=True)],
        names=names,
    )


def _sum(found: Sequence[Used]) -> UsageSum:
    ran = [used for used in found if not _passed(used)]
    usages = [usage for used in ran if (usage := run_usage(used.usage)) is not None]
    costs = [usage.cost_usd for usage in usages if usage.cost_usd is not None]
    late = (used.started_at - used.at for used in ran if used.started_at is not None and used.job_id)
    return UsageSum(
        runs=len(ran),
        failed=sum(used.outcome in _FAILED for used in ran),
        skipped=sum(1 + used.slots for used in found if _passed(used) and used.outcome in _PASSED),
        missed=sum(max(1, used.slots) for used in found if used.outcome is Outcome.MISSED),
        latest_ms=max(0, *late, 0),
        input_tokens=sum(usage.input_tokens for usage in usages),
        cache_read_tokens=sum(usage.cache_read_tokens for usage in usages),
        output_tokens=sum(usage.output_tokens for usage in usages),
        cost_usd=fsum(costs) if costs else None,
        without_price=sum(usage.cost_usd is None and usage.tokens > 0 for usage in usages),
    )


def _passed(used: Used) -> bool:
    """Whether it is the record of moments that did not run."""
    return used.outcome is Outcome.MISSED or (used.outcome in _PASSED and used.started_at is None)


def _total(sums: Iterable[UsageSum]) -> UsageSum:
    total = UsageSum()
    for each in sums:
        total = total.plus(each)
    return total
