"""Recording channel: keeps what it is given to send."""

from collections import deque

from segue.model.channel import Capabilities, Channel, Receipt
from segue.model.records import Delivery


class RecordingChannel(Channel):
    def __init__(self, name: str, *, idempotent: bool = False) -> None:
        self.name = name
        self.idempotent = idempotent
        self.sent: list[Delivery] = []
        self._failures: deque[Exception] = deque()

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(idempotent=self.idempotent)

    @property
    def texts(self) -> list[str]:
        return [delivery.content for delivery in self.sent]

    def fail(self, *errors: Exception) -> None:
        """Let the next sends raise these, one each: `NotTaken`, or any other error for an unknown outcome."""
        self._failures.extend(errors)

    async def send(self, delivery: Delivery) -> Receipt:
        if self._failures:
            raise self._failures.popleft()
        if self.idempotent and any(delivery.id == known.id for known in self.sent):
            return Receipt(f"{self.name}-{delivery.id}")
        self.sent.append(delivery)
        return Receipt(f"{self.name}-{delivery.id}")
