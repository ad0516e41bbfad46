"""The journal: what workers really did, written outside the database that they are tested on.

A fact is one line, appended in one write: lines of several processes never mix, and what was written survives
the process that wrote it. Moments are of the monotonic clock, which all processes of a machine share.
"""

import json
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from itertools import groupby, pairwise
from pathlib import Path


class Did(StrEnum):
    READY = "ready"
    LEASED = "leased"
    STARTED = "started"
    ACTED = "acted"
    ENDED = "ended"
    CANCELLED = "cancelled"
    """Its agent was cancelled."""
    RESCUED = "rescued"
    """It reclaimed the lane of another worker."""
    REFUSED = "refused"
    ACCEPTED = "accepted"
    """A late write, which must not be."""
    DIED = "died"
    STOPPED = "stopped"
    RESUMED = "resumed"
    CUT_OFF = "cut off"
    """The network of its machine was cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    did: Did
    at: float
    pid: int
    session: str = ""
    turn: str = ""
    fence: int = 0
    note: str = ""


class Journal:
    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()

    def write(
        self,
        did: Did,
        *,
        pid: int | None = None,
        session: str = "",
        turn: str = "",
        fence: int = 0,
        note: str = "",
    ) -> None:
        entry = Entry(
            did=did,
            at=time.monotonic(),
            pid=pid or os.getpid(),
            session=session,
            turn=turn,
            fence=fence,
            note=note,
        )
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(file, json.dumps(asdict(entry)).encode() + b"\n")
        finally:
            os.close(file)

    def entries(self, *kinds: Did) -> list[Entry]:
        lines = self.path.read_bytes().split(b"\n")[:-1]
        entries = (Entry(**(fields := json.loads(line)) | {"did": Did(fields["did"])}) for line in lines)
        return [entry for entry in entries if not kinds or entry.did in kinds]


@dataclass(frozen=True, slots=True)
class Stretch:
    """An agent at work on a turn, from its start to its end, or until its process died or was stopped."""

    session: str
    begun: float
    ended: float
    start: Entry


def overlaps(entries: Iterable[Entry]) -> list[tuple[Entry, Entry]]:
    """Agents that were at work in one session at the same time."""
    stretches = sorted(_stretches(list(entries)), key=lambda one: (one.session, one.begun))
    return [
        (before.start, after.start)
        for _, of_session in groupby(stretches, key=lambda one: one.session)
        for before, after in pairwise(of_session)
        if after.begun < before.ended
    ]


def _stretches(entries: list[Entry]) -> Iterator[Stretch]:
    for index, start in enumerate(entries):
        if start.did is Did.STARTED:
            ended = next((entry.at for entry in entries[index:] if _ends(entry, start)), float("inf"))
            yield Stretch(start.session, start.at, ended, start)


def _ends(entry: Entry, start: Entry) -> bool:
    if entry.pid != start.pid:
        return False
    same = (entry.turn, entry.fence) == (start.turn, start.fence)
    return entry.did in (Did.DIED, Did.STOPPED) or (same and entry.did in (Did.ENDED, Did.CANCELLED))


def fences_out_of_order(entries: Iterable[Entry]) -> list[tuple[Entry, Entry]]:
    """Leases of one session that did not get a higher fence than the one before."""
    leased = sorted((e for e in entries if e.did is Did.LEASED), key=lambda one: (one.session, one.fence))
    return [
        (before, after)
        for before, after in pairwise(leased)
        if before.session == after.session and (after.fence == before.fence or after.at < before.at)
    ]
