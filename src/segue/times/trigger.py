"""Triggers: when a job is due: at a moment, at an interval, by a cron line or a rule, or after a silence.

A trigger names *slots*, the nominal moments of a job's runs. It is a value: it reads no clock, and its
results depend only on its fields and its arguments.

    next_after(moment)                    the first slot strictly after a moment; None: there is none
    latest_at_or_before(moment, after)    the newest slot in (after, moment]; None: there is none
    count_between(after, until)           how many slots lie in (after, until], without visiting them
    first(now)                            the first slot of a job that is made now; None: it would never run

Invariants
  - arguments are aware moments; results are in UTC and in whole milliseconds, as the store keeps them: a slot
    that was stored and read is equal to the one that the trigger names
  - no slot lies before 1970 or in the year 9000 or later
  - intervals add in UTC; cron lines and rules are wall time in their zone (`wall_triggers`)
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, ClassVar, TypeAlias

from segue.errors import BadTrigger
from segue.times.days.day_sets import stored_day_set
from segue.times.format import quoted, spoken
from segue.times.moment import bounded, duration, in_seconds, storable, whole, within_limits
from segue.times.wall_triggers import Cron, RRule, check_zone, zone_of_name

__all__ = [
    "At",
    "Cron",
    "Every",
    "Idle",
    "Phase",
    "RRule",
    "Trigger",
    "resolve",
    "stored_json",
    "stored_kind",
    "trigger_from_json",
    "trigger_from_stored",
]

_LONGEST_WORDS = 200

JSON: TypeAlias = dict[str, Any]


class Phase(StrEnum):
    """What the next slot of an `Every` counts from."""

    FIXED = "fixed"
    """From the start: the rhythm does not move when a run is late, and survives restarts."""
    RELATIVE = "relative"
    """From the last slot or from now, whichever is later: runs are always a whole interval apart."""


@dataclass(frozen=True, slots=True)
class At:
    """Once, at a moment.

    `at` is a datetime with a zone, a naive one in the zone `tz`, or words such as "tomorrow at 08:00"
    (`docs/reference/times.md`). Words are read when the job is made: in the zone that they name, else `tz`,
    else the session's zone, else `Settings.timezone`.
    """

    at: datetime | str
    tz: str | None = None

    kind: ClassVar[str] = "at"
    repeats: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.tz is not None:
            check_zone(self.tz)
        if not isinstance(self.at, str):
            object.__setattr__(self, "at", storable(_placed(self.at, self.tz), "At"))
        elif not 0 < len(self.at) <= _LONGEST_WORDS:
            raise BadTrigger(f"At takes words of 1 to {_LONGEST_WORDS} characters, got {len(self.at):,}")

    @property
    def moment(self) -> datetime:
        if isinstance(self.at, str):
            raise BadTrigger(f"At({quoted(self.at)}) is still words; resolved(now, zone) makes it a moment")
        return self.at

    def resolved(self, now: datetime, zone: str | None = None) -> "At":
        """Returns it with a moment instead of words; `zone` is used if neither the words nor `tz` name one.

        The zone in which the words were read is kept, to show the moment. Raises BadTime.
        """
        if isinstance(self.at, datetime):
            return self
        from segue.times.reader import read  # the grammar is large, and most triggers never need it

        moment = read(self.at, now=now, zone=self.tz or zone)
        return replace(self, at=moment, tz=self.tz or getattr(moment.tzinfo, "key", None))

    def next_after(self, moment: datetime) -> datetime | None:
        return self.moment if self.moment > moment else None

    def latest_at_or_before(self, moment: datetime, after: datetime) -> datetime | None:
        return self.moment if after < self.moment <= moment else None

    def count_between(self, after: datetime, until: datetime) -> int:
        return int(after < self.moment <= until)

    def first(self, now: datetime) -> datetime | None:
        return self.moment if self.moment >= now else None

    def to_json(self) -> JSON:
        at = self.at if isinstance(self.at, str) else self.at.isoformat()
        return {"kind": self.kind, "at": at} | ({"tz": self.tz} if self.tz else {})

    def __str__(self) -> str:
        if isinstance(self.at, str):
            return self.at
        local = self.at.astimezone(zone_of_name(self.tz or "UTC"))
        return f"{local:%Y-%m-%d %H:%M} {self.tz or 'UTC'}"


@dataclass(frozen=True, slots=True, init=False)
class Every:
    """Repeatedly, at an interval of 1 second to 10 years, given in seconds or as a `timedelta`.

    A `start` in the future is the first slot.
    """

    interval: timedelta
    start: datetime | None
    phase: Phase

    kind: ClassVar[str] = "every"
    repeats: ClassVar[bool] = True

    def __init__(
        self, interval: float | timedelta, *, start: datetime | None = None, phase: Phase = Phase.FIXED
    ) -> None:
        object.__setattr__(self, "interval", duration(interval, "Every"))
        object.__setattr__(self, "start", None if start is None else storable(start, "the start of Every"))
        object.__setattr__(self, "phase", _phase(phase))

    def anchored(self, now: datetime) -> "Every":
        """Returns it with a start, from which the slots are counted. A relative one needs none."""
        if self.start is not None or self.phase is Phase.RELATIVE:
            return self
        return replace(self, start=now)

    def next_after(self, moment: datetime) -> datetime | None:
        moment = bounded(moment)
        if self.phase is Phase.RELATIVE:
            if self.start is not None and moment < self.start:
                return self.start
            return within_limits(whole(moment) + self.interval)
        return within_limits(self._anchor + self._passed(moment) * self.interval)

    def latest_at_or_before(self, moment: datetime, after: datetime) -> datetime | None:
        if self.phase is Phase.RELATIVE:
            return _if_by(self.next_after(after), moment)
        passed = self._passed(bounded(moment))
        if passed <= self._passed(bounded(after)):
            return None
        return self._anchor + (passed - 1) * self.interval

    def count_between(self, after: datetime, until: datetime) -> int:
        """A relative trigger has one slot at a time: the next is counted from the end of this one."""
        if self.phase is Phase.RELATIVE:
            return int(self.latest_at_or_before(until, after) is not None)
        return max(0, self._passed(bounded(until)) - self._passed(bounded(after)))

    def first(self, now: datetime) -> datetime | None:
        return self.anchored(now).next_after(now)

    def to_json(self) -> JSON:
        shape = {"kind": self.kind, "every_seconds": in_seconds(self.interval), "phase": str(self.phase)}
        return shape | ({"start": self.start.isoformat()} if self.start else {})

    def __str__(self) -> str:
        if self.phase is Phase.RELATIVE:
            return f"{spoken(self.interval)} after the last run"
        return f"every {spoken(self.interval)}"

    @property
    def _anchor(self) -> datetime:
        if self.start is None:
            raise BadTrigger(f"Every({spoken(self.interval)}) has no start yet; anchored(now) gives it one")
        return self.start

    def _passed(self, moment: datetime) -> int:
        """How many slots lie at or before a moment."""
        return max(0, (moment - self._anchor) // self.interval + 1)


@dataclass(frozen=True, slots=True, init=False)
class Idle:
    """When the session has been quiet for this long. A user's message restarts the wait."""

    quiet: timedelta

    kind: ClassVar[str] = "idle"
    repeats: ClassVar[bool] = True

    def __init__(self, quiet: float | timedelta) -> None:
        object.__setattr__(self, "quiet", duration(quiet, "Idle"))

    def next_after(self, moment: datetime) -> datetime | None:
        """When the silence is long enough; `moment` is that of the last message."""
        return within_limits(whole(bounded(moment)) + self.quiet)

    def latest_at_or_before(self, moment: datetime, after: datetime) -> datetime | None:
        return _if_by(self.next_after(after), moment)

    def count_between(self, after: datetime, until: datetime) -> int:
        return int(self.latest_at_or_before(until, after) is not None)

    def first(self, now: datetime) -> datetime | None:
        return self.next_after(now)

    def to_json(self) -> JSON:
        return {"kind": self.kind, "idle_seconds": in_seconds(self.quiet)}

    def __str__(self) -> str:
        return f"after {spoken(self.quiet)} of silence"


