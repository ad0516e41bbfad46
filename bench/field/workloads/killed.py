"""`kill -9` in the middle: how soon another process goes on, and what is lost or done twice."""

import time

from bench.field.peer import Process
from bench.field.program import Job
from bench.field.records import Entry, begun, ended, repeated, wait_until
from bench.field.results import Column, Figures
from bench.field.stores import Store
from bench.field.workload import Setting, Workload, on_new_stores

SHORTEST, LONGEST = 0.3, 1.0
"""Seconds of a turn: different ones, so that some are under way at any time."""
CAPACITY = 50
DETECTION_SECONDS = 5.0
PATIENCE = 20.0
LONGEST_BEFORE_KILL = 10.0


def _measure(setting: Setting, store: Store) -> Figures:
    """One process is killed in the middle, and another one takes its place."""
    turns = setting.size
    jobs = [Job(number, number, _seconds(number)) for number in range(turns)]

    def new_process() -> Process:
        return Process(
            setting.peer, store.url, store.record, capacity=CAPACITY, detection_seconds=DETECTION_SECONDS
        )

    with new_process() as first:
        first.add_many(jobs, [None] * turns)
        first.work()
        wait_until(
            store.record,
            lambda found: len(ended(found)) >= turns // 4,
            patience=PATIENCE,
            most=LONGEST_BEFORE_KILL,
        )
        first.kill()
        killed = time.time()
    with new_process() as second:
        second.work()
        entries = wait_until(store.record, lambda found: len(ended(found)) == turns, patience=PATIENCE)
    return _judged(entries, killed, turns)


def _seconds(number: int) -> float:
    return SHORTEST + (LONGEST - SHORTEST) * (number * 7 % 10) / 10


def _judged(entries: list[Entry], killed: float, turns: int) -> Figures:
    before = [entry for entry in entries if entry.at <= killed]
    interrupted = set(begun(before)) - set(ended(before))
    again = {entry.job.number: entry.at for entry in reversed(entries) if entry.began and entry.at > killed}
    resumed = [at - killed for number, at in again.items() if number in interrupted]
    waiting = [at - killed for number, at in again.items() if number not in interrupted]
    return {
        "interrupted": len(interrupted),
        **({"others_s": min(waiting)} if waiting else {}),
        **({"take_over_s": max(resumed)} if resumed and len(resumed) == len(interrupted) else {}),
        "lost": turns - len(ended(entries)),
        "repeated": repeated(ended(entries)),
    }


KILLED = Workload(
    name="killed",
    title="Killed in the middle",
    about=(
        f"So many turns of {SHORTEST:g} to {LONGEST:g} s, up to {CAPACITY} at once. When a quarter has"
        f" ended, at the latest after {LONGEST_BEFORE_KILL:g} s, the process gets `kill -9` and "
        "another one starts on the same store. Where a peer has a time after which a silent process "
        f"counts as dead, it is {DETECTION_SECONDS:g} s. *Others* is when the first turn begins that "
        "had not been under way, *take-over* when the last one begins again that had; *lost* never "
        "ended, *done twice* ended twice."
    ),
    size="turns",
    sizes=(400,),
    short_sizes=(200,),
    columns=(
        Column("interrupted", "under way", ""),
        Column("others_s", "others after", "s"),
        Column("take_over_s", "take-over after", "s"),
        Column("lost", "lost", ""),
        Column("repeated", "done twice", ""),
    ),
    prepared=on_new_stores(_measure),
    counts=True,
)
