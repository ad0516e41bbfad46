"""A caller of PostgreSQL, with the future of whoever waits for it, and what befell it meanwhile."""

from asyncio import Future
from time import monotonic
from typing import Any

from segue.store.database import Begin
from segue.store.lockstep.caller import Caller, Keys


class Waiter(Caller):
    def __init__(self, begin: Begin[Any], outcome: Future[Any], keys: Keys) -> None:
        super().__init__(begin, keys)
        self.outcome = outcome
        self.since = monotonic()
        self.losses = 0
        """How often the connection was lost under it."""
        self.passes = 0
        """How often it was passed over because another process had its session."""

    def settle(self) -> None:
        if self.error is not None:
            self.fail(self.error)
        elif not self.outcome.done():
            self.outcome.set_result(self.result)

    def give_up(self, error: Exception) -> None:
        """Tell that it failed, and see to it that it does."""
        self.withdrawn = True
        self.fail(error)

    def fail(self, error: Exception) -> None:
        # A caller that was cancelled wants no answer.
        if not self.outcome.done():
            self.outcome.set_exception(error)
            # Looked at here, for a caller that is cancelled in this very moment will not.
            self.outcome.exception()
