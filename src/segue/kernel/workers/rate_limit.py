"""Token bucket: limits sends per second."""


class TokenBucket:
    """Refills steadily and holds the tokens of one second, and at least one."""

    def __init__(self, per_second: float) -> None:
        self._per_ms = per_second / 1000
        self._size = max(1.0, per_second)
        self._tokens = self._size
        self._filled_at: int | None = None

    def allows(self, now: int) -> int:
        """How many sends are allowed now."""
        self._refill(now)
        return int(self._tokens)

    def take(self, number: int, now: int) -> None:
        self._refill(now)
        self._tokens -= number

    def next_at(self, now: int) -> int:
        """When the next token is there."""
        self._refill(now)
        return now + max(0, -int(-(1 - self._tokens) // self._per_ms))

    def _refill(self, now: int) -> None:
        if self._filled_at is not None:  # a clock that was set back adds nothing
            self._tokens = min(self._size, self._tokens + max(0, now - self._filled_at) * self._per_ms)
        self._filled_at = now
