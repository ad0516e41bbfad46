"""The decision about a turn whose worker was lost, as a table."""

import pytest

from segue.model.states import FAILURES, MAX_CRASHES, Close, Outcome, Rerun, after_crash


@pytest.mark.parametrize(
    ("crash", "acted", "again"),
    [
        ("auto", False, True),
        ("auto", True, False),
        ("close", False, False),
        ("close", True, False),
        ("rerun", False, True),
        ("rerun", True, True),
    ],
)
def test_the_policy_decides(crash: str, acted: bool, again: bool) -> None:
    assert isinstance(after_crash(crash=crash, acted=acted, crashes=1), Rerun if again else Close)


@pytest.mark.parametrize("crash", ["auto", "close", "rerun"])
def test_the_third_crash_parks_it_whatever_the_policy_says(crash: str) -> None:
    end = after_crash(crash=crash, acted=False, crashes=MAX_CRASHES)
    assert end == Close("parked: its worker was lost 3 times in a row")


def test_each_end_gives_its_own_reason() -> None:
    reasons = {
        after_crash(crash="close", acted=False, crashes=1),
        after_crash(crash="auto", acted=True, crashes=1),
        after_crash(crash="auto", acted=True, crashes=3),
    }
    assert len(reasons) == 3


def test_only_errors_and_interruptions_are_failures() -> None:
    assert set(Outcome) - FAILURES == {
        Outcome.OK,
        Outcome.EMPTY,
        Outcome.ASKED,
        Outcome.STOPPED,
        Outcome.SKIPPED,
        Outcome.MISSED,
        Outcome.CANCELLED,
    }
