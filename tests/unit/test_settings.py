"""Settings are checked when they are made."""

import math
from typing import Any

import pytest

from segue import Settings, WhenBusy
from segue.errors import BadSetting


def test_the_defaults_are_those_of_the_contract() -> None:
    """4.5, 6.3: two minutes of patience; 200 runs a job, and 90 days."""
    settings = Settings()
    assert (settings.runners, settings.user_runners, settings.lease_seconds) == (3, 32, 15)
    assert (settings.patience_seconds, settings.shutdown_grace_seconds) == (120, 20)
    assert (settings.runs_per_job, settings.retention_days) == (200, 90)
    assert settings.when_busy is WhenBusy.ENQUEUE


@pytest.mark.parametrize(
    "wrong",
    [
        {"runners": -1},
        {"user_runners": "many"},
        {"lease_seconds": 0},
        {"lease_seconds": math.nan},
        {"patience_seconds": math.inf},
        {"turn_timeout_seconds": True},
        {"runs_per_job": 0},
        {"retention_days": 10**9},
        {"when_busy": "shout"},
        {"timezone": "Middle/Earth"},
        {"timezone": "../etc/passwd"},
        {"timezone": ""},
    ],
    ids=str,
)
def test_a_wrong_setting_is_named(wrong: dict[str, Any]) -> None:
    [name] = wrong
    with pytest.raises(BadSetting, match=name):
        Settings(**wrong)


def test_a_setting_that_does_not_exist_is_refused() -> None:
    with pytest.raises(TypeError):
        Settings(runers=3)  # type: ignore[call-arg]
