"""Makes the trigger of what the parser has read."""

from zoneinfo import ZoneInfo

from segue.errors import BadTrigger
from segue.times.reader.repeats import Interval, Moment, RepeatedCronLine, RepeatedRule, When
from segue.times.trigger import At, Cron, Every, RRule, Trigger


def trigger_of(when: When, zone: str | None = None, *, days: str | None = None) -> Trigger:
    """Returns the trigger; `zone` is that of a moment which has only an offset.

    `days`: the day set that words about working days mean. Raises BadTrigger if a rule would need it.
    """
    match when:
        case Interval(seconds):
            return Every(seconds)
        case RepeatedCronLine(_, named, str(workdays)) if days is not None:
            return Cron(workdays, tz=named, days=days)
        case RepeatedCronLine(expr, named):
            return Cron(expr, tz=named)
        case RepeatedRule(workdays=True) if days is not None:
            raise BadTrigger(
                f"working days of {days} go with times that share their minutes, such as 9:00 and 17:00; "
                "make a schedule for each time"
            )
        case RepeatedRule(rrule, start, named):
            return RRule(rrule, start, tz=named)
        case Moment(at):
            own = at.tzinfo.key if isinstance(at.tzinfo, ZoneInfo) else None
            return At(at, tz=own or zone)
