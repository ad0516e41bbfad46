"""Words of English: numbers, and the words of the language's table by kind."""

from fractions import Fraction

from segue.times.reader.dates import (
    InDays,
)
from segue.times.reader.language import Kinds
from segue.times.reader.moments import Someday
from segue.times.reader.parts import (
    ClockTime,
    DayPart,
    Measure,
    Meridiem,
    Midnight,
    Span,
    Unit,
)
from segue.times.reader.repeats import (
    EVERY_DAY,
    MONDAY_TO_FRIDAY,
    WORKDAYS,
    EveryUnit,
)
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
    "weekday": MONDAY_TO_FRIDAY,
    "workday|working day|business day": WORKDAYS,
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

WORDS: Kinds = {
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
        "working days|business days": WORKDAYS,
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
}
