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


@pytest.mark.parametrize(
    ("trigger", "error"),
    [
        pytest.param(lambda: Cron("0 9 31 2 *", tz="UTC"), BadTrigger, id="31 February"),
        pytest.param(lambda: Cron("0 9 31 4,6,9,11 *", tz="UTC"), BadTrigger, id="the 31st of short months"),
        pytest.param(lambda: Cron("61 * * * *", tz="UTC"), BadTrigger, id="minute 61"),
        pytest.param(lambda: Cron("* * *", tz="UTC"), BadTrigger, id="three fields"),
        pytest.param(lambda: Cron("", tz="UTC"), BadTrigger, id="no line"),
        pytest.param(lambda: Cron("0 9 * * *", tz="Middle/Earth"), BadTrigger, id="no such zone"),
        pytest.param(lambda: Cron("0 9 * * *"), ZoneNeeded, id="a cron line without a zone"),
        pytest.param(lambda: Cron(MILLION, tz="UTC"), BadTrigger, id="a line of a million characters"),
        pytest.param(lambda: Every(0), BadTrigger, id="every 0 s"),
        pytest.param(lambda: Every(-60), BadTrigger, id="every -60 s"),
        pytest.param(lambda: Every(math.nan), BadTrigger, id="every NaN"),
        pytest.param(lambda: Every(math.inf), BadTrigger, id="every infinity"),
        pytest.param(lambda: Every(10**400), BadTrigger, id="every 10^400 s"),
        pytest.param(lambda: Every(True), BadTrigger, id="every True"),
        pytest.param(lambda: Idle(0), BadTrigger, id="idle 0 s"),
        pytest.param(lambda: Idle(timedelta(days=-1)), BadTrigger, id="idle a negative day"),
        pytest.param(lambda: At(datetime(9999, 12, 31, tzinfo=UTC)), BadTrigger, id="the year 9999"),
        pytest.param(
            lambda: Every(3600, start=datetime(9999, 1, 1, tzinfo=UTC)), BadTrigger, id="from 9999 on"
        ),
        pytest.param(lambda: At(NAIVE), BadTrigger, id="a naive moment"),
        pytest.param(lambda: At("tomorrow at 08:00"), ZoneNeeded, id="words without a zone"),
        pytest.param(lambda: At("2030-01-01T09:00:00"), ZoneNeeded, id="a naive text"),
        pytest.param(lambda: At(datetime(2020, 1, 1, tzinfo=UTC)), BadTrigger, id="the past"),
        pytest.param(lambda: At("when pigs fly"), BadTime, id="unreadable words"),
        pytest.param(lambda: At("in 1 hour\x00"), Invalid, id="words with a NUL"),
        pytest.param(lambda: At(MILLION), Invalid, id="a million words"),
    ],
)
async def test_a_schedule_that_makes_no_sense(
    kernel: Kernel, trigger: Callable[[], Any], error: type[SegueError]
) -> None:
    before = await count_rows(kernel)
    with pytest.raises(error) as refused:
        await kernel.schedule(CHAT, trigger(), Ask("Look."))
    _sentence(refused.value)
    assert await count_rows(kernel) == before


@pytest.mark.parametrize(
    "action",
    [
        pytest.param(lambda: Ask(""), id="nothing asked"),
        pytest.param(lambda: Ask(" \n\t"), id="blanks asked"),
        pytest.param(lambda: Ask("a\x00b"), id="a NUL asked"),
        pytest.param(lambda: Ask("a\ud800b"), id="a lone surrogate asked"),
        pytest.param(lambda: Ask(MILLION), id="a million characters asked"),
        pytest.param(lambda: Ask(42), id="a number asked"),  # type: ignore[arg-type]
        pytest.param(lambda: Say(""), id="nothing said"),
        pytest.param(lambda: Say("a\udfffb"), id="a lone surrogate said"),
        pytest.param(lambda: Say(MILLION), id="a million characters said"),
        pytest.param(lambda: Call("not a name"), id="a function without a name"),
        pytest.param(lambda: Call("known", {"x": "\ud800"}), id="a lone surrogate as an argument"),
        pytest.param(lambda: Call("known", {"x": MILLION}), id="a million characters as an argument"),
        pytest.param(lambda: Call("known", {"x": object()}), id="an argument that is no JSON"),
        pytest.param(lambda: Call("known", {"x": math.nan}), id="NaN as an argument"),
        pytest.param(lambda: Call("unknown"), id="an unregistered function"),
    ],
)
async def test_an_action_that_makes_no_sense(open_kernel: OpenKernel, action: Callable[[], Any]) -> None:
    async def known(turn: OpenTurn) -> None: ...

    kernel = await open_kernel(functions={"known": known})
    before = await count_rows(kernel)
    with pytest.raises(Invalid) as refused:
        await kernel.schedule(CHAT, Every(60), action())
    _sentence(refused.value)
    assert await count_rows(kernel) == before


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"name": MILLION}, id="a name of a million characters"),
        pytest.param({"name": "a\x00b"}, id="a NUL in the name"),
        pytest.param({"name": "a\ud800"}, id="a lone surrogate in the name"),
        pytest.param({"name": "   "}, id="a blank name"),
        pytest.param({"job_id": ""}, id="an empty id"),
        pytest.param({"job_id": "a\x00b"}, id="a NUL in the id"),
        pytest.param({"job_id": MILLION}, id="an id of a million characters"),
    ],
)
async def test_a_name_or_id_that_makes_no_sense(kernel: Kernel, options: dict[str, Any]) -> None:
    before = await count_rows(kernel)
    with pytest.raises(BadText) as refused:
        await kernel.schedule(CHAT, Every(60), Ask("Look."), **options)
    _sentence(refused.value)
    assert await count_rows(kernel) == before


KEYS = ["", "web", "web:", ":1", "web:a b", "web:a/b", "web:\x00", "web:\ud800", "web:" + MILLION, "we\nb:1"]


@pytest.mark.parametrize("key", KEYS, ids=[ascii(key[:12]) for key in KEYS])
async def test_a_key_that_makes_no_sense(kernel: Kernel, key: str) -> None:
    before = await count_rows(kernel)
    verbs: list[Callable[[], Any]] = [
        lambda: kernel.receive(key, "Hello"),
        lambda: kernel.log.write(key, "user", "Hello"),
        lambda: kernel.schedule(key, Every(60), Ask("Look.")),
        lambda: kernel.sessions.get(key),
        lambda: kernel.sessions.delete(key),
    ]
    for verb in verbs:
        with pytest.raises(BadKey) as refused:
            await verb()
        _sentence(refused.value)
    assert await count_rows(kernel) == before


@pytest.mark.parametrize(
    "text", ["", "  ", "a\x00b", "a\ud800b", MILLION], ids=["", "blank", "NUL", "lone", "long"]
)
async def test_a_message_that_makes_no_sense(kernel: Kernel, text: str) -> None:
    before = await count_rows(kernel)
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


@pytest.mark.parametrize(
    "edit",
    [
        {"name": "a\x00b"},
        {"name": ""},
        {"trigger": At(datetime(2020, 1, 1, tzinfo=UTC))},
        {"trigger": At("tomorrow at 08:00")},
        {"trigger": Cron("0 9 * * *")},
        {"policy": Policy(until=datetime(2020, 1, 1, tzinfo=UTC))},
    ],
    ids=["NUL", "no name", "past", "no zone", "no zone for cron", "over"],
)
async def test_an_edit_that_makes_no_sense_changes_nothing(kernel: Kernel, edit: dict[str, Any]) -> None:
    job = await kernel.schedule(CHAT, Every(60), Ask("Look."))
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
