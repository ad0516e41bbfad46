"""A pace: how many may go now, when only so many may go in a second."""


class TokenBucket:
    """A bucket that fills steadily and holds what a second brings, and at least one."""

    def __init__(self, per_second: float) -> None:
        self._per_ms = per_second / 1000
        self._most = max(1.0, per_second)
        self._left = self._most
        self._at: int | None = None

    def allows(self, now: int) -> int:
        self._fill(now)
        return int(self._left)

    def take(self, number: int, now: int) -> None:
        self._fill(now)
        self._left -= number

    def next_at(self, now: int) -> int:
        """When one more may go."""
        self._fill(now)
        return now + max(0, -int(-(1 - self._left) // self._per_ms))

    def _fill(self, now: int) -> None:
        if self._at is not None:  # a clock that was set back brings nothing
            self._left = min(self._most, self._left + max(0, now - self._at) * self._per_ms)
        self._at = now
