"""The calendar of a session: what is coming as a file at a private address, and events of a file as jobs."""

import pytest

from segue import Ask, At, Cron, Every, Idle, Kernel, Owner, Policy
from segue.errors import NotFound, ZoneNeeded
from segue.model.settings import Settings
from segue.testing import ManualClock, quiet
from segue.times.icalendar.content_lines import VEvent, events_in, value_of
from tests.flows.house import OpenKernel
from tests.flows.story import CHAT, said

BERLIN = "Europe/Berlin"
DENTIST = "BEGIN:VEVENT\nUID:d\nDTSTART:20261117T090000Z\nSUMMARY:Dentist\nLOCATION:Main St\nEND:VEVENT\n"
TEAM = "BEGIN:VEVENT\nUID:t\nDTSTART:20261101T080000Z\nRRULE:FREQ=WEEKLY\nSUMMARY:Team\nEND:VEVENT\n"
PARTY = "BEGIN:VEVENT\nUID:p\nDTSTART;VALUE=DATE:20261224\nSUMMARY:Party\nEND:VEVENT\n"
FILE = f"BEGIN:VCALENDAR\n{DENTIST}{TEAM}{PARTY}END:VCALENDAR\n"


async def exported(kernel: Kernel, key: str = CHAT) -> dict[str, list[VEvent]]:
    """The events by their titles."""
    found: dict[str, list[VEvent]] = {}
    for event in events_in(await kernel.calendar.export(key)):
        found.setdefault(value_of(event, "SUMMARY"), []).append(event)
    return found


async def test_what_is_coming_is_in_the_calendar(kernel: Kernel) -> None:
    await kernel.sessions.open(CHAT, timezone=BERLIN)
    news = await kernel.schedule(CHAT, Cron("0 9 * * 1-5"), Ask("What is new?"), name="news")
    often = await kernel.schedule(CHAT, Every(86_400), Ask("Look."), name="often")
    few = Policy(max_runs=2)
    await kernel.schedule(CHAT, Cron("0 9 * * *"), Ask("Look."), name="twice", policy=few)
    await kernel.schedule(CHAT, At("2027-12-24 18:00"), Ask("Bells.", hidden=True), name="bells")
    await kernel.schedule(CHAT, Idle(3600), Ask("Still there?"), name="silence")
    paused = await kernel.schedule(CHAT, Every(3600), Ask("Look."), name="paused")
    await kernel.jobs.pause(paused.id)
    await kernel.recalls.add(CHAT, "Look at the build.", when="tomorrow at 10:00", comment="the build")
    await kernel.scheduled_messages.add(CHAT, "tomorrow at 11:00", "Your flight leaves at noon.")
    found = await exported(kernel)
    counts = {title: len(events) for title, events in found.items()}
    assert counts == {
        "news": 1,
        "often": 90,
        "twice": 2,
        "bells": 1,
        "the build": 1,
        "Your flight leaves at noon.": 1,
    }
    (event,) = found["news"]
    assert value_of(event, "UID") == f"{news.id}@segue"
    assert value_of(event, "RRULE") == "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"
    assert event["DTSTART"][0].parameters == {"TZID": BERLIN}
    assert value_of(event, "DESCRIPTION") == "What is new?"
    assert value_of(found["often"][0], "UID") == f"{often.id}-20261117T090000Z@segue"
    assert value_of(found["bells"][0], "DTSTART") == "20271224T170000Z"
    assert "DESCRIPTION" not in found["bells"][0]
    assert value_of(found["the build"][0], "DTSTART") == "20261117T090000Z"


async def test_the_same_jobs_give_the_same_file_until_one_has_run(kernel: Kernel, clock: ManualClock) -> None:
    await kernel.schedule(CHAT, Cron("0 10 * * *", tz="UTC"), Ask("Look."), name="look")
    first = await kernel.calendar.export(CHAT)
    assert await kernel.calendar.export(CHAT) == first
    clock.advance(hours=2)
    await quiet(kernel)
    (event,) = (await exported(kernel))["look"]
    assert value_of(event, "DTSTART") == "20261117T100000"


