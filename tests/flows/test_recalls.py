"""An agent calls itself back: how a recall is set, looked at, skipped and cancelled."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from segue import Ask, At, JobKind, Kernel, Owner, Recall, Request
from segue.errors import BadRecall, BadText, BadTime, NotFound, NotRecurring, RecallPending
from segue.testing import ManualClock, quiet
from segue.times.clock import to_moment
from tests.flows.house import OpenKernel
from tests.flows.story import CHAT, count_rows, log, slots

CHECK = "Read build.log with read_file and report errors."


async def talked(kernel: Kernel, key: str = CHAT, *, owner: Owner | None = None) -> None:
    """A recall belongs to a conversation that is there."""
    await kernel.log.write(key, "user", "Hello.", owner=owner or Owner())


async def set_one(kernel: Kernel, key: str = CHAT, **options: Any) -> Recall:
    await talked(kernel, key)
    return await kernel.recalls.add(key, CHECK, **{"when": "30m", **options})


async def statuses(kernel: Kernel, key: str = CHAT) -> list[str]:
    """Newest first."""
    return [str(recall.status) for recall in await kernel.recalls.list(key)]


async def told(kernel: Kernel) -> int:
    return (await log(kernel)).count("recall_update")


async def test_a_recall_is_kept_with_all_that_was_said_of_it(kernel: Kernel, clock: ManualClock) -> None:
    """C1.1, C2.7."""
    recall = await set_one(kernel, comment="the build")
    assert await kernel.recalls.get(CHAT) == recall
    assert (recall.call_type, recall.status, recall.interval_seconds) == ("once", "pending", None)
    assert (recall.comment, recall.instruction) == ("the build", CHECK)
    assert to_moment(recall.trigger_at) == clock.now() + timedelta(minutes=30)
    assert recall.created_at == recall.updated_at == clock.ms()


async def test_an_immediate_one_is_due_at_once_and_ignores_the_rest(
    kernel: Kernel, clock: ManualClock
) -> None:
    """C1.3, C2.4."""
    recall = await set_one(kernel, call_type="immediate", when="nonsense", interval_seconds=-1)
    assert (recall.trigger_at, recall.interval_seconds) == (clock.ms(), None)
    await quiet(kernel)
    assert await statuses(kernel) == ["fired"]


async def test_the_interval_of_one_that_fires_once_is_ignored(kernel: Kernel) -> None:
    """C2.4."""
    assert (await set_one(kernel, interval_seconds=-5)).interval_seconds is None


async def test_a_recurring_one_fires_first_at_its_moment_and_then_by_its_interval(
    kernel: Kernel, clock: ManualClock
) -> None:
    """C2.6, C4.1, C5.9: looked at every minute, it is taken when its moment has come and not before."""
    recall = await set_one(kernel, call_type="recurring", when="10m", interval_seconds=300)
    begun = clock.now()
    for _ in range(16):
        clock.advance(minutes=1)
        await quiet(kernel)
    job = await kernel.jobs.get(recall.id)
    fired = [to_moment(run.slot) - begun for run in await slots(kernel, job)]
    assert fired == [timedelta(minutes=10), timedelta(minutes=15)]
    pending = await kernel.recalls.get(CHAT)
    assert pending is not None
    assert to_moment(pending.trigger_at) - begun == timedelta(minutes=20)


WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"call_type": "sometimes"}, BadRecall, "call_type is one of once, recurring, immediate"),
    ({"when": None}, BadRecall, "a once recall needs `when`"),
    ({"call_type": "recurring", "when": None}, BadRecall, "a recurring recall needs `when`"),
    ({"when": "when pigs fly"}, BadTime, "pigs"),
    ({"when": "tomorrow at 09:00"}, BadTime, "needs a time zone"),
    ({"when": "tomorrow at 09:00", "timezone_offset": "Berlin"}, BadTime, "`timezone_offset` is ±HH:MM"),
    ({"when": "30m", "timezone_offset": "+25:00"}, BadTime, "`timezone_offset` is ±HH:MM"),
    ({"when": "2020-01-01T00:00:00Z"}, BadTime, "past"),
    ({"call_type": "recurring"}, BadRecall, "needs `interval_seconds`"),
    ({"call_type": "recurring", "interval_seconds": 0}, BadRecall, "from 1 to"),
    ({"call_type": "recurring", "interval_seconds": -60}, BadRecall, "from 1 to"),
    ({"call_type": "recurring", "interval_seconds": True}, BadRecall, "from 1 to"),
    ({"comment": " "}, BadText, "the comment of a recall is empty"),
]


async def test_what_is_wrong_is_said_and_nothing_is_stored(kernel: Kernel, subtests: pytest.Subtests) -> None:
    """C2.3."""
    await talked(kernel)
    before = await count_rows(kernel)
    for wrong, error, sentence in WRONG:
        with subtests.test(wrong=wrong):
            with pytest.raises(error, match=sentence):
                await kernel.recalls.add(CHAT, CHECK, **{"when": "30m", **wrong})
            assert await count_rows(kernel) == before


async def test_an_empty_instruction_is_refused(kernel: Kernel) -> None:
    """C2.3."""
    await talked(kernel)
    with pytest.raises(BadText, match="the instruction of a recall is empty"):
        await kernel.recalls.add(CHAT, " \n", when="30m")


async def test_a_time_on_the_clock_is_read_in_the_offset_that_is_given(
    kernel: Kernel, clock: ManualClock
) -> None:
    """C2.1, C2.2: 09:00 in +02:00 is 07:00 UTC."""
    recall = await set_one(kernel, when="tomorrow at 09:00", timezone_offset="+02:00")
    assert to_moment(recall.trigger_at).isoformat() == "2026-11-17T07:00:00+00:00"


async def test_without_an_offset_it_is_read_in_the_zone_of_the_session(kernel: Kernel) -> None:
    await kernel.sessions.open(CHAT, timezone="Europe/Berlin")
    recall = await kernel.recalls.add(CHAT, CHECK, when="tomorrow at 09:00")
    assert to_moment(recall.trigger_at).isoformat() == "2026-11-17T08:00:00+00:00"


async def test_a_second_one_is_refused_with_the_name_and_the_moment_of_the_first(
    kernel: Kernel, clock: ManualClock
) -> None:
    """C1.2, C2.3."""
    first = await set_one(kernel)
    with pytest.raises(RecallPending) as refused:
        await kernel.recalls.add(CHAT, CHECK, when="1h")
    assert first.id in str(refused.value)
    assert "2026-11-16T09:30:00+00:00" in str(refused.value)
    assert "cancel it before" in str(refused.value)
    assert await statuses(kernel) == ["pending"]


async def test_of_two_that_are_set_at_once_one_is_stored(open_kernel: OpenKernel) -> None:
    """C1.2: by index, in two processes."""
    one, other = await open_kernel(), await open_kernel()
    await talked(one)
    ends = await asyncio.gather(
        *(kernel.recalls.add(CHAT, CHECK, when="1h") for kernel in (one, other) * 4), return_exceptions=True
    )
    assert sum(isinstance(end, Recall) for end in ends) == 1
    assert sum(isinstance(end, RecallPending) for end in ends) == 7
    assert await statuses(one) == ["pending"]


async def test_one_is_not_in_the_way_of_another_session(kernel: Kernel) -> None:
    hers, his = await set_one(kernel), await set_one(kernel, "web:2")
    assert [await kernel.recalls.get(key) for key in (CHAT, "web:2")] == [hers, his]
    assert hers.id != his.id


async def test_a_session_that_is_not_there_is_not_made_by_a_recall(kernel: Kernel) -> None:
    """C8.4."""
    with pytest.raises(NotFound, match="there is no session web:9"):
        await kernel.recalls.add("web:9", CHECK, when="1h")
    assert (await count_rows(kernel))["sessions"] == 0


async def test_one_that_is_set_again_under_its_name_is_the_same(kernel: Kernel) -> None:
    await talked(kernel)
    named = Request(owner=Owner(), name="r-1", digest="d")
    first = await kernel.recalls.add(CHAT, CHECK, when="1h", request=named)
    assert await kernel.recalls.add(CHAT, CHECK, when="1h", request=named) == first


async def test_one_that_is_cancelled_stays_in_the_list_and_the_next_may_be_set(
    kernel: Kernel, clock: ManualClock
) -> None:
    """C3.2, C3.5, C1.4."""
    for _ in range(3):
        await set_one(kernel)
        await kernel.recalls.cancel(CHAT)
        clock.advance(minutes=1)
    await set_one(kernel)
    assert await statuses(kernel) == ["pending", "cancelled", "cancelled", "cancelled"]
    clock.advance(hours=1)
    await quiet(kernel)
    assert await statuses(kernel) == ["fired", "cancelled", "cancelled", "cancelled"]


async def test_nothing_to_cancel_and_nothing_to_skip_is_said(kernel: Kernel) -> None:
    """C3.4."""
    await talked(kernel)
    with pytest.raises(NotFound, match="no recall is pending in web:1"):
        await kernel.recalls.cancel(CHAT)
    with pytest.raises(NotFound, match="no recall is pending in web:1"):
        await kernel.recalls.skip(CHAT)


@pytest.mark.parametrize("options", [{}, {"call_type": "immediate"}])
async def test_one_that_fires_once_cannot_be_skipped(kernel: Kernel, options: dict[str, Any]) -> None:
    """C3.4."""
    recall = await set_one(kernel, **options)
    with pytest.raises(NotRecurring, match="cancel it instead"):
        await kernel.recalls.skip(CHAT)
    assert await kernel.recalls.get(CHAT) == recall


async def test_a_skip_goes_an_interval_on_from_the_next_moment(kernel: Kernel, clock: ManualClock) -> None:
    """C3.3."""
    await set_one(kernel, call_type="recurring", when="10m", interval_seconds=300)
    skipped = await kernel.recalls.skip(CHAT)
    assert to_moment(skipped.trigger_at) == clock.now() + timedelta(minutes=15)
    again = await kernel.recalls.skip(CHAT)
    assert to_moment(again.trigger_at) == clock.now() + timedelta(minutes=20)
    runs = await slots(kernel, await kernel.jobs.get(again.id))
    assert [(run.outcome, run.reason) for run in runs] == [("skipped", "skipped by request")] * 2


async def test_a_skip_of_one_that_is_long_overdue_leads_into_the_future(
    kernel: Kernel, clock: ManualClock
) -> None:
    """C3.3: max(trigger_at, now) + interval."""
    await set_one(kernel, call_type="recurring", when="10m", interval_seconds=300)
    clock.advance(hours=7)
    skipped = await kernel.recalls.skip(CHAT)
    assert to_moment(skipped.trigger_at) == clock.now() + timedelta(minutes=5)


async def test_the_session_is_told_of_each_change(kernel: Kernel, clock: ManualClock) -> None:
    """C2.8, C3.7, C7.2."""
    await set_one(kernel, call_type="recurring", when="10m", interval_seconds=300)
    assert await told(kernel) == 1
    await kernel.recalls.skip(CHAT)
    assert await told(kernel) == 2
    clock.advance(minutes=15)
    await quiet(kernel)
    fired = await told(kernel)
    assert fired > 2
    await kernel.recalls.cancel(CHAT)
    assert await told(kernel) == fired + 1


async def test_sessions_with_a_pending_one_can_be_picked_out_and_show_it(kernel: Kernel) -> None:
    """C9.3: the sidebar's filter."""
    recall = await set_one(kernel, comment="the build")
    await talked(kernel, "web:2")
    assert [one.recall for one in await kernel.sessions.overviews(pending_recall=True)] == [recall]
    assert {one.session.key: one.recall for one in await kernel.sessions.overviews()} == {
        CHAT: recall,
        "web:2": None,
    }
    assert (await kernel.sessions.overview(CHAT)).recall == recall


