"""Crash suspects: a process runs turns that may have crashed it one at a time.

A crash counts against every turn that the process was running, because the one at fault is not known. If all
turns that crashed twice were rerun side by side, a third crash would park all of them. So they are rerun one
at a time: a turn that is parked after the third crash was the only suspect running.
"""

from collections.abc import Iterable

from segue.model.records import Turn
from segue.times.clock import Clock

LONGEST_MS = 60_000
"""A suspect that has run for so long no longer keeps the next one waiting."""


class CrashSuspects:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._reserved = False
        self._turn_id: str | None = None
        self._over_at = 0

    def reserve(self) -> bool:
        """Whether a lease may start a suspect now. If so, the caller must then call `begin`."""
        under_way = self._turn_id is not None and self._clock.steady_ms() < self._over_at
        if self._reserved or under_way:
            return False
        self._reserved = True
        return True

    def begin(self, taken: Iterable[Turn]) -> None:
        """End the reservation; `taken` are the turns that the lease has started."""
        self._reserved = False
        self._turn_id = next((turn.id for turn in taken if turn.on_trial), None)
        self._over_at = self._clock.steady_ms() + LONGEST_MS

    def end(self, turn: Turn) -> None:
        if turn.id == self._turn_id:
            self._turn_id = None
