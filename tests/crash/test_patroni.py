"""Patroni with etcd: its leader hands over, and its leader is killed, while messages flow.

Segue follows by a URL with all nodes, through HAProxy, and through pgbouncer in transaction mode.
"""

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from tests.crash.figures import Record
from tests.crash.journal import Did, fences_out_of_order, overlaps
from tests.crash.patroni_cluster import cluster
from tests.crash.processes import LONG, processes
from tests.crash.talk import Talk, is_over

MESSAGES = 300
"""Before, between and after the two events."""
WORKERS = 2

pytestmark = pytest.mark.skipif(not LONG, reason="needs packages of Debian's: `make faults` runs it")


@pytest.mark.serial
@pytest.mark.parametrize("way", ["several hosts", "haproxy", "pgbouncer"])
@pytest.mark.parametrize("synchronous", [True, False], ids=["synchronous", "asynchronous"])
async def test_workers_follow_the_leader_of_patroni(
    synchronous: bool, way: str, tmp_path: Path, figure: Record
) -> None:
    with cluster(synchronous=synchronous) as patroni:
        first = await patroni.leader(standbys=2, synchronous=synchronous)
        async with (
            processes(patroni.url(way), tmp_path, lease=15.0) as several,
            several.successor("door") as kernel,
        ):
            workers = [several.start(user_runners=4) for _ in range(WORKERS)]
            await several.ready(*workers)
            talk = Talk(kernel)
            talking = asyncio.create_task(talk.go_on())
            await talk.has_sent(MESSAGES)
            await patroni.switch_over(first)
            second = await patroni.leader(but=first.name, standbys=2, synchronous=synchronous)
            await talk.has_sent(MESSAGES)
            switched = len(talk.acknowledged)
            refused = talk.refused
            patroni.kill(second)
            await patroni.leader(but=second.name, standbys=1)
            await talk.has_sent(MESSAGES)
            talking.cancel()
            await asyncio.wait([talking])
            lost = [turn_id for turn_id in talk.acknowledged if not await is_over(kernel, turn_id)]
            assert len(set(talk.acknowledged)) == len(talk.acknowledged), "an id was used again"
            assert not any(worker.has_ended() for worker in workers)
            assert not await kernel.audit()
            entries = several.journal.entries()
            ended = Counter(entry.turn for entry in entries if entry.did is Did.ENDED)
            again = sum(times > 1 for turn_id, times in ended.items() if turn_id not in lost)
            assert not set(lost) & set(talk.acknowledged[: switched - 1]), "the switch-over lost something"
            if synchronous:
                assert (lost, again) == ([], 0)
                assert not overlaps(entries)
                assert not fences_out_of_order(entries)
    figure("messages acknowledged; lost, run twice", f"{len(talk.acknowledged)}; {len(lost)}, {again}")
    figure("messages refused: by the switch-over, by the kill", f"{refused}, {talk.refused - refused}")
