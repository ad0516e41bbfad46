import pytest

from tests.flows.house import agent, channel, clock, kernel, open_kernel

__all__ = ["agent", "channel", "clock", "kernel", "open_kernel"]


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.import_plugin("tests.crash.figures")
