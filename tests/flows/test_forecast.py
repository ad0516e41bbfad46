"""Forecasts: what a forecast says of a month is what then happens, slot for slot.

The short form has 33 random sessions, the long one (`SEGUE_LONG=1`) has 1,000: with day sets, changes of the
clocks, recurrence rules, snoozes, budgets of jobs and of the session in runs and in tokens, written messages,
and jobs whose runs depend on the conversation.
"""

import os
import random
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

import pytest

from segue import Ask, At, Budget, Cron, Every, Job, Kernel, OpenTurn, Policy, Say, Usage
from segue.errors import BadSetting, BadTrigger
from segue.model.cost.forecast import Forecast, ForecastVerdict
from segue.model.records import message_id
from segue.model.states import Outcome
from segue.store.migrate import migrate
from segue.testing import ManualClock
from segue.testing.inline_sqlite import InlineSqlite
from segue.times.clock import to_moment, to_ms
from segue.times.trigger import Phase, RRule
from tests.flows.story import CHAT, slots

LONG = os.environ.get("SEGUE_LONG") == "1"
SEEDS = range(1_000) if LONG else (*range(30), 133, 273, 664)
"""In the three last ones overdue jobs wait for the end of quiet hours."""
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Shanghai", "Asia/Kathmandu")
RULES = (
    "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO",
    "FREQ=WEEKLY;BYDAY=SA,SU",
    "FREQ=MONTHLY;BYDAY=-1FR",
    "FREQ=DAILY;INTERVAL=3;COUNT=5",
)
USED = Usage({"requests": 1, "input_tokens": 90, "output_tokens": 10})
CONDITION = {"if": "unanswered", "since": "last_run"}
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
            return RRule(rng.choice(RULES), f"{now:%Y-%m-%d}T{hour:02}:{minute:02}", tz=zone)
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


def any_quiet(rng: random.Random) -> dict[str, Any]:
    start, length = rng.randrange(24), rng.randrange(1, 24)
    days = rng.choice(("all", "weekdays", ["fri", "sat"]))
    return {
        "from": f"{start:02}:{rng.choice(('00', '30'))}",
        "to": f"{(start + length) % 24:02}:00",
        "days": days,
    }


def any_policy(rng: random.Random, now: datetime, *, conditions: bool) -> Policy:
    given: dict[str, Any] = {
        "late": rng.choice(("run_once", "skip", "all")),
        "busy": rng.choice(("wait", "postpone", "skip")),
        "overlap": rng.choice(("buffer_one", "skip", "buffer_all")),
    }
    if rng.random() < 0.3:
        given["jitter_seconds"] = rng.randrange(1, 3_600)
    if rng.random() < 0.2:
        given["quiet"] = rng.choice(("defer", "skip", "hold", "through"))
    if rng.random() < 0.2:
        given["until"] = now + timedelta(days=rng.randrange(2, 28))
    if conditions and rng.random() < 0.3:
        given |= {"when": [CONDITION], "otherwise": rng.choice(("skip", "end"))}
        return Policy(**given)
    if rng.random() < 0.2:
        given["max_runs"] = rng.randrange(1, 20)
    if rng.random() < 0.3:
        given["budget"] = any_budget(rng, "runs", 12)
    return Policy(**given)


def any_budget(rng: random.Random, unit: str, most: int) -> Budget:
    per, over = rng.choice(("day", "week", "month")), rng.choice(("skip", "ask", "pause"))
    return Budget.from_json({unit: rng.randrange(1, most), "per": per, "over": over})


async def play(kernel: Kernel, clock: ManualClock, until: datetime) -> None:
    """What happens until a moment, if runs take no time, as those of a job without a past are expected to."""
    while (soonest := await kernel.store.next_due()) is not None and soonest <= to_ms(until):
        clock.set(max(clock.now(), to_moment(soonest)))
        await kernel.workers.timer.step()
        while await kernel.workers.runner.step():
            pass
    clock.set(until)


Passed: TypeAlias = list[tuple[str, int, str, int]]
"""Slots by job and moment, with what became of them and how many they stand for."""


