"""Invalid input is refused with a typed error and a sentence, and nothing of it is stored."""

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from segue import Ask, At, Call, Cron, Every, Idle, Kernel, OpenTurn, Policy, Say, Settings
from segue.errors import (
    BadKey,
    BadPolicy,
    BadSetting,
    BadText,
    BadTime,
    BadTrigger,
    DuplicateId,
    Invalid,
    SegueError,
    ZoneNeeded,
)
from segue.testing import ManualClock
from tests.flows.house import OpenKernel
from tests.flows.story import CHAT, count_rows

MILLION = "x" * 1_000_000
NAIVE = datetime(2030, 1, 1, 9)  # noqa: DTZ001


def _sentence(error: SegueError) -> None:
    words = str(error)
    assert len(words.split()) >= 4, f"not a sentence: {words!r}"
    assert len(words) < 1000, "an error must not repeat a million characters"


NO_SCHEDULES: dict[str, tuple[Callable[[], Any], type[SegueError]]] = {
    "31 February": (lambda: Cron("0 9 31 2 *", tz="UTC"), BadTrigger),
    "the 31st of short months": (lambda: Cron("0 9 31 4,6,9,11 *", tz="UTC"), BadTrigger),
    "minute 61": (lambda: Cron("61 * * * *", tz="UTC"), BadTrigger),
    "three fields": (lambda: Cron("* * *", tz="UTC"), BadTrigger),
    "no line": (lambda: Cron("", tz="UTC"), BadTrigger),
    "no such zone": (lambda: Cron("0 9 * * *", tz="Middle/Earth"), BadTrigger),
    "a cron line without a zone": (lambda: Cron("0 9 * * *"), ZoneNeeded),
    "a line of a million characters": (lambda: Cron(MILLION, tz="UTC"), BadTrigger),
    "every 0 s": (lambda: Every(0), BadTrigger),
    "every -60 s": (lambda: Every(-60), BadTrigger),
    "every NaN": (lambda: Every(math.nan), BadTrigger),
    "every infinity": (lambda: Every(math.inf), BadTrigger),
    "every 10^400 s": (lambda: Every(10**400), BadTrigger),
    "every True": (lambda: Every(True), BadTrigger),
    "idle 0 s": (lambda: Idle(0), BadTrigger),
    "idle a negative day": (lambda: Idle(timedelta(days=-1)), BadTrigger),
    "the year 9999": (lambda: At(datetime(9999, 12, 31, tzinfo=UTC)), BadTrigger),
    "from 9999 on": (lambda: Every(3600, start=datetime(9999, 1, 1, tzinfo=UTC)), BadTrigger),
    "a naive moment": (lambda: At(NAIVE), BadTrigger),
    "words without a zone": (lambda: At("tomorrow at 08:00"), ZoneNeeded),
    "a naive text": (lambda: At("2030-01-01T09:00:00"), ZoneNeeded),
    "the past": (lambda: At(datetime(2020, 1, 1, tzinfo=UTC)), BadTrigger),
    "unreadable words": (lambda: At("when pigs fly"), BadTime),
    "words with a NUL": (lambda: At("in 1 hour\x00"), Invalid),
    "a million words": (lambda: At(MILLION), Invalid),
}


async def test_a_schedule_that_makes_no_sense(kernel: Kernel, subtests: pytest.Subtests) -> None:
    before = await count_rows(kernel)
    for case, (trigger, error) in NO_SCHEDULES.items():
        with subtests.test(case):
            with pytest.raises(error) as refused:
                await kernel.schedule(CHAT, trigger(), Ask("Look."))
            _sentence(refused.value)
            assert await count_rows(kernel) == before


NO_ACTIONS: dict[str, Callable[[], Any]] = {
    "nothing asked": lambda: Ask(""),
    "blanks asked": lambda: Ask(" \n\t"),
    "a NUL asked": lambda: Ask("a\x00b"),
    "a lone surrogate asked": lambda: Ask("a\ud800b"),
    "a million characters asked": lambda: Ask(MILLION),
    "a number asked": lambda: Ask(42),  # type: ignore[arg-type]
    "nothing said": lambda: Say(""),
    "a lone surrogate said": lambda: Say("a\udfffb"),
    "a million characters said": lambda: Say(MILLION),
    "a function without a name": lambda: Call("not a name"),
    "a lone surrogate as an argument": lambda: Call("known", {"x": "\ud800"}),
    "a million characters as an argument": lambda: Call("known", {"x": MILLION}),
    "an argument that is no JSON": lambda: Call("known", {"x": object()}),
    "NaN as an argument": lambda: Call("known", {"x": math.nan}),
    "an unregistered function": lambda: Call("unknown"),
}


async def test_an_action_that_makes_no_sense(open_kernel: OpenKernel, subtests: pytest.Subtests) -> None:
    async def known(turn: OpenTurn) -> None: ...

    kernel = await open_kernel(functions={"known": known})
    before = await count_rows(kernel)
    for case, action in NO_ACTIONS.items():
        with subtests.test(case):
            with pytest.raises(Invalid) as refused:
                await kernel.schedule(CHAT, Every(60), action())
            _sentence(refused.value)
            assert await count_rows(kernel) == before


NO_NAMES: dict[str, dict[str, Any]] = {
    "a name of a million characters": {"name": MILLION},
    "a NUL in the name": {"name": "a\x00b"},
    "a lone surrogate in the name": {"name": "a\ud800"},
    "a blank name": {"name": "   "},
    "an empty id": {"job_id": ""},
    "a NUL in the id": {"job_id": "a\x00b"},
    "an id of a million characters": {"job_id": MILLION},
}


