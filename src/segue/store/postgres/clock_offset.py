"""Clock offset: the database's clock minus this machine's monotonic clock.

A worker whose wall clock is wrong still fires on time: it adds this offset to the monotonic clock, which
cannot be set. Of the last few samples the one with the shortest round trip is used, because it is the most
precise: the database read its clock at some point within the round trip.
"""

from collections import deque
from operator import itemgetter

SAMPLES = 8
ROUNDING_MS = 1.0


class Offset:
    def __init__(self) -> None:
        self._samples: deque[tuple[float, float]] = deque(maxlen=SAMPLES)
        """The doubt of each sample, and its offset."""
        self.ms = 0
        """The current estimate."""

    def learn(self, *, asked: float, answer: int, answered: float) -> None:
        """Add a sample: the database's clock read `answer` between two monotonic moments; milliseconds."""
        doubt, offset = (answered - asked) / 2 + ROUNDING_MS, answer - (asked + answered) / 2
        if any(abs(offset - old) > doubt + old_doubt for old_doubt, old in self._samples):
            # A clock was set, the server was replaced, or this machine slept: older samples are wrong.
            self._samples.clear()
        self._samples.append((doubt, offset))
        _, best = min(self._samples, key=itemgetter(0))
        self.ms = round(best)
