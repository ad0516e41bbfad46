"""A channel: a surface that a session speaks through.

For a session whose channel nobody registered, and for those that read the log itself (the page, the
terminal), stored is sent.
"""

from dataclasses import dataclass
from typing import Protocol

from segue.model import Delivery


class NotTaken(Exception):
    """The channel refused the message before taking it, so a repeat cannot double it."""

    def __init__(self, reason: str, *, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class Receipt:
    """The channel took it. `message_id` is its own name for the message, where it has one."""

    message_id: str | None = None


class Channel(Protocol):
    name: str
    """The first part of its sessions' keys."""

    idempotent: bool
    """Sending the same delivery id twice delivers once."""

    async def send(self, delivery: Delivery) -> Receipt:
        """Deliver, or raise NotTaken when it certainly was not. Any other error: nobody knows."""
        ...
