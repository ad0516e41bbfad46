"""How far the database's clock is from this machine's monotonic one.

A worker whose wall clock is wrong still fires on time: it counts from a clock that nobody sets, by what the
database said. Of the last few answers the quickest is believed, because it says the most: the database's
clock was read at some point between question and answer.
"""

from collections import deque

from segue.record import positional

SAMPLES = 8
ROUNDING_MS = 1.0


@positional
class _Sample:
    offset: float
    doubt: float

    def agrees_with(self, other: "_Sample") -> bool:
        return abs(self.offset - other.offset) <= self.doubt + other.doubt


class Offset:
    def __init__(self) -> None:
        self._samples: deque[_Sample] = deque(maxlen=SAMPLES)
        self.ms = 0
        """As it is believed to be."""

    def learn(self, *, asked: float, answer: int, answered: float) -> None:
        """What the database's clock said between two moments of ours; all in milliseconds."""
        new = _Sample(answer - (asked + answered) / 2, (answered - asked) / 2 + ROUNDING_MS)
        if not all(new.agrees_with(old) for old in self._samples):
            # A clock was set, the server was replaced, or this machine has slept: the past says nothing now.
            self._samples.clear()
        self._samples.append(new)
        self.ms = round(min(self._samples, key=lambda sample: sample.doubt).offset)
