"""Makes a `Seat`, for tests that lease lanes without a runner."""

from segue.kernel.transactions.lease import Seat


def seat_of(holder: str, *, lease_ms: int, lease_now: int | None) -> Seat:
    return Seat(holder=holder, lease_ms=lease_ms, lease_now=lease_now, held_until=0, reports_tools=True)