Trigger: TypeAlias = At | Every | Cron | RRule | Idle
"""When a job is due."""


def resolve(trigger: Trigger, *, now: datetime, zone: str | None) -> Trigger:
    """Returns the trigger as it is stored with a job: with its moment, its start or its zone."""
    match trigger:
        case At():
            return trigger.resolved(now, zone)
        case Every():
            return trigger.anchored(now)
        case Cron() | RRule():
            return trigger.resolved(zone)
        case Idle():
            return trigger


def stored_kind(trigger: Trigger) -> str:
    """The kind by which queries tell jobs apart. A rule is stored among the cron lines: both repeat by the
    clock, and the trigger itself says which it is."""
    return Cron.kind if isinstance(trigger, RRule) else trigger.kind


def stored_json(trigger: Trigger) -> JSON:
    """The trigger as a job's row has it: with the day set, if that is one of the account."""
    own = trigger.own_days if isinstance(trigger, Cron) else None
    return trigger.to_json() | ({"own_days": own.text} if own else {})


def trigger_from_stored(data: JSON) -> Trigger:
    own = data.pop("own_days", None)
    trigger = trigger_from_json(data)
    return replace(trigger, own_days=stored_day_set(own)) if own and isinstance(trigger, Cron) else trigger


def trigger_from_json(data: Mapping[str, Any]) -> Trigger:
    match data:
        case {"kind": "at", "at": at, **rest}:
            return At(_moment_or_words(at), **_only(rest, "tz"))
        case {"kind": "every", "every_seconds": interval, **rest}:
            options = _only(rest, "start", "phase")
            if options.get("start") is not None:
                options["start"] = _moment_or_words(options["start"])
            return Every(interval, **options)
        case {"kind": "cron", "expr": expr, **rest}:
            return Cron(expr, **_only(rest, "tz", "days", "shift"))
        case {"kind": "rrule", "rrule": rule, "start": start, **rest}:
            return RRule(rule, start, **_only(rest, "tz", "exdate", "rdate"))
        case {"kind": "idle", "idle_seconds": quiet, **rest}:
            return Idle(quiet, **_only(rest))
    raise BadTrigger(
        "a schedule is {kind: at, at: …}, {kind: every, every_seconds: …}, {kind: cron, expr: …}, "
        f"{{kind: rrule, rrule: …, start: …}} or {{kind: idle, idle_seconds: …}}, got {quoted(data)}"
    )


def _only(fields: JSON, *known: str) -> JSON:
    for name in fields:
        if name not in known:
            allowed = f"only {' and '.join(known)} may be added" if known else "nothing may be added"
            raise BadTrigger(f"a schedule of this kind has no field {quoted(name)}: {allowed}")
    return fields


def _moment_or_words(value: object) -> Any:
    """A text with date, time and offset as a moment; any other value unchanged, for the caller to check."""
    if not isinstance(value, str):
        return value
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return value
    return moment if moment.tzinfo else value


def _placed(moment: object, tz: str | None) -> object:
    """A naive moment with the named zone; any other value unchanged."""
    if isinstance(moment, datetime) and moment.tzinfo is None and tz is not None:
        return moment.replace(tzinfo=zone_of_name(tz))
    return moment


def _phase(value: object) -> Phase:
    for phase in Phase:
        if value == phase:
            return phase
    raise BadTrigger(f"phase is 'fixed' or 'relative', got {quoted(value)}")


def _if_by(slot: datetime | None, moment: datetime) -> datetime | None:
    return slot if slot is not None and slot <= moment else None
