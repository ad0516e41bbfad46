"""Archive boundaries: finds where a session's log may be cut, between two exchanges and never within one.

A turn is not split between its first start and its last end, whatever was written in between. Outside of
turns, an answer stays with the question before it. A running turn is not archived, nor is anything after its
start.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple


class ArchiveMark(NamedTuple):
    """A message, or the start or the end of a turn, by its event number."""

    seq: int
    type: str
    turn_id: str | None
    role: str | None
    scheduled: bool
    tokens: int

    @property
    def plain(self) -> bool:
        """Whether it was written outside of any turn."""
        return self.turn_id is None and not self.scheduled


def cut(marks: Sequence[ArchiveMark], keep: int, under_way: Collection[str]) -> int:
    """Returns how many of the marks are archived if at least the newest `keep` messages stay."""
    ended = _ended(marks, under_way)
    after = sum(mark.role is not None for mark in marks[ended:])
    boundaries = _boundaries(marks, ended)
    for index in range(ended, 0, -1):
        if after >= keep and index in boundaries:
            return index
        after += marks[index - 1].role is not None
    return 0


def _ended(marks: Sequence[ArchiveMark], under_way: Collection[str]) -> int:
    """How many marks come before the first turn that has not ended."""
    return next((index for index, mark in enumerate(marks) if mark.turn_id in under_way), len(marks))


def _boundaries(marks: Sequence[ArchiveMark], ended: int) -> set[int]:
    last = {mark.turn_id: index for index, mark in enumerate(marks[:ended]) if mark.turn_id}
    boundaries = set()
    reach = -1
    for index, mark in enumerate(marks[:ended]):
        reach = max(reach, index, last.get(mark.turn_id or "", -1))
        if index == reach and not (index + 1 < len(marks) and _answers(marks[index + 1], mark)):
            boundaries.add(index + 1)
    return boundaries


def _answers(mark: ArchiveMark, before: ArchiveMark) -> bool:
    return mark.plain and mark.role == "assistant" and before.plain and before.role == "user"