async def test_an_address_is_replaced_revoked_and_deleted_with_its_session(
    kernel: Kernel, clock: ManualClock
) -> None:
    await kernel.sessions.open(CHAT)
    assert await kernel.calendar.shared_at(CHAT) is None
    old = await kernel.calendar.share(CHAT)
    assert len(old) == 43
    assert await kernel.calendar.shared_at(CHAT) == clock.ms()
    new = await kernel.calendar.share(CHAT)
    assert "BEGIN:VCALENDAR" in await kernel.calendar.read(new)
    with pytest.raises(NotFound, match="no calendar at this address"):
        await kernel.calendar.read(old)
    await kernel.calendar.revoke(CHAT)
    for gone in (new, "", "x" * 10_000, "\ud800"):
        with pytest.raises(NotFound, match="no calendar at this address"):
            await kernel.calendar.read(gone)
    with pytest.raises(NotFound, match="has no calendar address"):
        await kernel.calendar.revoke(CHAT)
    last = await kernel.calendar.share(CHAT)
    await kernel.sessions.delete(CHAT)
    with pytest.raises(NotFound, match="no calendar at this address"):
        await kernel.calendar.read(last)


async def test_only_its_owner_shares_exports_and_imports(kernel: Kernel) -> None:
    ann, ben = Owner("one", "ann"), Owner("one", "ben")
    await kernel.sessions.open(CHAT, owner=ann)
    await kernel.calendar.share(CHAT, owner=ann)
    calendar = kernel.calendar
    for refused in (
        calendar.share(CHAT, owner=ben),
        calendar.shared_at(CHAT, owner=ben),
        calendar.revoke(CHAT, owner=ben),
        calendar.export(CHAT, owner=ben),
        calendar.import_events(CHAT, FILE, owner=ben),
    ):
        with pytest.raises(NotFound, match=f"there is no session {CHAT}"):
            await refused


async def test_events_are_shown_then_made_once_and_said_at_their_time(
    kernel: Kernel, clock: ManualClock
) -> None:
    await kernel.sessions.open(CHAT)
    shown = await kernel.calendar.import_events(CHAT, FILE)
    assert [job.name for job in shown.jobs] == ["Dentist", "Team"]
    assert [(each.title, "day set" in each.reason) for each in shown.left_out] == [("Party", True)]
    assert (shown.made, await kernel.jobs.list(CHAT)) == (False, [])
    made = await kernel.calendar.import_events(CHAT, FILE, make=True)
    assert [job.id for job in made.jobs] == [job.id for job in shown.jobs]
    again = await kernel.calendar.import_events(CHAT, FILE, make=True)
    assert (list(again.jobs), len(again.left_out)) == ([], 3)
    assert len(await kernel.jobs.list(CHAT)) == 2
    clock.advance(days=1, minutes=1)
    await quiet(kernel)
    assert (await said(kernel))[-1] == ("assistant", "Dentist (Main St)")


async def test_the_same_file_is_imported_into_two_sessions(kernel: Kernel) -> None:
    for key in (CHAT, "web:2"):
        await kernel.sessions.open(key)
        assert len((await kernel.calendar.import_events(key, FILE, make=True)).jobs) == 2


async def test_in_a_group_the_agent_reminds(kernel: Kernel) -> None:
    await kernel.sessions.open(CHAT, chat_type="group")
    made = await kernel.calendar.import_events(CHAT, FILE, make=True)
    assert made.jobs[0].action == Ask("Remind this chat that this begins now: Dentist (Main St)")


async def test_no_more_jobs_are_made_than_a_session_may_have(open_kernel: OpenKernel) -> None:
    kernel = await open_kernel(settings=Settings(jobs_per_session=2))
    await kernel.schedule(CHAT, Every(3600), Ask("Look."))
    for make in (False, True):
        imported = await kernel.calendar.import_events(CHAT, FILE, make=make)
        assert [job.name for job in imported.jobs] == ["Dentist"]
        assert "as many automations as it may have" in imported.left_out[-1].reason


async def test_a_time_without_a_zone_is_read_in_that_of_the_session(kernel: Kernel) -> None:
    floating = FILE.replace("090000Z", "090000")
    await kernel.sessions.open(CHAT)
    with pytest.raises(ZoneNeeded, match="set the timezone of the session"):
        await kernel.calendar.import_events(CHAT, floating)
    await kernel.sessions.update(CHAT, timezone=BERLIN)
    shown = await kernel.calendar.import_events(CHAT, floating)
    assert str(shown.jobs[0].trigger) == "2026-11-17 09:00 Europe/Berlin"
