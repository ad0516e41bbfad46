"""Forecasts: what a forecast says of a month is what then happens, slot for slot."""

import os
import random
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from segue import Ask, At, Cron, Every, Job, Kernel, Policy
from segue.errors import BadTrigger
from segue.model.cost.forecast import Forecast, ForecastVerdict
from segue.model.states import Outcome
from segue.store.migrate import migrate
from segue.testing import ManualClock, ScriptedAgent
from segue.testing.inline_sqlite import InlineSqlite
from segue.times.clock import to_moment, to_ms
from segue.times.trigger import Phase, RRule
from tests.flows.story import CHAT, slots

LONG = os.environ.get("SEGUE_LONG") == "1"
SESSIONS = 1_000 if LONG else 30
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Shanghai", "Asia/Kathmandu")
STARTS = (datetime(2026, 10, 20, 7, 13, tzinfo=UTC), datetime(2026, 3, 1, 22, 59, 30, tzinfo=UTC))
"""Months in which clocks change."""


def any_trigger(rng: random.Random, now: datetime) -> Any:
    zone = rng.choice(ZONES)
    hour, minute = rng.randrange(24), rng.choice((0, 15, 30, 59))
    match rng.randrange(7):
        case 0:
            return At(now + timedelta(hours=rng.randrange(1, 900)))
        case 1:
            return Every(rng.choice((21_600, 30_000, 86_400, 100_001)))
        case 2:
            return Every(rng.choice((40_000, 90_000)), phase=Phase.RELATIVE)
        case 3:
            return RRule(
                f"FREQ=WEEKLY;INTERVAL={rng.randrange(1, 4)};BYDAY={rng.choice(('MO', 'FR', 'SA,SU'))}",
                f"{now:%Y-%m-%d}T{hour:02}:{minute:02}",
                tz=zone,
            )
        case 4:
            days = rng.choice(("DE", "US", "CN"))
            shift: Any = rng.choice(("none", "next", "previous"))
            return Cron(f"{minute} {hour} * * *", tz=zone, days=days, shift=shift)
        case 5:
            return Cron(f"{minute} */{rng.choice((6, 12))} * * *", tz=zone)
        case _:
            return Cron(
                f"{minute} {rng.choice((hour, 2))} * * {rng.choice(('*', '1-5', '0', '6#2'))}", tz=zone
            )


def any_policy(rng: random.Random, now: datetime) -> Policy:
    given: dict[str, Any] = {
        "late": rng.choice(("run_once", "skip", "all")),
        "busy": rng.choice(("wait", "postpone", "skip")),
        "overlap": rng.choice(("buffer_one", "skip", "buffer_all")),
    }
    if rng.random() < 0.3:
        given["jitter_seconds"] = rng.randrange(1, 3_600)
    if rng.random() < 0.2:
        given["max_runs"] = rng.randrange(1, 20)
    if rng.random() < 0.2:
        given["until"] = now + timedelta(days=rng.randrange(2, 28))
    return Policy(**given)


async def play(kernel: Kernel, clock: ManualClock, until: datetime) -> None:
    """What happens until a moment, if runs take no time, as those of a job without a past are expected to."""
    while (soonest := await kernel.store.next_due()) is not None and soonest <= to_ms(until):
        clock.set(max(clock.now(), to_moment(soonest)))
        await kernel.workers.timer.step()
        while await kernel.workers.runner.step():
            pass
    clock.set(until)


def foretold(forecast: Forecast) -> list[tuple[str, int, str, int]]:
    verdicts = {ForecastVerdict.RUN: "ran", ForecastVerdict.DEPENDS: "ran"}
    return sorted(
        (each.job_id, to_ms(each.slot), verdicts.get(each.verdict, str(each.verdict)), each.count)
        for each in forecast.slots
        if each.verdict is not ForecastVerdict.DAY_OFF
    )


async def happened(kernel: Kernel, jobs: list[Job]) -> list[tuple[str, int, str, int]]:
    passed = []
    for job in jobs:
        for run in await slots(kernel, job):
            passed_over = run.outcome in (Outcome.SKIPPED, Outcome.MISSED)
            count = run.missed_count + (run.outcome is Outcome.SKIPPED) if passed_over else 1
            passed.append((job.id, run.slot, str(run.outcome) if passed_over else "ran", count))
    return sorted(passed)


@pytest.mark.parametrize("seed", range(SESSIONS))
async def test_a_forecast_of_a_month_is_what_then_happens(seed: int) -> None:
    rng = random.Random(seed)
    start = rng.choice(STARTS)
    clock = ManualClock(start)
    database = InlineSqlite.open()
    await migrate(database)
    async with Kernel(database, agent=ScriptedAgent(), clock=clock, rng=rng) as kernel:
        jobs = []
        for n in range(rng.randrange(1, 6)):
            with suppress(BadTrigger):  # its first slot lies after its `until`
                trigger, policy = any_trigger(rng, start), any_policy(rng, start)
                jobs.append(await kernel.schedule(CHAT, trigger, Ask("?"), policy=policy, job_id=f"job-{n}"))
        await kernel.sessions.open(CHAT)
        clock.advance(hours=rng.choice((0, 0, 0, 30)))  # some are overdue: no worker ran
        forecast = await kernel.jobs.forecast(CHAT)
        await play(kernel, clock, forecast.end)
        assert foretold(forecast) == await happened(kernel, jobs)
    await database.close()
