"""Digests: when the answers that wait are sent, and the one message that they become."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Self

from segue.errors import BadSetting
from segue.model.quiet.hours import at_time_of_day, read_clock
from segue.model.records import Delivery, slot_of
from segue.times.format import quoted
from segue.times.wall_triggers import Cron

_LEAST_SECONDS, _MOST_SECONDS = 60, 86_400


@dataclass(frozen=True, slots=True)
class Digest:
    """When a session sends the answers that its jobs collect: at a time of the day, or some time after the
    first of them."""

    at: str | None = None
    every_seconds: float | None = None

    def due(self, now: datetime, zone: str) -> datetime:
        """When an answer that is collected now is sent."""
        if self.at is None:
            return now + timedelta(seconds=self.every_seconds or _MOST_SECONDS)
        return _line(self.at, zone).next_after(now) or now

    def to_json(self) -> dict[str, Any]:
        return {"every_seconds": self.every_seconds} if self.at is None else {"at": self.at}

    @classmethod
    def from_json(cls, data: object) -> Self:
        """A digest as a caller gives it. Raises `BadSetting`."""
        if isinstance(data, Mapping) and data.keys() == {"at"}:
            return cls(at=read_clock(data["at"], "digest.at"))
        if isinstance(data, Mapping) and data.keys() == {"every_seconds"}:
            return cls(every_seconds=_seconds(data["every_seconds"]))
        raise BadSetting(
            f'digest is {{"at": "08:00"}} or {{"every_seconds": 3600}}, or null; got {quoted(data)}'
        )


def _seconds(value: object) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not _LEAST_SECONDS <= value <= _MOST_SECONDS:  # type: ignore[operator]
        raise BadSetting(
            f"digest.every_seconds is a number from {_LEAST_SECONDS} to {_MOST_SECONDS:,}; "
            f"got {quoted(value)}"
        )
    return float(value)  # type: ignore[arg-type]


@lru_cache(256)
def _line(at: str, zone: str) -> Cron:
    return at_time_of_day(at, zone)


def compose(answers: Sequence[Delivery]) -> str:
    """The text of one message for several answers: a heading for each job, and its answers by slot."""
    by_job: dict[str, list[Delivery]] = {}
    for answer in sorted(answers, key=_by_slot):
        by_job.setdefault(answer.source.job_id if answer.source else answer.id, []).append(answer)
    return "\n\n".join(
        "\n\n".join([_heading(of_job[0]), *(answer.content for answer in of_job)])
        for of_job in by_job.values()
    )


def _by_slot(answer: Delivery) -> tuple[int, str]:
    return (slot_of(answer.source.run_id) if answer.source else answer.created_at), answer.id


def _heading(answer: Delivery) -> str:
    return f"**{answer.source.label}**" if answer.source else "**Message**"
