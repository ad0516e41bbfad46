"""Language table: English.

- `next friday` can be the coming one or that of next week. If these differ it is refused; `friday` and
  `friday next week` are read.
"""

from fractions import Fraction

from segue.times.reader.dates import (
    Ahead,
    CalendarDate,
    Dated,
    DayOfMonth,
    DayOfNextMonth,
    EndOf,
    InDays,
    NextWeekday,
    OnWeekday,
    ThisWeekday,
    WeekdayNextWeek,
)
from segue.times.reader.language import Language
from segue.times.reader.moments import After, Ago, OnDay, SymbolAlone
from segue.times.reader.parts import (
    ClockTime,
    DayPart,
    Fragment,
    Measure,
    Meridiem,
    Midnight,
    Span,
    Time,
    Unit,
)
from segue.times.reader.repeats import (
    EVERY_DAY,
    MONDAY_TO_FRIDAY,
    EveryDay,
    EveryMonth,
    EverySpan,
    EveryUnit,
    EveryYear,
)

ONES = (
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
NUMBERS = {
    **{one: number for number, one in enumerate(ONES, 1)},
    **{ten: number * 10 for number, ten in enumerate(TENS, 2)},
    **{
        f"{ten}{gap}{one}": tens * 10 + ones
        for tens, ten in enumerate(TENS, 2)
        for ones, one in enumerate(ONES[:9], 1)
        for gap in (" ", "-")
    },
}

UNITS = {
    "second|seconds|sec|secs|s": Unit.SECOND,
    "minute|minutes|min|mins|m": Unit.MINUTE,
    "hour|hours|hr|hrs|h": Unit.HOUR,
    "day|days|d": Unit.DAY,
    "week|weeks|wk|wks|w": Unit.WEEK,
    "month|months": Unit.MONTH,
    "year|years": Unit.YEAR,
}

WEEKDAYS = {
    "monday|mon": 0,
    "tuesday|tues|tue": 1,
    "wednesday|wed": 2,
    "thursday|thurs|thur|thu": 3,
    "friday|fri": 4,
    "saturday|sat": 5,
    "sunday|sun": 6,
}

MONTHS = {
    "january|jan": 1,
    "february|feb": 2,
    "march|mar": 3,
    "april|apr": 4,
    "may": 5,
    "june|jun": 6,
    "july|jul": 7,
    "august|aug": 8,
    "september|sept|sep": 9,
    "october|oct": 10,
    "november|nov": 11,
    "december|dec": 12,
}

MORNING = DayPart("morning", range(12), usual=9)
AFTERNOON = DayPart("afternoon", range(12, 18))
EVENING = DayPart("evening", range(16, 24))
NIGHT = DayPart("night", range(18, 24))

DATES = {
    "yesterday": InDays(-1),
    "today": InDays(0),
    "tomorrow": InDays(1),
    "the day after tomorrow|day after tomorrow": InDays(2),
    "this morning": InDays(0, MORNING),
    "this afternoon": InDays(0, AFTERNOON),
    "this evening": InDays(0, EVENING),
    "tonight": InDays(0, NIGHT),
}

DAYS = {
    "day": EVERY_DAY,
    "weekday|workday|working day|business day": MONDAY_TO_FRIDAY,
    "weekend": frozenset({5, 6}),
    **{names: frozenset({day}) for names, day in WEEKDAYS.items()},
}

ENGLISH = Language(
    spaced=True,
    decimal_mark=".",
    day_first="",
    ordinal_endings=("st", "nd", "rd", "th"),
    joiners=("and", "&"),
    numbers=NUMBERS,
    words={
        "unit": UNITS,
        "beat": {"second": Unit.SECOND, "minute": Unit.MINUTE, "hour": Unit.HOUR},
        "period": {"week": Unit.WEEK, "month": Unit.MONTH, "year": Unit.YEAR},
        "share": {"half": Fraction(1, 2), "quarter": Fraction(1, 4)},
        "weekday": WEEKDAYS,
        "month": MONTHS,
        "date": DATES,
        "days": DAYS,
        "plural": {
            **{f"{names.split('|')[0]}s": days for names, days in DAYS.items() if names != "day"},
            "monday to friday|monday through friday|mon-fri": MONDAY_TO_FRIDAY,
        },
        "part": {
            "morning|in the morning": MORNING,
            "afternoon|in the afternoon": AFTERNOON,
            "evening|in the evening": EVENING,
            "night|at night": NIGHT,
        },
        "named_clock": {
            "noon|midday": ClockTime(12, fixed=True),
            "midnight": Midnight(),
            "end of day|end of the day|eod": ClockTime(23, 59, fixed=True),
        },
        "past": {"half past": 30, "quarter past|a quarter past": 15},
        "to": {"quarter to|a quarter to": -15},
        "meridiem": {"am|a.m.": Meridiem.AM, "pm|p.m.": Meridiem.PM},
        "repeat": {"hourly": EveryUnit(Unit.HOUR)},
    },
    phrases={
        Measure: (
            "{number} {unit}",
            "a|an {unit}",
            "a|an {unit} and a {share}",
            "{number} {unit} and a {share}",
            "{number} and a {share} {unit}",
        ),
        Fragment: ("[a] {share} [of] [a|an] {unit}",),
        Span: ("{measures:measure*}",),
        Time: (
            "[at] {clock} [{meridiem}]",
            "[at] {clock:named_clock}",
            "at {clock:hour}",
            "[at] {clock:hour} {meridiem}",
            "[at] {clock:hour} o'clock [{meridiem}]",
            "[at] {past} {clock:hour} [{meridiem}]",
            "[at] {past:to} {clock:hour}",
        ),
        Ahead: ("in {span}", "{span} from now"),
        OnWeekday: ("{weekday}",),
        ThisWeekday: ("this {weekday}",),
        NextWeekday: ("next {weekday}",),
        WeekdayNextWeek: ("next {weekday}", "{weekday} next week", "next week [on] {weekday}"),
        CalendarDate: ("[the] {day} [of] {month} [{year}]", "{month} [the] {day} [{year}]"),
        Dated: ("[{weekday}] {calendar}",),
        DayOfMonth: ("the {day:ordinal}", "{day:ordinal}"),
        DayOfNextMonth: ("[the] {day:ordinal} of next month", "next month on the {day:ordinal}"),
        EndOf: ("[the] end of [the|this] {unit:period}",),
        After: ("{span}", "in {span} [{zone}]", "{span} from now [{zone}]"),
        Ago: ("{span} ago",),
        SymbolAlone: ("{clock:hour} h",),
        OnDay: (
            "[on] {date} [{part}] [{time}] [{zone}]",
            "[on] {date} {time} {part} [{zone}]",
            "{date:ahead} [{part}] {time} [{zone}]",
            "{time} [{part}] [{zone}]",
            "{time} [{part}] [on] {date} [{zone}]",
            "{time} [on] {date} {part} [{zone}]",
        ),
        EverySpan: ("every|each {span}",),
        EveryUnit: ("every|each {unit:beat}",),
        EveryDay: (
            "every|each {days*} [{part}] [{time}] [{zone}]",
            "every|each {days*} {time} {part} [{zone}]",
            "every|each {part} [{time}] [{zone}]",
            "every|each week on {days*} [{time}] [{zone}]",
            "daily [{part}] [{time}] [{zone}]",
            "[on] {days:plural*} [{part}] [{time}] [{zone}]",
            "{time} [{part}] every|each {days*} [{zone}]",
            "{time} [{part}] daily [{zone}]",
            "{time} [{part}] [on] {days:plural*} [{zone}]",
        ),
        EveryMonth: (
            "every|each month on [the] {days:ordinal*} [{time}] [{zone}]",
            "monthly on [the] {days:ordinal*} [{time}] [{zone}]",
            "[on] the {days:ordinal*} of every|each month [{time}] [{zone}]",
        ),
        EveryYear: ("every|each year on {calendar} [{time}] [{zone}]",),
    },
)
