"""Jobs that are due within one second, or in one instant: how late they begin, and how many never do."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TypeAlias

from bench.field.peer import Process
from bench.field.program import Job
from bench.field.records import Entry, begun, lateness, repeated, wait_until
from bench.field.results import Column, Figures
from bench.field.stores import Store
from bench.field.workload import Prepared, Round, Setting, Workload
from bench.measure import percentile

LEAST_REST = 1.0
"""A peer must have stored all jobs and be at work so many seconds before the first is due."""
AHEAD, MOST_AHEAD = 3.5, 400.0
PATIENCE, SHORT_PATIENCE = 40.0, 15.0
"""Seconds without a new turn after which the others count as never run."""

Moments: TypeAlias = Callable[[int, float], Sequence[float]]
"""The moments of so many jobs, the first at a given time."""


class NotReady(Exception):
    """The jobs were not stored in time."""


def with_time_to_store(measure: Callable[[Setting, Store, float], Figures]) -> Prepared:
    """Every round has an empty store. Who is not ready in time gets three times as long, in all later rounds
    too.
    """

    @contextmanager
    def prepared(setting: Setting) -> Iterator[Round]:
        ahead = AHEAD

        def once() -> Figures:
            nonlocal ahead
            while True:
                try:
                    with setting.store() as store:
                        return measure(setting, store, ahead)
                except NotReady:
                    ahead *= 3
                    if ahead > MOST_AHEAD:
                        raise

        yield once

    return prepared


def due_jobs(processes: Sequence[Process], moments: Sequence[float]) -> dict[int, float]:
    """Stores the jobs, one a session, lets the processes work, and returns the moment of each number."""
    processes[0].add_many([Job(number, number) for number in range(len(moments))], moments)
    for process in processes:
        process.work()
    if moments[0] - time.time() < LEAST_REST:
        raise NotReady("the jobs could not be stored in time")
    return dict(enumerate(moments))


def wait_for_all(setting: Setting, store: Store, due: dict[int, float]) -> list[Entry]:
    patience = max(due.values()) - time.time() + (SHORT_PATIENCE if setting.short else PATIENCE)
    return wait_until(store.record, lambda found: len(begun(found)) == len(due), patience=patience)


def _measure(ats: Moments, setting: Setting, store: Store, ahead: float) -> Figures:
    with Process(setting.peer, store.url, store.record, capacity=setting.size) as process:
        due = due_jobs([process], ats(setting.size, time.time() + ahead))
        entries = wait_for_all(setting, store, due)
    late = lateness(entries, due)
    timed = {"p50_ms": percentile(late, 50), "p99_ms": percentile(late, 99)} if late else {}
    return timed | {"never": len(due) - len(late), "repeated": repeated(begun(entries))}


def _over_a_second(count: int, start: float) -> Sequence[float]:
    return [start + number / count for number in range(count)]


def in_one_instant(count: int, start: float) -> Sequence[float]:
    return [start] * count


_COLUMNS = (
    Column("p50_ms", "late, median", "ms"),
    Column("p99_ms", "late, p99", "ms"),
    Column("never", "never ran", ""),
    Column("repeated", "ran again", ""),
)

SPREAD = Workload(
    name="due",
    title="Due within one second",
    about=(
        "So many jobs, each of another session, are due one after the other within a second. They are"
        " stored before, and a process is at work when their moments come. *Late* is from the moment "
        "to the first line of the turn."
    ),
    size="jobs",
    sizes=(1_000,),
    short_sizes=(1_000,),
    columns=_COLUMNS,
    prepared=with_time_to_store(partial(_measure, _over_a_second)),
)

INSTANT = Workload(
    name="instant",
    title="Due in one instant",
    about="The same, with one moment for all jobs.",
    size="jobs",
    sizes=(1_000,),
    short_sizes=(1_000,),
    columns=_COLUMNS,
    prepared=with_time_to_store(partial(_measure, in_one_instant)),
)
