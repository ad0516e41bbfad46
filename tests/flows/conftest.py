from tests.flows.house import agent, channel, clock, kernel, open_kernel
from tests.flows.watched import watched

__all__ = ["agent", "channel", "clock", "kernel", "open_kernel", "watched"]
