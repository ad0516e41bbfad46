"""Every notification is dropped on its way: workers find work by their own polls, and lose none of it."""

from collections import Counter
from pathlib import Path

import pytest

from segue.model.states import Outcome
from tests.crash.figures import Record, p99
from tests.crash.journal import Did
from tests.crash.processes import LONG, over, processes
from tests.store.network import Network

MESSAGES = 200 if LONG else 8

# The long form measures; the short one only waits, which it can do beside others.
pytestmark = [pytest.mark.serial] if LONG else []


async def test_without_notifications_work_starts_at_the_next_poll(
    migrated_postgres_url: str, tmp_path: Path, figure: Record
) -> None:
    waited: list[float] = []
    (tmp_path / "network").mkdir()
    async with (
        Network(migrated_postgres_url, tmp_path / "network", drops_notifications=True) as network,
        processes(network.url, tmp_path, lease=15.0) as several,
        several.successor("door", url=migrated_postgres_url) as kernel,
    ):
        await several.ready(several.start(user_runners=4))
        for number in range(MESSAGES):
            turn = await over(kernel, (await kernel.receive(f"web:{number}", "answer")).turn_id)
            assert turn.outcome is Outcome.OK
            assert turn.started_at is not None
            waited.append((turn.started_at - turn.queued_at) / 1000)
        assert network.dropped
        started = Counter(entry.turn for entry in several.journal.entries(Did.STARTED))
        assert set(started.values()) == {1}
        assert not await kernel.audit()
    figure(
        f"{MESSAGES} messages, from receipt to start, p99; workers poll once a second", f"{p99(waited):.2f} s"
    )
