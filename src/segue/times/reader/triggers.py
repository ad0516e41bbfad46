"""Makes the trigger of what the parser has read."""

from zoneinfo import ZoneInfo

from segue.times.reader.repeats import Interval, Moment, RepeatedCronLine, RepeatedRule, When
from segue.times.trigger import At, Cron, Every, RRule, Trigger


def trigger_of(when: When, zone: str | None = None) -> Trigger:
    """Returns the trigger; `zone` is that of a moment which has only an offset."""
    match when:
        case Interval(seconds):
            return Every(seconds)
        case RepeatedCronLine(expr, named):
            return Cron(expr, tz=named)
        case RepeatedRule(rrule, start, named):
            return RRule(rrule, start, tz=named)
        case Moment(at):
            own = at.tzinfo.key if isinstance(at.tzinfo, ZoneInfo) else None
            return At(at, tz=own or zone)