async def test_a_name_or_id_that_makes_no_sense(kernel: Kernel, subtests: pytest.Subtests) -> None:
    before = await count_rows(kernel)
    for case, options in NO_NAMES.items():
        with subtests.test(case):
            with pytest.raises(BadText) as refused:
                await kernel.schedule(CHAT, Every(60), Ask("Look."), **options)
            _sentence(refused.value)
            assert await count_rows(kernel) == before


KEYS = ["", "web", "web:", ":1", "web:a b", "web:a/b", "web:\x00", "web:\ud800", "web:" + MILLION, "we\nb:1"]


async def test_a_key_that_makes_no_sense(kernel: Kernel, subtests: pytest.Subtests) -> None:
    before = await count_rows(kernel)
    verbs: list[Callable[[str], Any]] = [
        lambda key: kernel.receive(key, "Hello"),
        lambda key: kernel.log.write(key, "user", "Hello"),
        lambda key: kernel.schedule(key, Every(60), Ask("Look.")),
        kernel.sessions.get,
        kernel.sessions.delete,
    ]
    for key in KEYS:
        with subtests.test(ascii(key[:12])):
            for verb in verbs:
                with pytest.raises(BadKey) as refused:
                    await verb(key)
                _sentence(refused.value)
            assert await count_rows(kernel) == before


NO_MESSAGES = {
    "": "",
    "blank": "  ",
    "NUL": "a\x00b",
    "lone": "a\ud800b",
    "long": MILLION,
}


async def test_a_message_that_makes_no_sense(kernel: Kernel, subtests: pytest.Subtests) -> None:
    before = await count_rows(kernel)
    for case, text in NO_MESSAGES.items():
        with subtests.test(case):
            for verb in (kernel.receive(CHAT, text), kernel.log.write(CHAT, "user", text)):
                with pytest.raises(BadText) as refused:
                    await verb
                _sentence(refused.value)
            assert await count_rows(kernel) == before


@pytest.mark.parametrize(
    "fields",
    [
        {"late": "never"},
        {"busy": "panic"},
        {"overlap": ""},
        {"crash": None},
        {"retries": -1},
        {"retries": 1.5},
        {"grace_seconds": 0},
        {"grace_seconds": math.nan},
        {"jitter_seconds": -1},
        {"max_runs": 0},
        {"timeout_seconds": 0},
        {"timeout_seconds": math.inf},
        {"catch_up": 10**9},
        {"until": NAIVE},
        {"until": datetime(9999, 12, 31, tzinfo=UTC)},
        {"until": "soon"},
    ],
    ids=str,
)
def test_a_policy_that_makes_no_sense(fields: dict[str, Any]) -> None:
    with pytest.raises(BadPolicy) as refused:
        Policy(**fields)
    _sentence(refused.value)


async def test_a_job_whose_first_slot_lies_after_its_end(kernel: Kernel, clock: ManualClock) -> None:
    before = await count_rows(kernel)
    over = Policy(until=clock.now() + timedelta(minutes=1))
    with pytest.raises(BadTrigger) as refused:
        await kernel.schedule(CHAT, Every(3600), Ask("Look."), policy=over)
    _sentence(refused.value)
    assert await count_rows(kernel) == before


@pytest.mark.parametrize("wait", [0, 60], ids=["in the same millisecond", "later"])
async def test_an_id_that_is_taken(kernel: Kernel, clock: ManualClock, wait: int) -> None:
    first = await kernel.schedule(CHAT, Every(60), Ask("Look."), job_id="look")
    clock.advance(seconds=wait)
    before = await count_rows(kernel)
    for key, trigger in ((CHAT, Every(120)), ("web:new", Every(60))):
        with pytest.raises(DuplicateId) as refused:
            await kernel.schedule(key, trigger, Ask("Look."), job_id="look")
        _sentence(refused.value)
    assert await count_rows(kernel) == before
    assert await kernel.jobs.get("look") == first


NO_EDITS: dict[str, dict[str, Any]] = {
    "NUL": {"name": "a\x00b"},
    "no name": {"name": ""},
    "past": {"trigger": At(datetime(2020, 1, 1, tzinfo=UTC))},
    "no zone": {"trigger": At("tomorrow at 08:00")},
    "no zone for cron": {"trigger": Cron("0 9 * * *")},
    "over": {"policy": Policy(until=datetime(2020, 1, 1, tzinfo=UTC))},
}


async def test_an_edit_that_makes_no_sense_changes_nothing(kernel: Kernel, subtests: pytest.Subtests) -> None:
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."))
    for case, edit in NO_EDITS.items():
        with subtests.test(case):
            with pytest.raises(Invalid) as refused:
                await kernel.jobs.update(job.id, **edit)
            _sentence(refused.value)
            assert await kernel.jobs.get(job.id) == job


async def test_the_longest_that_is_allowed_is_stored(kernel: Kernel) -> None:
    key = "web:" + "k" * 196
    job = await kernel.schedule(key, Every(60), Ask("x" * 100_000), name="n" * 200, job_id="i" * 200)
    await kernel.log.write(key, "user", "🜂" * 100_000)
    assert await kernel.jobs.get(job.id) == job


async def test_an_edit_to_an_unknown_function_is_refused(kernel: Kernel) -> None:
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."))
    with pytest.raises(BadSetting):
        await kernel.jobs.update(job.id, action=Call("dream"))
    assert await kernel.jobs.get(job.id) == job


async def test_with_a_zone_the_same_words_make_sense(open_kernel: OpenKernel) -> None:
    kernel = await open_kernel(settings=Settings(timezone="Europe/Berlin"))
    await kernel.schedule(CHAT, At("tomorrow at 08:00"), Ask("Look."))
    await kernel.schedule(CHAT, Cron("0 9 * * *"), Ask("Look."))
    assert len(await kernel.jobs.list(CHAT, ended=True)) == 2
