from tests.flows.house import agent, channel, clock, kernel, open_kernel

__all__ = ["agent", "channel", "clock", "kernel", "open_kernel"]
