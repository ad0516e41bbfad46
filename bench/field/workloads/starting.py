"""Cold start: from the start of a process to the end of the first turn, which is due already."""

import time

from bench.field.peer import Process
from bench.field.program import Job
from bench.field.records import ended, wait_until
from bench.field.results import Column, Figures
from bench.field.stores import Store, processor_seconds
from bench.field.workload import Setting, Workload, on_new_stores

PATIENCE = 30.0


def _measure(setting: Setting, store: Store) -> Figures:
    jobs = [Job(number, number) for number in range(setting.size)]
    with Process(setting.peer, store.url, store.record) as process:
        process.add_many(jobs, [None] * len(jobs))
    began = time.time()
    with Process(setting.peer, store.url, store.record) as process:
        process.work()
        entries = wait_until(store.record, lambda found: bool(ended(found)), patience=PATIENCE)
        cpu = processor_seconds(process.id)
    ends = [entry.at for entry in entries if not entry.began]
    return {"cpu_s": cpu} | ({"first_s": ends[0] - began} if ends else {})


STARTING = Workload(
    name="starting",
    title="Cold start",
    about=(
        "A turn waits in a store whose tables exist. *First turn* is from the start of the process to"
        " the turn's end."
    ),
    size="turns",
    sizes=(1,),
    short_sizes=(1,),
    columns=(Column("first_s", "first turn after", "s"), Column("cpu_s", "processor time", "s")),
    prepared=on_new_stores(_measure),
)
