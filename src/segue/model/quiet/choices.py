"""Choices of a job for quiet hours and digests, as its policy names them."""

from enum import StrEnum


class Quiet(StrEnum):
    """What a job does in the quiet hours of its session."""

    DEFER = "defer"
    """It runs once when they end, however many slots that run stands for."""
    SKIP = "skip"
    """Its slots are skipped: one record for all of them."""
    HOLD = "hold"
    """It runs at its time, and its answer is sent when they end."""
    THROUGH = "through"
    """It runs at its time, and its answer is sent at once."""


class Tell(StrEnum):
    """When the answers of a job are sent."""

    NOW = "now"
    DIGEST = "digest"
    """With the next digest of the session, if it has one."""
