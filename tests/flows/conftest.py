import pytest

from tests.flows.house import agent, channel, clock, kernel, open_kernel, store_settings
from tests.flows.recording_store import recording_store

__all__ = ["agent", "channel", "clock", "kernel", "open_kernel", "recording_store", "store_settings"]


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.import_plugin("tests.crash.figures")
