"""One session is busy: its neighbours' turns should not wait for it."""

import time

from bench.field.peer import Process
from bench.field.program import Job
from bench.field.records import Entry, begun, lateness, wait_until
from bench.field.results import Column, Figures
from bench.field.stores import Store
from bench.field.workload import Setting, Workload, on_new_stores
from bench.measure import percentile

BUSY_TURN_SECONDS = 0.05
CAPACITY = 50
HEAD_START = 0.5
PATIENCE = 20.0


def _measure(setting: Setting, store: Store) -> Figures:
    """The busy session's turns wait already when each neighbour gets one turn."""
    busy = [Job(number, 0, BUSY_TURN_SECONDS) for number in range(setting.size)]
    first = setting.size
    quick = [Job(first + number, 1 + number) for number in range(setting.size // 2)]
    with Process(setting.peer, store.url, store.record, capacity=CAPACITY) as process:
        process.work()
        process.add_many(busy, [None] * len(busy))
        time.sleep(HEAD_START)
        given = time.time()
        process.add_many(quick, [None] * len(quick))
        entries = wait_until(
            store.record, lambda found: len(begun(_from(first, found))) == len(quick), patience=PATIENCE
        )
    theirs = _from(first, entries)
    waits = lateness(theirs, dict.fromkeys((job.number for job in quick), given))
    timed = {"p50_ms": percentile(waits, 50), "p99_ms": percentile(waits, 99)} if waits else {}
    return timed | {"never": len(quick) - len(waits)}


def _from(number: int, entries: list[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry.job.number >= number]


NEIGHBOURS = Workload(
    name="neighbours",
    title="One busy session and its neighbours",
    about=(
        "So many turns of 50 ms wait in one session, which can run only one at a time. Then half as "
        f"many other sessions get one turn each, all at once. A process runs up to {CAPACITY} turns at"
        " once. *Waited* is from the call that stores the neighbours' turns to the first line of "
        "each."
    ),
    size="turns of the busy session",
    sizes=(200,),
    short_sizes=(200,),
    columns=(
        Column("p50_ms", "neighbours waited, median", "ms"),
        Column("p99_ms", "p99", "ms"),
        Column("never", "never ran", ""),
    ),
    prepared=on_new_stores(_measure),
)
