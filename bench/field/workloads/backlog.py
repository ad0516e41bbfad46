"""A backlog: turns wait in many sessions or in few, and run one at a time in each session."""

from bench.field.peer import Process
from bench.field.program import Job
from bench.field.records import broken_orders, ended, repeated, spans, wait_until
from bench.field.results import Column, Figures
from bench.field.stores import Store
from bench.field.workload import Setting, Workload, on_new_stores

TURNS, SHORT_TURNS = 10_000, 1_000
CAPACITY = 50
PATIENCE, MOST_SECONDS = 30.0, 120.0


def _measure(setting: Setting, store: Store) -> Figures:
    turns = SHORT_TURNS if setting.short else TURNS
    jobs = [Job(number, number % setting.size) for number in range(turns)]
    with Process(setting.peer, store.url, store.record, capacity=CAPACITY) as process:
        process.add_many(jobs, [None] * turns)
        process.work()
        entries = wait_until(
            store.record, lambda found: len(found) >= 2 * turns, patience=PATIENCE, most=MOST_SECONDS
        )
    ran = spans(entries)
    seconds = max(span.ended for span in ran) - ran[0].began
    return {
        "per_second": len(ran) / seconds,
        "never": turns - len(ended(entries)),
        "repeated": repeated(ended(entries)),
        "broken": broken_orders(ran),
    }


BACKLOG = Workload(
    name="backlog",
    title="A backlog",
    about=(
        f"{TURNS:,} turns ({SHORT_TURNS:,} in a short run) wait in so many sessions, and run one at a "
        f"time and in order in each, up to {CAPACITY} at once. A turn does nothing. The rate is from "
        "the first turn's beginning to the last one's end. *Out of order* counts turns that began "
        "before the earlier one of their session had ended."
    ),
    size="sessions",
    sizes=(1_000, 10),
    short_sizes=(1_000, 10),
    columns=(
        Column("per_second", "turns", "per second"),
        Column("never", "never ran", ""),
        Column("repeated", "ran again", ""),
        Column("broken", "out of order", ""),
    ),
    prepared=on_new_stores(_measure),
)
