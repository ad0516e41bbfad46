import pytest

from tests.flows.house import agent, channel, clock, kernel, open_kernel, store_settings

__all__ = ["agent", "channel", "clock", "kernel", "open_kernel", "store_settings"]


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.import_plugin("tests.crash.figures")
