"""Retrying a write: it is repeated while the store is unavailable, and only then."""

from collections.abc import Awaitable, Callable

import pytest

from segue.errors import LeaseLost, SegueError, StoreError, StoreUnavailable, Undecided
from segue.kernel.workers.retry import retry_until_stored
from segue.times.clock import SystemClock


def failing(*errors: SegueError) -> tuple[Callable[[], Awaitable[str]], list[SegueError]]:
    """A write that fails with each of these errors and then succeeds, and the errors that are left."""
    left = [*errors]

    async def write() -> str:
        if left:
            raise left.pop(0)
        return "written"

    return write, left


async def test_a_write_is_retried_until_the_store_is_available(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("segue.kernel.workers.retry._FIRST_PAUSE_MS", 1)
    write, _ = failing(StoreUnavailable("away"), StoreUnavailable("still away"))
    assert await retry_until_stored("a turn", SystemClock(), write) == "written"


@pytest.mark.parametrize("error", [Undecided("it may be in"), LeaseLost("not ours"), StoreError("refused")])
async def test_an_error_that_a_retry_would_double_or_not_fix_is_raised(error: SegueError) -> None:
    write, left = failing(error, error)
    with pytest.raises(type(error)):
        await retry_until_stored("a turn", SystemClock(), write)
    assert left == [error]
