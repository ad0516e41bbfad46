"""Many jobs wait for a day far away: the cost of one more, and of a process that has nothing to do."""

import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager

from bench.field.peer import Process
from bench.field.results import Column, Figures
from bench.field.stores import Store, family, processor_seconds
from bench.field.workload import Round, Setting, Workload

CALLS, SHORT_CALLS = 50, 20
SETTLING_SECONDS = 1.0
IDLE_SECONDS, SHORT_IDLE_SECONDS = 10.0, 4.0


@contextmanager
def _prepared(setting: Setting) -> Iterator[Round]:
    """The store is filled once. Every round adds to it and then opens it in a new process; in a short run
    only the first one does the latter, which counts processor time and varies little.
    """
    with setting.store() as store:
        with _process(setting, store) as process:
            process.fill(setting.size)

        idle_again = True

        def once() -> Figures:
            nonlocal idle_again
            found = dict(_adding(setting, store))
            if idle_again:
                found |= _idle(setting, store)
            idle_again = not setting.short
            return found

        yield once


def _adding(setting: Setting, store: Store) -> Figures:
    with _process(setting, store) as process:
        process.work()
        took = process.time_adding(SHORT_CALLS if setting.short else CALLS)
    return {"add_ms": statistics.median(took)}


def _idle(setting: Setting, store: Store) -> Figures:
    seconds = SHORT_IDLE_SECONDS if setting.short else IDLE_SECONDS
    began = time.perf_counter()
    with _process(setting, store) as process:
        process.work()
        start = time.perf_counter() - began
        time.sleep(SETTLING_SECONDS)
        own_before, server_before = processor_seconds(process.id), processor_seconds(*store.servers)
        time.sleep(seconds)
        own, server = processor_seconds(process.id), processor_seconds(*store.servers)
        memory = sum(one.memory_info().rss for one in family(process.id))
    return {
        "start_s": start,
        "idle_percent": 100 * (own - own_before) / seconds,
        "server_percent": 100 * (server - server_before) / seconds,
        "memory_mb": memory / 1e6,
    }


def _process(setting: Setting, store: Store) -> Process:
    return Process(setting.peer, store.url, store.record, eager=False)


PENDING = Workload(
    name="pending",
    title="Jobs that wait",
    about=(
        "So many jobs wait for a day in ten years. *Add* is one more, made durable by a process that "
        f"is at work (median of {CALLS} calls). Then a new process opens the store (*start*) and has "
        "nothing to do: its share of a core, its server's share, and its memory, with the processes "
        "it starts."
    ),
    size="jobs that wait",
    sizes=(1_000, 10_000, 100_000, 1_000_000),
    short_sizes=(1_000, 100_000),
    columns=(
        Column("add_ms", "add", "ms"),
        Column("start_s", "start", "s"),
        Column("idle_percent", "idle", "% of a core"),
        Column("server_percent", "its server", "% of a core"),
        Column("memory_mb", "memory", "MB"),
    ),
    prepared=_prepared,
)
