"""How much of its conversation a scheduled turn is given."""

from enum import StrEnum


class View(StrEnum):
    FULL = "full"
    """All that fits."""
    SINCE_LAST_RUN = "since_last_run"
    """Its job's last run, and what came after it."""
    TAIL = "tail"
    """The newest twenty messages."""
    SUMMARY = "summary"
    """The summary and the memories, and no message."""
