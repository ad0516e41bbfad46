"""Stopwatch, rates, and comparisons that hold on a noisy machine.

A comparison is measured in rounds, ours and the peer alternately, so that a slow minute of the machine slows
both. The table shows the median of the rounds; a ratio is the median of each round's own ratio, never the
ratio of two medians taken at different times.
"""

import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(slots=True)
class Stopwatch:
    seconds: float = 0.0
    """Wall time."""
    cpu: float = 0.0
    """Processor time of this process, all threads together."""


@contextmanager
def stopwatch() -> Iterator[Stopwatch]:
    watch = Stopwatch()
    started, cpu = time.perf_counter(), time.process_time()
    try:
        yield watch
    finally:
        watch.seconds = time.perf_counter() - started
        watch.cpu = time.process_time() - cpu


@dataclass(frozen=True, slots=True)
class Rate:
    count: int
    seconds: float

    @property
    def per_second(self) -> float:
        return self.count / self.seconds


@dataclass(frozen=True, slots=True)
class Comparison:
    ours: float
    peer: float
    ratio: float


def alternate(rounds: int, ours: Callable[[], float], peer: Callable[[], float]) -> Comparison:
    """Measures both in each round; every second round starts with the peer."""
    pairs: list[tuple[float, float]] = []
    for number in range(rounds):
        if number % 2:
            theirs = peer()
            pairs.append((ours(), theirs))
        else:
            pairs.append((ours(), peer()))
    return Comparison(
        ours=statistics.median(mine for mine, _ in pairs),
        peer=statistics.median(theirs for _, theirs in pairs),
        ratio=statistics.median(mine / theirs for mine, theirs in pairs),
    )


def median_of(rounds: int, measure: Callable[[], float]) -> float:
    return statistics.median(measure() for _ in range(rounds))


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that at least `percent` of the values do not exceed."""
    if not values:
        raise ValueError("a percentile needs at least one value")
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]
