"""The zone of a time on the clock: from its words, a parameter, the session or a setting, or none."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import pytest

from segue import Ask, At, Cron, Every, Kernel, Owner, Say, Settings
from segue.errors import BadSetting, ZoneNeeded
from segue.model.schedule import read_trigger
from segue.times.clock import to_moment
from tests.flows.house import OpenKernel
from tests.flows.story import CHAT, count_rows

BERLIN, TOKYO, NEW_YORK, LONDON = "Europe/Berlin", "Asia/Tokyo", "America/New_York", "Europe/London"
TOMORROW = "tomorrow at 09:00"
Order: TypeAlias = Callable[[Kernel, str, str | None], Awaitable[int | None]]


async def by_words(kernel: Kernel, words: str, zone: str | None) -> int | None:
    return (await kernel.schedule(CHAT, At(words, tz=zone), Say("Up."))).next_at


async def by_an_object(kernel: Kernel, words: str, zone: str | None) -> int | None:
    session = await kernel.store.session(Owner(), CHAT)
    zone = kernel.sessions.zone_in(session, zone)
    trigger = read_trigger({"kind": "at", "at": words}, now=to_moment(kernel.clock.ms()), zone=zone)
    return (await kernel.schedule(CHAT, trigger, Ask("Look."))).next_at


async def by_a_recall(kernel: Kernel, words: str, zone: str | None) -> int | None:
    return (await kernel.recalls.add(CHAT, "Read build.log.", when=words, timezone=zone)).trigger_at


async def by_a_message(kernel: Kernel, words: str, zone: str | None) -> int | None:
    return (await kernel.scheduled_messages.add(CHAT, words, "Up.", timezone=zone)).message.send_at


ORDERS = [by_words, by_an_object, by_a_recall, by_a_message]


def hour_of(ms: int | None) -> int:
    assert ms is not None
    return to_moment(ms).hour


@pytest.mark.parametrize("order", ORDERS)
async def test_a_time_on_the_clock_without_a_zone_is_refused_with_an_example(
    open_kernel: OpenKernel, order: Order
) -> None:
    kernel = await open_kernel()
    await kernel.sessions.open(CHAT)
    before = await count_rows(kernel)
    for words in (TOMORROW, "2030-01-02 09:00", "friday 5pm"):
        with pytest.raises(ZoneNeeded, match="needs a time zone, and none is known; write for example") as no:
            await order(kernel, words, None)
        assert no.value.code == "zone_needed"
        example = str(no.value).split('"')[1]
        assert "Europe/Berlin" in example
        read_trigger(example, now=to_moment(kernel.clock.ms()), zone=None)
    assert await count_rows(kernel) == before


@pytest.mark.parametrize("order", ORDERS)
async def test_the_words_go_before_the_parameter_the_session_and_the_setting(
    open_kernel: OpenKernel, order: Order
) -> None:
    kernel = await open_kernel(settings=Settings(timezone=LONDON))
    await kernel.sessions.open(CHAT)
    assert hour_of(await order(kernel, TOMORROW, None)) == 9  # London, in winter
    await _free(kernel)
    await kernel.sessions.update(CHAT, timezone=NEW_YORK)
    assert hour_of(await order(kernel, TOMORROW, None)) == 14
    await _free(kernel)
    assert hour_of(await order(kernel, TOMORROW, TOKYO)) == 0
    await _free(kernel)
    assert hour_of(await order(kernel, f"{TOMORROW} {BERLIN}", TOKYO)) == 8


async def _free(kernel: Kernel) -> None:
    if await kernel.recalls.get(CHAT):
        await kernel.recalls.cancel(CHAT)


@pytest.mark.parametrize("order", ORDERS)
async def test_a_relative_time_needs_no_zone(open_kernel: OpenKernel, order: Order) -> None:
    kernel = await open_kernel()
    await kernel.sessions.open(CHAT)
    assert await order(kernel, "in 2 hours", None) == kernel.clock.ms() + 7_200_000


async def test_a_cron_line_without_a_zone_is_refused_and_an_interval_is_not(open_kernel: OpenKernel) -> None:
    kernel = await open_kernel()
    with pytest.raises(ZoneNeeded, match="tz='Europe/Berlin'"):
        await kernel.schedule(CHAT, Cron("0 9 * * 1-5"), Ask("Look."))
    await kernel.schedule(CHAT, Every(1800), Ask("Look."))
    await kernel.sessions.update(CHAT, timezone=TOKYO)
    job = await kernel.schedule(CHAT, Cron("0 9 * * 1-5"), Ask("Look."))
    assert isinstance(job.trigger, Cron)
    assert job.trigger.tz == TOKYO


async def test_a_job_keeps_the_zone_that_its_words_were_read_in(open_kernel: OpenKernel) -> None:
    kernel = await open_kernel()
    await kernel.sessions.open(CHAT, timezone=BERLIN)
    job = await kernel.schedule(CHAT, At(TOMORROW), Say("Up."))
    await kernel.sessions.update(CHAT, timezone=TOKYO)
    assert str((await kernel.jobs.get(job.id)).trigger) == "2026-11-17 09:00 Europe/Berlin"


async def test_what_a_device_suggests_is_kept_only_where_there_is_none(open_kernel: OpenKernel) -> None:
    kernel = await open_kernel()
    assert (await kernel.sessions.suggest_zone(CHAT, BERLIN)).timezone == BERLIN, (
        "a missing session is made with it"
    )
    assert (await kernel.sessions.suggest_zone(CHAT, TOKYO)).timezone == BERLIN
    await kernel.sessions.open("web:2")
    await kernel.sessions.suggest_zone("web:2", TOKYO)
    assert (await kernel.sessions.get("web:2")).timezone == TOKYO
    await kernel.sessions.open("web:3")
    with pytest.raises(BadSetting):
        await kernel.sessions.suggest_zone("web:3", "Mars/Olympus")


async def test_a_device_suggests_no_zone_for_a_chat_of_another_person(open_kernel: OpenKernel) -> None:
    """An operator who writes in a Telegram chat from the page is not the person in that chat."""
    kernel = await open_kernel()
    assert (await kernel.sessions.suggest_zone("telegram:42", BERLIN)).timezone is None


async def test_a_zone_that_is_none_is_refused_as_a_parameter(open_kernel: OpenKernel) -> None:
    kernel = await open_kernel()
    await kernel.sessions.open(CHAT)
    with pytest.raises(BadSetting, match="IANA"):
        await kernel.scheduled_messages.add(CHAT, TOMORROW, "Up.", timezone="Berlin")
