"""Whoever insists writes again while the store is away, and only then."""

from collections.abc import Awaitable, Callable

import pytest

from segue.errors import LeaseLost, SegueError, StoreError, StoreUnavailable, Undecided
from segue.kernel.workers.retry import retry_until_stored
from segue.times.clock import SystemClock


def failing(*errors: SegueError) -> tuple[Callable[[], Awaitable[str]], list[SegueError]]:
    """A write that fails with each of these, and then succeeds; and those that are left."""
    left = [*errors]

    async def write() -> str:
        if left:
            raise left.pop(0)
        return "written"

    return write, left


async def test_a_store_that_is_away_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("segue.kernel.workers.retry._FIRST_PAUSE_MS", 1)
    write, _ = failing(StoreUnavailable("away"), StoreUnavailable("still away"))
    assert await retry_until_stored("a turn", SystemClock(), write) == "written"


@pytest.mark.parametrize("error", [Undecided("it may be in"), LeaseLost("not ours"), StoreError("refused")])
async def test_what_another_try_would_double_or_not_cure_is_raised(error: SegueError) -> None:
    write, left = failing(error, error)
    with pytest.raises(type(error)):
        await retry_until_stored("a turn", SystemClock(), write)
    assert left == [error]
