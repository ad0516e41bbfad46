"""Where a session may be cut: between two exchanges, never within one.

A turn is whole from its first start to its last end, whatever was written meanwhile. Outside of turns, an
answer stays with the question that it follows. A turn that has started and has not ended is not touched, and
nothing that came after its start is.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple


class ArchiveMark(NamedTuple):
    """A message, or the start or the end of a turn, at its place in the log."""

    seq: int
    type: str
    turn_id: str | None
    role: str | None
    scheduled: bool
    tokens: int

    @property
    def plain(self) -> bool:
        """Written by people or programs outside of any turn."""
        return self.turn_id is None and not self.scheduled


def cut(marks: Sequence[ArchiveMark], keep: int, under_way: Collection[str]) -> int:
    """How many of these marks a commit puts away, if the newest messages of that number are kept."""
    settled = _settled(marks, under_way)
    after = sum(mark.role is not None for mark in marks[settled:])
    seams = _seams(marks, settled)
    for place in range(settled, 0, -1):
        if after >= keep and place in seams:
            return place
        after += marks[place - 1].role is not None
    return 0


def _settled(marks: Sequence[ArchiveMark], under_way: Collection[str]) -> int:
    """How many marks stand before the first turn that has not ended."""
    return next((place for place, mark in enumerate(marks) if mark.turn_id in under_way), len(marks))


def _seams(marks: Sequence[ArchiveMark], settled: int) -> set[int]:
    last = {mark.turn_id: place for place, mark in enumerate(marks[:settled]) if mark.turn_id}
    seams = set()
    reach = -1
    for place, mark in enumerate(marks[:settled]):
        reach = max(reach, place, last.get(mark.turn_id or "", -1))
        if place == reach and not (place + 1 < len(marks) and _answers(marks[place + 1], mark)):
            seams.add(place + 1)
    return seams


def _answers(mark: ArchiveMark, before: ArchiveMark) -> bool:
    return mark.plain and mark.role == "assistant" and before.plain and before.role == "user"
