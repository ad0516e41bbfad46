"""How many turns may start within a limit of all processes."""

import pytest

from segue.kernel.transactions.guards.model_room import room


@pytest.mark.parametrize(
    ("most", "running", "for_users", "for_schedules"),
    [
        (1, 0, 1, 1),
        (1, 1, 0, 0),
        (2, 0, 2, 1),
        (2, 1, 1, 0),
        (8, 0, 8, 6),
        (8, 6, 2, 0),
        (8, 9, 0, 0),  # the limit was lowered
    ],
)
def test_scheduled_turns_leave_a_quarter_to_users(
    most: int, running: int, for_users: int, for_schedules: int
) -> None:
    assert room(most, running, for_users=False) == for_users
    assert room(most, running, for_users=True) == for_schedules
