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
from segue.times.reader.moments import After, Ago, OnDay, Someday, SymbolAlone
from segue.times.reader.parts import (
    BareTime,
    ClockTime,
    DayPart,
    Fragment,
    Measure,
    Meridiem,
    Midnight,
    Span,
    Time,
    Times,
    Unit,
    WindowTime,
)
from segue.times.reader.relative_dates import (
    AWeekAfter,
    BaseWeekday,
    EndOfMonth,
    From,
    LastDayOf,
    NextUnit,
    NthWeekday,
    NthWeekdayNextMonth,
    NumberedWeekday,
)
from segue.times.reader.repeats import (
    EVERY_DAY,
    MONDAY_TO_FRIDAY,
    DayList,
    DayRange,
    EveryDay,
    EveryMonth,
    EverySpan,
    EveryUnit,
    EveryYear,
    FirstOfMonth,
    LastOfMonth,
    NthOfMonth,
)
from segue.times.reader.rules import EveryFewDays, EveryFewMonths, EveryFewWeeks, Window, Within
from segue.times.reader.zones import ZoneInText

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

ORDINALS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth",
    "nineteenth", "twentieth",
)  # fmt: skip
NUMBERED_DAYS = {
    **{word: number for number, word in enumerate(ORDINALS, 1)},
    **{f"twenty{gap}{word}": 20 + number for number, word in enumerate(ORDINALS[:9], 1) for gap in " -"},
    "thirtieth": 30,
    "thirty-first|thirty first": 31,
}
NTH = {"first|1st": 1, "second|2nd": 2, "third|3rd": 3, "fourth|4th": 4, "last": -1}
MINUTES = {"five": 5, "ten": 10, "fifteen|15": 15, "twenty|20": 20, "twenty-five|twenty five|25": 25}
"""Digits below 13 need the word `minutes`: `9 to 5 pm` is a range."""
COUNTED = {
    **{f"{word}{unit}": number for words, number in MINUTES.items() for word in words.split("|")
       for unit in ("", " minutes")},
    **{f"{number} minutes": number for number in range(1, 30)},
}  # fmt: skip
PAST = {f"{words} {past}": number for words, number in COUNTED.items() for past in ("past", "after")}
PAST |= {f"{number} past": number for number in (5, 10)}
TO = {f"{words} {to}": -number for words, number in COUNTED.items() for to in ("to", "till", "before")}

CITIES = {
    "berlin": "Europe/Berlin",
    "paris": "Europe/Paris",
    "madrid": "Europe/Madrid",
    "rome": "Europe/Rome",
    "london": "Europe/London",
    "uk": "Europe/London",
    "moscow": "Europe/Moscow",
    "new york": "America/New_York",
    "chicago": "America/Chicago",
    "los angeles": "America/Los_Angeles",
    "san francisco": "America/Los_Angeles",
    "tokyo": "Asia/Tokyo",
    "beijing": "Asia/Shanghai",
    "singapore": "Asia/Singapore",
    "sydney": "Australia/Sydney",
    "eastern": "America/New_York",
    "central": "America/Chicago",
    "mountain": "America/Denver",
    "pacific": "America/Los_Angeles",
}
ZONES = {
    **{f"{city} time": ZoneInText(zone, None) for city, zone in CITIES.items()},
    "eastern": ZoneInText("America/New_York", None),
    "pacific": ZoneInText("America/Los_Angeles", None),
}

