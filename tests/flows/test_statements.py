"""The statements of a plain turn. Features that a session or a job does not use must cost it none."""

from collections.abc import AsyncIterator
from datetime import timedelta

from segue import Ask, Every, Kernel, OpenTurn
from segue.kernel.transactions import lane, session_log
from segue.kernel.transactions.lane import Admission
from segue.kernel.transactions.result import Name
from segue.kernel.transactions.unified import Route
from segue.model.records import Owner, Source
from segue.store.database import Transaction
from segue.testing import ManualClock
from tests.flows.recording_store import RecordingStore
from tests.flows.story import CHAT

LEASE = ["sessions.lease", "turns.start_next", "events.append"]
SETTLE = ["sessions.hold", "turns.finish", "events.append", "activity.logged", "sessions.release"]
LOOKS = {"sessions.first_ready", "jobs.first_due", "jobs.due", "jobs.next_due", "jobs.next_account"}
"""The reads with which workers look for work; many turns share one."""


async def at_once(turn: OpenTurn) -> AsyncIterator[str]:
    yield "ok"


async def test_a_users_turn_takes_13_statements_in_three_commits(
    recording_store: RecordingStore, clock: ManualClock
) -> None:
    async with Kernel(recording_store, agent=at_once, clock=clock) as kernel:
        await kernel.receive(CHAT, "The first message makes the session.")
        await kernel.workers.user_runner.step()
        recording_store.commits.clear()
        recording_store.reads.clear()

        await kernel.receive(CHAT, "Hello.")
        assert await kernel.workers.user_runner.step() == 1

        receive = ["sessions.lock_by_key", "sessions.hear", "activity.touch", "turns.enqueue"]
        assert recording_store.commits == [[*receive, "sessions.enqueue"], LEASE, SETTLE]
        assert set(recording_store.reads) <= LOOKS


async def test_a_scheduled_turn_takes_13_statements_in_three_commits(
    recording_store: RecordingStore, clock: ManualClock
) -> None:
    async with Kernel(recording_store, agent=at_once, clock=clock) as kernel:
        await kernel.schedule(CHAT, Every(timedelta(hours=1)), Ask("Look."))
        clock.advance(hours=1)
        recording_store.commits.clear()
        recording_store.reads.clear()

        await kernel.workers.timer.step()
        assert await kernel.workers.runner.step() == 1

        fire = ["sessions.lock", "jobs.take", "runs.open", "turns.enqueue", "sessions.enqueue"]
        assert recording_store.commits == [fire, LEASE, SETTLE]
        assert set(recording_store.reads) <= LOOKS


async def test_a_scheduled_turn_wakes_the_runner_of_users_only_if_their_turns_may_wait(
    recording_store: RecordingStore, clock: ManualClock
) -> None:
    def admit(run: str) -> Transaction[frozenset[Name]]:
        session = yield from session_log.open_session(Owner(), CHAT, "s", clock.ms())
        source = Source(kind="cron", job_id="j", label="a job", run_id=run)
        turn = Admission(turn_id=run, content="Look.", rank=0, not_before=0, timeout_ms=1, source=source)
        return (yield from lane.admit(Route(session), turn, clock.ms())).wake

    async with Kernel(recording_store, agent=at_once, clock=clock) as kernel:
        assert await kernel.store.commit(admit, "j:1") == {Name.SCHEDULE}
        assert await kernel.store.commit(admit, "j:2") == {Name.SCHEDULE, Name.USER}
