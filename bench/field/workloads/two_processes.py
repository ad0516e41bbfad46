"""Two processes on one store: does a job run twice?"""

import time

from bench.field.peer import Process
from bench.field.records import begun, read, repeated
from bench.field.results import Column, Figures
from bench.field.stores import Store
from bench.field.workload import Setting, Workload
from bench.field.workloads.due import due_jobs, in_one_instant, wait_for_all, with_time_to_store

LINGER = 2.0
"""Seconds in which a second run of the last job would show."""


def _measure(setting: Setting, store: Store, ahead: float) -> Figures:
    def open_process() -> Process:
        return Process(setting.peer, store.url, store.record, capacity=setting.size)

    with open_process() as one, open_process() as other:
        due = due_jobs([one, other], in_one_instant(setting.size, time.time() + ahead))
        wait_for_all(setting, store, due)
        time.sleep(LINGER)
        entries = read(store.record)
    processes = {entry.process for entry in entries}
    counts = begun(entries)
    return {"repeated": repeated(counts), "never": len(due) - len(counts), "processes": len(processes)}


TWO_PROCESSES = Workload(
    name="two-processes",
    title="Two processes on one store",
    about="So many jobs are due in one instant, and two processes are at work on the same store.",
    size="jobs",
    sizes=(1_000,),
    short_sizes=(1_000,),
    columns=(
        Column("repeated", "ran again", ""),
        Column("never", "never ran", ""),
        Column("processes", "processes that ran some", ""),
    ),
    prepared=with_time_to_store(_measure),
    counts=True,
)
