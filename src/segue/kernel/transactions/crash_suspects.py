"""The trial: in a process, one turn at a time that may be what ended its workers.

A crash is counted against every turn of the process, for nobody knows which of them caused it. If those whose
worker was lost twice were tried again side by side, the third crash would park them all. So each has its last
chance apart from the others; what is parked then was alone under suspicion.
"""

from collections.abc import Iterable

from segue.model.records import Turn
from segue.times.clock import Clock

LONGEST_MS = 60_000
"""A turn that has run for so long no longer keeps the next one waiting."""


class CrashSuspects:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._reserved = False
        self._turn_id: str | None = None
        self._over_at = 0

    def reserve(self) -> bool:
        """Whether a lease that begins now may bring one; if so, it has to be told what came of it."""
        under_way = self._turn_id is not None and self._clock.steady_ms() < self._over_at
        if self._reserved or under_way:
            return False
        self._reserved = True
        return True

    def begin(self, taken: Iterable[Turn]) -> None:
        """These came of the lease that it was reserved for."""
        self._reserved = False
        self._turn_id = next((turn.id for turn in taken if turn.on_trial), None)
        self._over_at = self._clock.steady_ms() + LONGEST_MS

    def end(self, turn: Turn) -> None:
        if turn.id == self._turn_id:
            self._turn_id = None