def foretold(forecast: Forecast) -> Passed:
    return sorted(
        (
            each.job_id,
            to_ms(each.slot),
            "ran" if each.verdict is ForecastVerdict.RUN else str(each.verdict),
            each.count,
        )
        for each in forecast.slots
        if each.verdict is not ForecastVerdict.DAY_OFF
    )


async def happened(kernel: Kernel, jobs: list[Job]) -> Passed:
    passed = []
    for job in jobs:
        for run in await slots(kernel, job):
            passed_over = run.outcome in (Outcome.SKIPPED, Outcome.MISSED)
            count = run.missed_count + (run.outcome is Outcome.SKIPPED) if passed_over else 1
            passed.append((job.id, run.slot, str(run.outcome) if passed_over else "ran", count))
    return sorted(passed)


async def answer(turn: OpenTurn) -> AsyncIterator[Any]:
    yield "ok"
    yield USED


async def live(kernel: Kernel, clock: ManualClock, rng: random.Random, jobs: list[Job]) -> None:
    """Three days pass, so that jobs have a past. Then some are snoozed, and some get a budget in tokens."""
    await play(kernel, clock, clock.now() + timedelta(days=3))
    for job in jobs:
        runs, now = await slots(kernel, job), await kernel.jobs.get(job.id)
        if not runs or runs[-1].outcome != Outcome.OK or job.policy.when:
            continue
        session = await kernel.sessions.get(CHAT)
        said = [each for each in await kernel.messages(CHAT, limit=1000) if each.source]
        newest = next((each for each in reversed(said) if each.source and each.source.job_id == job.id), None)
        if newest is not None and rng.random() < 0.3:
            await kernel.replies.take(CHAT, "snooze 2h", reply_to=message_id(session.id, newest.seq))
        elif now.state == "active" and rng.random() < 0.3:
            policy = replace(now.policy, budget=any_budget(rng, "tokens", 2_000))
            await kernel.jobs.update(job.id, policy=policy)


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_forecast_of_a_month_is_what_then_happens(seed: int) -> None:
    rng = random.Random(seed)
    start = rng.choice(STARTS)
    clock = ManualClock(start)
    database = InlineSqlite.open()
    await migrate(database)
    async with Kernel(database, agent=answer, clock=clock, rng=rng) as kernel:
        await kernel.sessions.open(CHAT, timezone=rng.choice(ZONES))
        limited = rng.random() < 0.3  # else runs that depend on the conversation would change it
        jobs = []
        for n in range(rng.randrange(1, 6)):
            with suppress(BadTrigger):  # its first slot lies after its `until`
                trigger, policy = any_trigger(rng, start), any_policy(rng, start, conditions=not limited)
                action = Say("Drink.") if rng.random() < 0.1 and not policy.when else Ask("?")
                jobs.append(await kernel.schedule(CHAT, trigger, action, policy=policy, job_id=f"job-{n}"))
        await kernel.sessions.open(CHAT)
        if rng.random() < 0.7:
            with suppress(BadSetting):  # it is longer than 23 hours, or empty
                zone = rng.choice(ZONES)
                await kernel.sessions.update(CHAT, quiet=any_quiet(rng), timezone=zone)
        if rng.random() < 0.5:
            await live(kernel, clock, rng, jobs)
        else:
            clock.advance(hours=rng.choice((0, 0, 30)))  # some are overdue: no worker ran
        if limited:
            await kernel.sessions.update(CHAT, budget=any_budget(rng, "runs", 40))
        forecast = await kernel.jobs.forecast(CHAT)
        before = set(await happened(kernel, jobs))
        await play(kernel, clock, forecast.end)
        depend = {job.id for job in jobs if job.policy.when}
        said, done = foretold(forecast), [each for each in await happened(kernel, jobs) if each not in before]
        assert [each for each in said if each[0] not in depend] == [
            each for each in done if each[0] not in depend
        ]
        open_slots = {each[:2]: each[2] for each in said if each[0] in depend}
        assert "ran" not in open_slots.values(), "what depends is not said to run"
        assert {each[:2] for each in done if each[0] in depend} <= open_slots.keys()
    await database.close()