ENGLISH = Language(
    spaced=True,
    decimal_mark=".",
    day_first="",
    ordinal_endings=("st", "nd", "rd", "th"),
    joiners=("and", "&", "/"),
    numbers=NUMBERS,
    words={
        "unit": {
            **UNITS,
            "minutes'|minutes’": Unit.MINUTE,
            "hour's|hours'": Unit.HOUR,
            "day's|days'": Unit.DAY,
            "week's|weeks'": Unit.WEEK,
            "month's|months'": Unit.MONTH,
            "year's|years'": Unit.YEAR,
        },
        "number": {"a couple of|a couple|couple of|couple": Fraction(2)},
        "beat": {"second": Unit.SECOND, "minute": Unit.MINUTE, "hour": Unit.HOUR},
        "long_beat": {"week": Unit.WEEK, "month": Unit.MONTH, "year": Unit.YEAR},
        "period": {"week": Unit.WEEK, "month": Unit.MONTH, "year": Unit.YEAR},
        "share": {"half": Fraction(1, 2), "quarter": Fraction(1, 4)},
        "measure": {
            "three quarters of an hour": Measure(Unit.MINUTE, Fraction(45)),
            "a fortnight|fortnight": Measure(Unit.WEEK, Fraction(2)),
        },
        "weekday": WEEKDAYS,
        "moment": {"one day|some day": Someday()},
        "base_date": {"today": InDays(0), "tomorrow": InDays(1)},
        "month": {**MONTHS, **{f"{names.split('|')[-1]}.": month for names, month in MONTHS.items()}},
        "ordinal": NUMBERED_DAYS,
        "day": NUMBERED_DAYS,
        "nth": NTH,
        "date": {
            **DATES,
            "tmrw|tmr|tomorow": InDays(1),
            "today week|a week today": InDays(7),
            "tomorrow week|a week tomorrow": InDays(8),
        },
        "part_of_today": {
            "this morning": InDays(0, MORNING),
            "this afternoon": InDays(0, AFTERNOON),
            "this evening": InDays(0, EVENING),
            "tonight": InDays(0, NIGHT),
        },
        "days": DAYS,
        "plural": {
            **{f"{names.split('|')[0]}s": days for names, days in DAYS.items() if names != "day"},
            "workdays|working days|business days": MONDAY_TO_FRIDAY,
        },
        "part": {
            "morning|in the morning": MORNING,
            "afternoon|in the afternoon": AFTERNOON,
            "evening|in the evening": EVENING,
            "night|at night": NIGHT,
        },
        "noun": {"morning": MORNING, "afternoon": AFTERNOON, "evening": EVENING, "night": NIGHT},
        "parts": {"mornings": MORNING, "afternoons": AFTERNOON, "evenings": EVENING, "nights": NIGHT},
        "named_clock": {
            "noon|midday|12 noon|twelve noon|12 midday": ClockTime(12, fixed=True),
            "half past noon": ClockTime(12, 30, fixed=True),
            "midnight": Midnight(),
            "end of day|end of the day|eod|the end of the day": ClockTime(23, 59, fixed=True),
        },
        "past": {"half past": 30, "quarter past|a quarter past|quarter after|a quarter after": 15, **PAST},
        "to": {"quarter to|a quarter to|quarter till|a quarter till|quarter of|a quarter of": -15, **TO},
        "meridiem": {"am|a.m.|a.m": Meridiem.AM, "pm|p.m.|p.m": Meridiem.PM},
        "zone": ZONES,
        "repeat": {
            "hourly|once an hour|once every hour": EveryUnit(Unit.HOUR),
            "once a minute": EveryUnit(Unit.MINUTE),
        },
        "long_unit": {
            "weekly|once a week|once every week": Unit.WEEK,
            "monthly|once a month|once every month": Unit.MONTH,
            "yearly|annually|once a year|once every year": Unit.YEAR,
        },
        "long_span": {
            "quarterly|every quarter|each quarter": Span((Measure(Unit.MONTH, Fraction(3)),)),
            "every half year|every half a year|twice a year": Span((Measure(Unit.MONTH, Fraction(6)),)),
        },
        "beat_span": {
            "hour": Span((Measure(Unit.HOUR, Fraction(2)),)),
            "minute": Span((Measure(Unit.MINUTE, Fraction(2)),)),
        },
        "two": {"other|second": 2},
        "other": {"other|second": 2, "third": 3},
        "alternate": {"alternate": 2},
        "fortnightly": {"biweekly|fortnightly|every fortnight": 2},
        "one_day": {names: frozenset({day}) for names, day in WEEKDAYS.items()},
        "any_days": {**DAYS, **{f"{names.split('|')[0]}s": days for names, days in DAYS.items()}},
        "adverb": {"nightly": NIGHT},
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
            "[at|@] {clock} [{meridiem}]",
            "[at|@] {clock:short_clock}",
            "[at|@] {clock:dotted_clock} {meridiem}",
            "at {clock:dotted_clock}",
            "[at|@] {clock:digits_clock} {meridiem}",
            "at {clock:digits_clock}",
            "[at] {clock:named_clock}",
            "at|@ {clock:hour}",
            "[at|@] {clock:hour} {meridiem}",
            "[at|@] {clock:hour} {minute} {meridiem}",
            "[at] {clock:hour} - {minute} {meridiem}",
            "[at] {clock:hour} o'clock [{meridiem}]",
            "[at] {past} {clock:hour} [{meridiem}]",
            "[at] {past:to} {clock:hour} [{meridiem}]",
        ),
        BareTime: (
            "{clock:hour} [o'clock]",
            "{clock:dotted_clock}",
            "{clock}",
            "{clock:hour} {minute}",
            "[at] {past} {clock:hour}",
            "[at] {past:to} {clock:hour}",
        ),
        WindowTime: ("{clock} [{meridiem}]", "{clock:hour} [{meridiem}]"),
        Times: ("{times:time+}", "{times:time} {more:bare_time&}"),
        Ahead: ("in {span}", "{span} from now", "{span} from today", "in {span} ['] time"),
        OnWeekday: ("{weekday}",),
        ThisWeekday: ("this {weekday}",),
        NextWeekday: ("next {weekday}", "[this|the] coming {weekday}"),
        WeekdayNextWeek: ("next {weekday}", "{weekday} [of] next week", "next week [on] {weekday}"),
        CalendarDate: ("[the] {day} [of] {month} [{year}]", "{month} [the] {day} [{year}]"),
        Dated: ("[{weekday}] {calendar}", "[{weekday}] {calendar:short_date}"),
        NumberedWeekday: ("{weekday} [the] {day:ordinal}",),
        DayOfMonth: ("the {day:ordinal} [of_this_month]", "{day:ordinal}"),
        DayOfNextMonth: ("[the] {day:ordinal} of next month", "next month on the {day:ordinal}"),
        EndOf: ("[at] [the] end of [the|this] {unit:period}",),
        EndOfMonth: ("[at] [the] end of {month}",),
        AWeekAfter: ("{day:base_date} week",),
        BaseWeekday: ("{weekday}",),
        From: (
            "{span} from {day:base_date}",
            "{day:base_date} in {span}",
            "{span} on {day:base_date}",
        ),
        NthWeekday: (
            "[the] {nth} {weekday} of|in {month}",
            "[the] {nth} {weekday} of|in this_month",
        ),
        NthWeekdayNextMonth: ("[the] {nth} {weekday} [of|in] next_month",),
        LastDayOf: ("[the] last day of|in {month}", "[the] last day of|in this_month"),
        NextUnit: ("next {unit:period}",),
        After: (
            "{span}",
            "in [about|around|roughly|approximately|exactly] {span} [{zone}]",
            "in {span} ['] time",
            "{span} from now [{zone}]",
            "{span} later",
            "+ {span}",
        ),
        Ago: ("{span} ago",),
        SymbolAlone: ("{clock:hour} h",),
        OnDay: (
            "[on] {date} [{part}] [{time}] [{zone}]",
            "[on] {date} {time} {part} [{zone}]",
            "{date:ahead} [{part}] {time} [{zone}]",
            "{time} {date:ahead} [{zone}]",
            "{time} [{part}] [{zone}]",
            "{time} [{part}] [on] {date} [{zone}]",
            "{time} [on] {date} {part} [{zone}]",
            "{time} {zone} [on] {date}",
            "{time:bare_time} {date:part_of_today} [{zone}]",
            "{time:bare_time} [on] {date} {part:noun} [{zone}]",
            "{time:bare_time} {part}",
            "{time:bare_time} {part} [on] {date}",
            "[on] {date} {time:bare_time} {part}",
        ),
        DayList: ("{first:one_day} {more:one_day&}",),
        DayRange: ("[from] {first:weekday} to|through|-|–|until|till {last:weekday}",),
        EverySpan: (
            "every|each|once_every {span}",
            "every|each other|second {span:beat_span}",
            "{span:long_span}",
        ),
        EveryUnit: ("every|each {unit:beat}", "every|each {unit:long_beat}", "{unit:long_unit}"),
        EveryDay: (
            "every|each {days*} [{part}] [{times}] [{zone}]",
            "every|each {days*} {times} {part} [{zone}]",
            "every|each {part:noun} [{times}] [{zone}]",
            "every|each|once_a week on {days*} [{part}] [{times}] [{zone}]",
            "weekly on {days*} [{part}] [{times}] [{zone}]",
            "twice a_week|weekly on {days*} [{times}] [{zone}]",
            "daily|everyday|once_a_day|once_daily [{part}] [{times}] [{zone}]",
            "twice|three_times daily|a_day {times} [{zone}]",
            "[on] {days:plural+} [{part}] [{times}] [{zone}]",
            "[on] {days:plural+} {times} {part} [{zone}]",
            "[on] {days+} {part:parts} [{times}] [{zone}]",
            "{days:day_range} [{part}] [{times}] [{zone}]",
            "{days:day_list} {times} [{zone}]",
            "every|each day {days:day_range} [{times}] [{zone}]",
            "{part:parts} {times} [{zone}]",
            "{times} [{part}] every|each {days*} [{zone}]",
            "{times} every|each {part:noun} [{zone}]",
            "{times} [{part}] daily|everyday [{zone}]",
            "{times} [{part}] [on] {days:plural+} [{zone}]",
            "{times} [{part}] {days:day_range} [{zone}]",
            "{part:adverb} {times} [{zone}]",
            "{part} every|each {days}",
            "every|each {days*} except|but|excluding [on] {without:days+} [{times}] [{zone}]",
            "every|each {days*} {times} except|but|excluding [on|for] {without:any_days+}",
            "{days:plural} except|but|excluding [on] {without:any_days+} [{times}] [{zone}]",
            "daily except|but|excluding [on] {without:any_days+} [{times}] [{zone}]",
        ),
        EveryMonth: (
            "every|each month on [the] {days:ordinal*} [{times}] [{zone}]",
            "monthly on [the] {days:ordinal*} [{times}] [{zone}]",
            "[on] the {days:ordinal*} of every|each month [{times}] [{zone}]",
            "every|each {days:ordinal*} of the month [{times}] [{zone}]",
            "{times} on the {days:ordinal*} of every|each month [{zone}]",
        ),
        FirstOfMonth: (
            "[on] the first day of every|each month [{times}] [{zone}]",
            "[on] the first day of the month {times} [{zone}]",
            "every|each month on the first day [{times}] [{zone}]",
        ),
        LastOfMonth: (
            "[on] [the] last day of every|each|the month [{times}] [{zone}]",
            "every|each last day of the month [{times}] [{zone}]",
            "every|each month on the last day [{times}] [{zone}]",
            "monthly on the last day [{times}] [{zone}]",
        ),
        NthOfMonth: (
            "[on] [the] {nth} {weekday} of every|each|the month [{times}] [{zone}]",
            "every|each {nth} {weekday} of|in the month [{times}] [{zone}]",
            "every|each month on the {nth} {weekday} [{times}] [{zone}]",
            "monthly on the {nth} {weekday} [{times}] [{zone}]",
        ),
        EveryYear: (
            "every|each year on {calendar} [{times}] [{zone}]",
            "yearly|annually on {calendar} [{times}] [{zone}]",
            "every|each {calendar} [{times}] [{zone}]",
        ),
        EveryFewDays: (
            "every|each {every:other} day {times} [{zone}]",
            "every|each {every:number} days {times} [{zone}]",
        ),
        EveryFewWeeks: (
            "every|each {every:two} {days:one_day} [{part}] [{times}] [{zone}]",
            "every|each {every:other} week on {days} [{part}] [{times}] [{zone}]",
            "every|each {every:number} weeks on {days} [{part}] [{times}] [{zone}]",
            "{every:fortnightly} on {days} [{part}] [{times}] [{zone}]",
            "{every:alternate} {days:plural} [{times}] [{zone}]",
        ),
        EveryFewMonths: (
            "every|each {every:other} month on the {day:ordinal} [{times}] [{zone}]",
            "every|each {every:number} months on the {day:ordinal} [{times}] [{zone}]",
        ),
        Window: ("between|from {first:window_time} and|to|until {last:window_time}",),
        Within: (
            "every|each hour {window} [{zone}]",
            "hourly {window} [{zone}]",
            "every|each {span} {window} [{zone}]",
            "every|each hour {window} [on] {days:plural} [{zone}]",
            "hourly {window} [on] {days:plural} [{zone}]",
            "every|each {span} {window} [on] {days:plural} [{zone}]",
            "{days:plural} every|each hour {window} [{zone}]",
            "every|each hour [on] {days:plural} {window} [{zone}]",
        ),
    },
)