async def test_a_plain_job_of_that_kind_is_a_recall_too(kernel: Kernel) -> None:
    job = await kernel.schedule(CHAT, At("in 1 hour"), Ask("Ask."), kind=JobKind.RECALL)
    recall = await kernel.recalls.get(CHAT)
    assert recall is not None
    assert (recall.id, recall.call_type, recall.comment) == (job.id, "once", None)


async def test_the_list_is_read_in_pages(kernel: Kernel, clock: ManualClock) -> None:
    for _ in range(5):
        await set_one(kernel)
        await kernel.recalls.cancel(CHAT)
        clock.advance(minutes=1)
    newest = await kernel.recalls.list(CHAT, limit=3)
    older = await kernel.recalls.list(CHAT, limit=3, before=newest[-1].page_start)
    assert [one.id for one in (*newest, *older)] == [one.id for one in await kernel.recalls.list(CHAT)]


async def test_they_belong_to_the_user_of_the_session(kernel: Kernel) -> None:
    """C3.6."""
    ada, ben = Owner("one", "ada"), Owner("one", "ben")
    await talked(kernel, owner=ada)
    await kernel.recalls.add(CHAT, CHECK, when="1h", owner=ada)
    with pytest.raises(NotFound):
        await kernel.recalls.cancel(CHAT, owner=ben)
    with pytest.raises(NotFound):
        await kernel.recalls.list(CHAT, owner=ben)


async def test_a_session_that_goes_takes_its_recall_along(kernel: Kernel, clock: ManualClock) -> None:
    """C5.2, C1.1: ON DELETE CASCADE."""
    await set_one(kernel)
    await kernel.sessions.delete(CHAT)
    clock.advance(hours=1)
    await quiet(kernel)
    rows = await count_rows(kernel)
    assert (rows["jobs"], rows["runs"], rows["turns"]) == (0, 0, 0)
