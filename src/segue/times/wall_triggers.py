"""Triggers by wall time: cron lines and recurrence rules, in a time zone.

`cron_line` has the rule for the days on which clocks change; it holds for both.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, ClassVar, TypeAlias
from zoneinfo import ZoneInfo

from segue.errors import BadTrigger, ZoneNeeded
from segue.times import cron_line
from segue.times.days.day_sets import DaySet, check_named, day_set
from segue.times.days.working_days import Shift, WorkingWalls
from segue.times.format import quoted
from segue.times.moment import EARLIEST, LATEST, bounded, within_limits
from segue.times.rrule import Recurrence, read_rule

JSON: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Cron:
    """By a cron line of five fields, or a name such as `@daily`, in the wall time of a zone.

    It reads lists, ranges, steps, names (`MON`, `JAN`), `L`, `LW`, `5L` and `MON#2`, as cronsim does. A slot
    matches day or weekday; if one of them begins with `*`, it matches both.

    When the clocks change, a line whose minute or hour begins with `*` fires in every real hour. Any other
    fires once a day for each of its times: a time that does not exist, at the first moment after the gap; a
    time that comes twice, the first time.
    """

    expr: str
    tz: str | None = None
    """An IANA name. None: that of the session, else `Settings.timezone`, else `ZoneNeeded` is raised."""
    days: str | None = None
    """The name of a day set, such as `CN`: only its working days count."""
    shift: Shift = Shift.NONE
    """With `days`: where a slot on a day off moves to."""
    own_days: DaySet | None = field(default=None, compare=False, repr=False)
    """The set itself, if it is one of the account. The kernel sets it when a job is stored and when the set
    changes. None: the set comes with Segue."""

    kind: ClassVar[str] = "cron"
    repeats: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.expr, str):
            raise BadTrigger(f"a cron line is a string such as '0 9 * * 1-5', got {quoted(self.expr)}")
        expr = " ".join(self.expr.split())
        object.__setattr__(self, "expr", cron_line.CRON_NAMES.get(expr.lower(), expr))
        cron_line.read_line(self.expr)
        if self.tz is not None:
            check_zone(self.tz)
        object.__setattr__(self, "shift", _shift(self.shift))
        if self.days is not None:
            check_named(self.days)
        elif self.shift is not Shift.NONE:
            raise BadTrigger("shift moves a slot to a working day, so it needs days, for example days='CN'")

    def resolved(self, zone: str | None) -> "Cron":
        """Returns it with its own zone, or else this one. Raises ZoneNeeded if both are missing."""
        if self.tz is None and zone is None:
            raise ZoneNeeded(
                f"the cron line {quoted(self.expr)} needs a time zone, and none is known; give it one, for "
                "example tz='Europe/Berlin', or set the timezone of its session"
            )
        return self if self.tz else replace(self, tz=zone)

    def next_after(self, moment: datetime) -> datetime | None:
        slot = cron_line.next_slot(self.walls, self._zone, _naive(moment))
        return None if slot is None else within_limits(slot.replace(tzinfo=UTC))

    def latest_at_or_before(self, moment: datetime, after: datetime) -> datetime | None:
        slot = cron_line.latest_slot(self.walls, self._zone, _naive(after), _naive(moment))
        return None if slot is None else slot.replace(tzinfo=UTC)

    def count_between(self, after: datetime, until: datetime) -> int:
        return cron_line.count_slots(self.walls, self._zone, _naive(after), _naive(until))

    def first(self, now: datetime) -> datetime | None:
        return self.next_after(now)

    def to_json(self) -> JSON:
        days = {"days": self.days, "shift": str(self.shift)} if self.days else {}
        return {"kind": self.kind, "expr": self.expr, "tz": self.tz, **days}

    def __str__(self) -> str:
        words = cron_line.read_line(self.expr).explain()
        days = f", workdays ({self.days})" if self.days else ""
        return f"{words[0].lower()}{words[1:]}{days}" + (f", {self.tz}" if self.tz else "")

    def note(self, moment: datetime) -> str | None:
        """What its day set says about the day of a moment: a holiday, or that the calendar has ended."""
        return self.day_set.note(moment.astimezone(self._zone).date()) if self.days else None

    @property
    def day_set(self) -> DaySet:
        """The set that `days` names. Raises UnknownDays."""
        return self.own_days or day_set(self.days or "")

    @property
    def walls(self) -> cron_line.Walls:
        line = cron_line.read_line(self.expr)
        return WorkingWalls(line, self.day_set, self.shift) if self.days else line

    @property
    def _zone(self) -> ZoneInfo:
        if self.tz is None:
            raise BadTrigger(f"Cron({quoted(self.expr)}) has no zone yet; resolved(zone) gives it one")
        return zone_of_name(self.tz)


@dataclass(frozen=True, slots=True, init=False)
class RRule:
    """By a recurrence rule of RFC 5545, in the wall time of a zone: for what no cron line can say.

    `RRule("FREQ=WEEKLY;INTERVAL=2;BYDAY=FR", "2026-11-20T09:00", tz="Europe/Berlin")`. The start is a wall
    time. `exdate` and `rdate` are wall times that are left out and added.
    """

    rrule: str
    start: datetime
    tz: str | None
    """An IANA name. None: that of the session, else `Settings.timezone`, else `ZoneNeeded` is raised."""
    exdate: tuple[datetime, ...]
    rdate: tuple[datetime, ...]

    kind: ClassVar[str] = "rrule"
    repeats: ClassVar[bool] = True

    def __init__(
        self,
        rrule: str,
        start: datetime | str,
        tz: str | None = None,
        *,
        exdate: Sequence[datetime | str] = (),
        rdate: Sequence[datetime | str] = (),
    ) -> None:
        if not isinstance(rrule, str):
            raise BadTrigger(f"a rule is a string such as 'FREQ=WEEKLY;BYDAY=FR', got {quoted(rrule)}")
        object.__setattr__(self, "rrule", rrule.upper().removeprefix("RRULE:").strip().rstrip(";"))
        object.__setattr__(self, "start", _wall(start, "start"))
        object.__setattr__(self, "exdate", _walls(exdate, "exdate"))
        object.__setattr__(self, "rdate", _walls(rdate, "rdate"))
        object.__setattr__(self, "tz", tz)
        if tz is not None:
            check_zone(tz)
        read_rule(self.rrule, self.start, self.exdate, self.rdate)

    def resolved(self, zone: str | None) -> "RRule":
        """Returns it with its own zone, or else this one. Raises ZoneNeeded if both are missing."""
        if self.tz is None and zone is None:
            raise ZoneNeeded(
                f"the rule {quoted(self.rrule)} needs a time zone, and none is known; give it one, for "
                "example tz='Europe/Berlin', or set the timezone of its session"
            )
        return self if self.tz else replace(self, tz=zone)

    def next_after(self, moment: datetime) -> datetime | None:
        slot = cron_line.next_slot(self.walls, self._zone, _naive(moment))
        return None if slot is None else within_limits(slot.replace(tzinfo=UTC))

    def latest_at_or_before(self, moment: datetime, after: datetime) -> datetime | None:
        slot = cron_line.latest_slot(self.walls, self._zone, _naive(after), _naive(moment))
        return None if slot is None else slot.replace(tzinfo=UTC)

    def count_between(self, after: datetime, until: datetime) -> int:
        return cron_line.count_slots(self.walls, self._zone, _naive(after), _naive(until))

    def first(self, now: datetime) -> datetime | None:
        return self.next_after(now)

    def to_json(self) -> JSON:
        shape: JSON = {"kind": self.kind, "rrule": self.rrule, "start": _text(self.start), "tz": self.tz}
        dates = {"exdate": self.exdate, "rdate": self.rdate}
        return shape | {name: [_text(wall) for wall in walls] for name, walls in dates.items() if walls}

    def __str__(self) -> str:
        return self.walls.explain() + (f", {self.tz}" if self.tz else "")

    @property
    def walls(self) -> Recurrence:
        return read_rule(self.rrule, self.start, self.exdate, self.rdate)

    @property
    def _zone(self) -> ZoneInfo:
        if self.tz is None:
            raise BadTrigger(f"RRule({quoted(self.rrule)}) has no zone yet; resolved(zone) gives it one")
        return zone_of_name(self.tz)


def _shift(value: object) -> Shift:
    for shift in Shift:
        if value == shift:
            return shift
    raise BadTrigger(f"shift is 'none', 'next' or 'previous', got {quoted(value)}")


def _wall(value: object, what: str) -> datetime:
    """A wall time to the second, from a naive datetime or its ISO text. Raises BadTrigger."""
    try:
        wall = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        wall = None
    if not isinstance(wall, datetime) or wall.tzinfo is not None:
        raise BadTrigger(
            f"the {what} of a rule is a wall time without an offset, for example '2026-11-20T09:00', "
            f"got {quoted(value)}"
        )
    if not EARLIEST.year < wall.year < LATEST.year - 100:
        raise BadTrigger(
            f"the {what} of a rule must lie between the years 1971 and 8899, got {quoted(value)}"
        )
    return wall.replace(microsecond=0)


def _walls(values: object, what: str) -> tuple[datetime, ...]:
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise BadTrigger(f"the {what} of a rule is a list of wall times, got {quoted(values)}")
    return tuple(_wall(value, what) for value in values)


def _text(wall: datetime) -> str:
    return wall.isoformat(timespec="seconds" if wall.second else "minutes")


def check_zone(name: object) -> None:
    if not isinstance(name, str):
        raise BadTrigger(f"tz is the name of a zone, for example 'Europe/Berlin', got {quoted(name)}")
    zone_of_name(name)


def zone_of_name(name: str) -> ZoneInfo:
    zone = cron_line.zone_named(name)
    if zone is None:
        raise BadTrigger(
            f"there is no time zone {quoted(name)}; use an IANA name, for example 'Europe/Berlin' or 'UTC'"
        )
    return zone


def _naive(moment: datetime) -> datetime:
    return bounded(moment).replace(tzinfo=None)
