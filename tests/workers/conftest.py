from tests.flows.house import agent, channel, clock, kernel, open_kernel, store_settings

__all__ = ["agent", "channel", "clock", "kernel", "open_kernel", "store_settings"]
