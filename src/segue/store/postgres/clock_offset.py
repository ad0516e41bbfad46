"""Clock offset: the database's clock minus this machine's monotonic clock.

A worker whose wall clock is wrong still fires on time: it adds this offset to the monotonic clock, which
cannot be set. Of the last few samples the one with the shortest round trip is used, because it is the most
precise: the database read its clock at some point within the round trip.
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
        """The current estimate."""

    def learn(self, *, asked: float, answer: int, answered: float) -> None:
        """Add a sample: the database's clock read `answer` between two monotonic moments; milliseconds."""
        new = _Sample(answer - (asked + answered) / 2, (answered - asked) / 2 + ROUNDING_MS)
        if not all(new.agrees_with(old) for old in self._samples):
            # A clock was set, the server was replaced, or this machine slept: older samples are wrong.
            self._samples.clear()
        self._samples.append(new)
        self.ms = round(min(self._samples, key=lambda sample: sample.doubt).offset)
