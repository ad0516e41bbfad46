"""Parser of human times in six languages.

    read("tomorrow at 09:00", now=now, zone="Europe/Berlin")       a moment; also "morgen um 9", "明天早上9点"
    read_schedule("every weekday at 9", now=now, zone="UTC")       a moment or a repetition
    read_duration("2h 15m")                                        a length of time

It does not guess. A text is read completely or refused with `BadTime`, one sentence that names what could not
be read and shows a wording that works; `explain` repeats what was understood. Where usage differs, the rules
are:

  - `in 3 hours`, `in 1 day`: real time; a day is 24 hours also when clocks change. `in 2 months` follows the
    calendar of the zone and ends at the month's last day where it must.
  - `at 9`, `at 5`: hours of a 24-hour clock. `5pm`, `17:00` and `tomorrow afternoon at 5` are the other one.
  - `17:00` is today. When it has passed it is refused, not moved to tomorrow: a user who writes `at 5` in the
    afternoon means something else.
  - `tomorrow`, `monday`, `2027-03-03`: a day without a time means 09:00, and so does `tomorrow morning`;
    other parts of the day need an hour.
  - `friday` is the next one to come, and refused on a Friday. `this friday` is the one of this week from
    Monday to Sunday, `friday next week` the one of the week after. `next friday` is the first one after today
    or the one of next week, and refused where these differ.
  - `15h`, `20 heures`: a time on the clock or a length, so refused. `1h` to `5h` are lengths.
  - `10:00-11:00` is a range, and refused. Offsets are at most 14 hours.
  - `3 March`, `the 3rd`: the next such day, today included.
  - `03/04/2027` is refused, for it is a day in March and one in April; `25/04/2027` is read. Beside French
    and Spanish words the day comes first.
  - `next week`, `next month` are asked back: they name no day.
  - `tomorrow at 9am EST`: the day is one of the caller's zone, the time is in the zone of the text. An
    abbreviation that is not in force then, or means several places, is refused with each moment.
  - `half past 3`, `halb vier`: on a dial of twelve, so without a part of the day it is refused. Twelve with
    one is noon, or refused.
  - `midnight` is the coming one. Beside a day it is refused: it can be its start or its end.
  - `end of day`, `end of month`: 23:59 of the day, or of the last day.
  - A time on the clock needs a zone, from the text or from the caller. What the zone's clocks show twice or
    never is refused with the times that can be meant.
  - Moments lie in the future, in the years 1970 to 2200; durations are at most 100 years.

English, Chinese, Russian, German, Spanish and French are all tried: the language is the one that reads the
text completely. If two read it differently, it is refused. Reasons are in English, examples in the language
of the text. The peculiarities of a language are described at the top of its file.

`grammar.py` and the meanings (`parts`, `dates`, `moments`, `repeats`) are independent of languages; each
language is a table.
"""

from segue.times.reader.moment_text import describe, explain
from segue.times.reader.readers import read, read_duration, read_schedule
from segue.times.reader.repeats import Interval, Moment, RepeatedCronLine, RepeatedRule, When

__all__ = [
    "Interval",
    "Moment",
    "RepeatedCronLine",
    "RepeatedRule",
    "When",
    "describe",
    "explain",
    "read",
    "read_duration",
    "read_schedule",
]
