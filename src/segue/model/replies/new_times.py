"""New times of day: moves a schedule to another time of day, for `make it 8` and `make 9 8`."""

import re
from dataclasses import replace
from datetime import datetime, time
from zoneinfo import ZoneInfo

from segue.errors import BadTrigger
from segue.model.replies.controls import Control
from segue.times.trigger import At, Cron, Trigger

_NUMBERS = re.compile(r"\d+(,\d+)*")


def at_time(control: Control, trigger: Trigger, zone: str, now: datetime) -> Trigger:
    """The trigger at the control's time of day. Raises BadTrigger."""
    assert control.at is not None  # a control without a schedule has a time
    if isinstance(trigger, At):
        return _moment_at(control.at, trigger, zone, now)
    times = times_of(trigger)
    if not times or not isinstance(trigger, Cron):
        raise BadTrigger(
            f"it runs {trigger}, not at a time of day. Say a schedule, such as ‘every day at 8’."
        )
    old = control.instead_of
    if old is None and len(times) > 1:
        said = f"{', '.join(map(_said, times[:-1]))} and {_said(times[-1])}"
        which = f"‘make {_said(times[0])} {_said(control.at)}’"
        raise BadTrigger(f"It runs at {said}. Say which: {which}.")
    if old is not None and old not in times:
        raise BadTrigger(f"it does not run at {_said(old)}, but at {', '.join(map(_said, times))}.")
    return _moved([control.at if each == (old or times[0]) else each for each in times], trigger)


def times_of(trigger: Trigger) -> list[time]:
    """The times of day of a cron line; none if it has no fixed ones."""
    if not isinstance(trigger, Cron):
        return []
    minutes, hours, *_ = trigger.expr.split()
    if not _NUMBERS.fullmatch(minutes) or not _NUMBERS.fullmatch(hours):
        return []
    return [time(hour, minute) for hour in _values(hours) for minute in _values(minutes)]


def undo_of(control: Control, trigger: Trigger) -> str | None:
    """The reply that moves the schedule back to this trigger; None if no short one does."""
    times = times_of(trigger)
    if control.at is not None and control.instead_of is not None:
        return f"make {_said(control.at)} {_said(control.instead_of)}"
    return f"make it {_said(times[0])}" if control.at is not None and len(times) == 1 else None


def _values(field: str) -> list[int]:
    return sorted({int(value) for value in field.split(",")})


def _moment_at(at: time, trigger: At, zone: str, now: datetime) -> At:
    day = trigger.moment.astimezone(ZoneInfo(zone))
    moment = day.replace(hour=at.hour, minute=at.minute, second=0, microsecond=0, fold=0)
    if moment <= now:
        raise BadTrigger(f"{moment:%H:%M} on {moment:%a %d %b} has passed. Say a later time.")
    return replace(trigger, at=moment)


def _moved(times: list[time], trigger: Cron) -> Cron:
    minutes, hours = sorted({each.minute for each in times}), sorted({each.hour for each in times})
    if len(minutes) * len(hours) != len(set(times)):
        said = ", ".join(_said(each) for each in sorted(times))
        raise BadTrigger(f"one schedule cannot run at {said}. Choose times with the same minutes.")
    _, _, *days = trigger.expr.split()
    line = [",".join(map(str, minutes)), ",".join(map(str, hours)), *days]
    return replace(trigger, expr=" ".join(line))


def _said(at: time) -> str:
    return f"{at:%H:%M}" if at.minute else str(at.hour)
