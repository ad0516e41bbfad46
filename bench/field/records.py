"""Reads the record of turns: how late they began, which never ran, which ran twice, and which overlapped."""

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from bench.field.program import Job

LOOK_EVERY = 0.1


@dataclass(frozen=True, slots=True)
class Entry:
    """One line: a turn began or ended in a process."""

    began: bool
    job: Job
    at: float
    process: int


@dataclass(frozen=True, slots=True)
class Span:
    """A turn from its beginning to its end."""

    job: Job
    began: float
    ended: float


def read(path: Path) -> list[Entry]:
    return _entries(path.read_text("utf-8")) if path.exists() else []


def _entries(text: str) -> list[Entry]:
    return [_entry(*line.split()) for line in text.split("\n")[:-1]]


def _entry(what: str, label: str, at: str, process: str) -> Entry:
    return Entry(what == "began", Job.of(label), float(at), int(process))


def wait_until(
    path: Path, enough: Callable[[list[Entry]], bool], *, patience: float, most: float = math.inf
) -> list[Entry]:
    """The record once it has enough, or when it has not grown for so many seconds, or after the most."""
    path.touch()
    entries: list[Entry] = []
    half, grown, deadline = "", time.monotonic(), time.monotonic() + most
    with path.open(encoding="utf-8") as file:
        while time.monotonic() < min(grown + patience, deadline):
            if new := file.read():
                whole, _, rest = (half + new).rpartition("\n")
                entries += _entries(whole + "\n") if whole else []
                half, grown = rest, time.monotonic()
                if enough(entries):
                    break
            time.sleep(LOOK_EVERY)
    return entries


def ended(entries: Iterable[Entry]) -> Counter[int]:
    """How often each job ended, by its number."""
    return Counter(entry.job.number for entry in entries if not entry.began)


def begun(entries: Iterable[Entry]) -> Counter[int]:
    return Counter(entry.job.number for entry in entries if entry.began)


def repeated(counts: Mapping[int, int]) -> int:
    """How many runs there were beyond the first of each job."""
    return sum(count - 1 for count in counts.values())


def lateness(entries: Iterable[Entry], due: Mapping[int, float]) -> list[float]:
    """Milliseconds from the moment of each job that ran to its first beginning."""
    first: dict[int, float] = {}
    for entry in entries:
        if entry.began:
            first.setdefault(entry.job.number, entry.at)
    return [1000 * (at - due[number]) for number, at in first.items()]


def spans(entries: Iterable[Entry]) -> list[Span]:
    """The turns that ended, in the order of their beginnings."""
    open_turns: dict[tuple[int, int], float] = {}
    found = []
    for entry in entries:
        key = entry.job.number, entry.process
        if entry.began:
            open_turns[key] = entry.at
        elif key in open_turns:
            found.append(Span(entry.job, open_turns.pop(key), entry.at))
    return sorted(found, key=lambda span: span.began)


def broken_orders(turns: Sequence[Span]) -> int:
    """How often a turn began before the earlier one of its session had ended, or before its turn came."""
    by_session: dict[int, list[Span]] = {}
    for turn in turns:
        by_session.setdefault(turn.job.session, []).append(turn)
    return sum(
        after.began < before.ended or after.job.number < before.job.number
        for each in by_session.values()
        for before, after in pairwise(each)
    )
