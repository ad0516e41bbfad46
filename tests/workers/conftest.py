from pathlib import Path

import pytest

from tests.flows.house import agent, channel, clock, kernel, open_kernel, store_settings
from tests.warm import migrated_postgres_url, nothing_is_left_behind, share_a_loop

__all__ = [
    "agent",
    "channel",
    "clock",
    "kernel",
    "migrated_postgres_url",
    "nothing_is_left_behind",
    "open_kernel",
    "store_settings",
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    share_a_loop(items, Path(__file__).parent)
