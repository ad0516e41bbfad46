"""Language table: German.

- `Werktag` is a day from Monday to Friday, as in everyday speech; by law it includes Saturday.
- `nächsten Freitag` can be the coming one or that of next week. If these differ it is refused; `kommenden
  Freitag` is read.
- `am Morgen` is the morning, `morgen` tomorrow.
- `halb vier` is on a twelve-hour dial.
- `in acht Tagen` can mean a week, so it is refused in words; `in 8 Tagen` is read.
- `so` alone is not Sunday: `so um 9`.
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
    PartOf,
    ThisWeekday,
    WeekdayNextWeek,
)
from segue.times.reader.language import Language
from segue.times.reader.moments import After, Ago, OnDay
from segue.times.reader.parts import ClockTime, DayPart, Measure, Midnight, Span, Time, Unit
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
    "ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf",
    "dreizehn", "vierzehn", "fünfzehn", "sechzehn", "siebzehn", "achtzehn", "neunzehn",
)  # fmt: skip
TENS = ("zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig")
NUMBERS = {
    **{one: number for number, one in enumerate(ONES, 1)},
    **dict.fromkeys(("eins", "eine", "einen", "einer", "einem"), 1),
    **{ten: number * 10 for number, ten in enumerate(TENS, 2)},
    **{
        f"{one}und{ten}": tens * 10 + ones
        for tens, ten in enumerate(TENS, 2)
        for ones, one in enumerate(ONES[:9], 1)
    },
}

UNITS = {
    "sekunde|sekunden|sek|sek.|s": Unit.SECOND,
    "minute|minuten|min|min.": Unit.MINUTE,
    "stunde|stunden|std|std.|h": Unit.HOUR,
    "tag|tage|tagen": Unit.DAY,
    "woche|wochen": Unit.WEEK,
    "monat|monate|monaten": Unit.MONTH,
    "jahr|jahre|jahren": Unit.YEAR,
}

WEEKDAYS = {
    "montag|mo": 0,
    "dienstag|di": 1,
    "mittwoch|mi": 2,
    "donnerstag|do": 3,
    "freitag|fr": 4,
    "samstag|sonnabend|sa": 5,
    "sonntag": 6,
}

MONTHS = {
    "januar|jänner|jan": 1,
    "februar|feb": 2,
    "märz|maerz|mär": 3,
    "april|apr": 4,
    "mai": 5,
    "juni|jun": 6,
    "juli|jul": 7,
    "august|aug": 8,
    "september|sept|sep": 9,
    "oktober|okt": 10,
    "november|nov": 11,
    "dezember|dez": 12,
}

MORNING = DayPart("morning", range(12), usual=9)
FORENOON = DayPart("forenoon", range(6, 12), usual=9)
NOON = DayPart("middle of the day", range(11, 15), usual=12)
AFTERNOON = DayPart("afternoon", range(12, 18))
EVENING = DayPart("evening", range(16, 24))
NIGHT = DayPart("night", range(18, 24))
SMALL_HOURS = DayPart("night", frozenset({22, 23, 0, 1, 2, 3, 4, 5}))

PARTS = {
    "morgen|früh": MORNING,
    "vormittag": FORENOON,
    "mittag": NOON,
    "nachmittag": AFTERNOON,
    "abend": EVENING,
}
ADVERBS = {
    "morgens|früh|am morgen|in der früh": MORNING,
    "vormittags|am vormittag": FORENOON,
    "mittags": NOON,
    "nachmittags|am nachmittag": AFTERNOON,
    "abends|am abend": EVENING,
    "nachts|in der nacht": SMALL_HOURS,
}

DATES = {
    "gestern": InDays(-1),
    "heute": InDays(0),
    "morgen": InDays(1),
    "übermorgen|uebermorgen": InDays(2),
    "heute nacht": InDays(0, NIGHT),
}
NAMED_DAYS = {
    "monatsende|am monatsende": EndOf(Unit.MONTH),
    "jahresende|am jahresende": EndOf(Unit.YEAR),
    **{
        f"{day}{part}": PartOf(OnWeekday(number), hours)
        for days, number in WEEKDAYS.items()
        for day in days.split("|")
        if day.endswith(("tag", "woch", "abend"))
        for parts, hours in PARTS.items()
        for part in parts.split("|")
    },
}

DAYS = {
    "tag": EVERY_DAY,
    "werktag|arbeitstag|wochentag": MONDAY_TO_FRIDAY,
    "wochenende": frozenset({5, 6}),
    **{names: frozenset({day}) for names, day in WEEKDAYS.items()},
    "so": frozenset({6}),
}

GERMAN = Language(
    spaced=True,
    decimal_mark=",",
    day_first=".",
    ordinal_endings=(".", "ten"),
    joiners=("und", "&"),
    numbers=NUMBERS,
    words={
        "unit": UNITS,
        "beat": {"sekunde": Unit.SECOND, "minute": Unit.MINUTE, "stunde": Unit.HOUR},
        "period": {"des monats": Unit.MONTH, "der woche": Unit.WEEK, "des jahres": Unit.YEAR},
        "measure": {
            "viertelstunde|eine viertelstunde|einer viertelstunde": Measure(Unit.MINUTE, Fraction(15)),
            "halbe stunde|halben stunde|eine halbe stunde|einer halben stunde": Measure(
                Unit.MINUTE, Fraction(30)
            ),
            "dreiviertelstunde|eine dreiviertelstunde|einer dreiviertelstunde": Measure(
                Unit.MINUTE, Fraction(45)
            ),
            "acht tage|acht tagen": Measure(Unit.WEEK),
        },
        "mixed": {
            "anderthalb|eineinhalb": Fraction(3, 2),
            **{f"{one}einhalb": number + Fraction(1, 2) for number, one in enumerate(ONES[1:12], 2)},
        },
        "weekday": WEEKDAYS,
        "month": MONTHS,
        "date": NAMED_DAYS,
        "relative_date": DATES,
        "days": DAYS,
        "plural": {
            "werktags|wochentags|an werktagen|an wochentagen|an arbeitstagen": MONDAY_TO_FRIDAY,
            "montag bis freitag|montags bis freitags|von montag bis freitag|mo-fr": MONDAY_TO_FRIDAY,
            "an wochenenden": frozenset({5, 6}),
            **{f"{names.split('|')[0]}s": frozenset({day}) for names, day in WEEKDAYS.items()},
        },
        "part": PARTS,
        "adverb": ADVERBS,
        "named_clock": {
            "mittag|mittags": ClockTime(12, fixed=True),
            "mitternacht": Midnight(),
        },
        "past": {"halb": -30, "viertel nach": 15, "viertel vor": -15},
        "repeat": {"stündlich|stuendlich": EveryUnit(Unit.HOUR), "minütlich": EveryUnit(Unit.MINUTE)},
    },
    phrases={
        Measure: ("{number} {unit}", "{number:mixed} {unit}"),
        Span: ("{measures:measure*}",),
        Time: (
            "[um] {clock} [uhr] [{part:adverb}]",
            "[um] {clock:hour} uhr [{minute}] [{part:adverb}]",
            "um {clock:hour} [{part:adverb}]",
            "[um] {clock:hour} . {minute} uhr [{part:adverb}]",
            "[um] {past} {clock:hour} [{part:adverb}]",
            "[um|am] {clock:named_clock}",
        ),
        Ahead: ("in {span}",),
        OnWeekday: ("{weekday}",),
        ThisWeekday: ("diesen|dieser|diesem {weekday}",),
        NextWeekday: ("nächsten|nächster|naechsten|kommenden|kommender {weekday}",),
        WeekdayNextWeek: (
            "nächsten|nächster|naechsten {weekday}",
            "{weekday} nächster|naechster|kommender woche",
            "nächste|naechste|kommende woche [am] {weekday}",
        ),
        CalendarDate: ("{day} {month} [{year}]",),
        Dated: ("[{weekday}] [den|der] {calendar}",),
        DayOfMonth: ("{day:ordinal}",),
        DayOfNextMonth: ("{day:ordinal} nächsten|naechsten monats", "{day:ordinal} des nächsten monats"),
        EndOf: ("[am] ende {unit:period}",),
        After: ("{span}", "in {span} [{zone}]"),
        Ago: ("vor {span}",),
        OnDay: (
            "[am|den] {date} [{part}] [{time}] [{zone}]",
            "{date:relative_date} [{part}] [{time}] [{zone}]",
            "[am] {date} {part:adverb} {time} [{zone}]",
            "{date:relative_date} {part:adverb} [{time}] [{zone}]",
            "{date:ahead} [{part}] {time} [{zone}]",
            "{time} [{zone}]",
            "{part:adverb} {time} [{zone}]",
            "{time} [am] {date} [{part}] [{zone}]",
            "{time} {date:relative_date} [{part}] [{zone}]",
        ),
        EverySpan: ("alle|jede {span}",),
        EveryUnit: ("jede {unit:beat}",),
        EveryDay: (
            "jeden|jedes {days*} [{part}] [{time}] [{zone}]",
            "jeden {days*} {part:adverb} [{time}] [{zone}]",
            "jeden {part} [{time}] [{zone}]",
            "jede woche am {days*} [{time}] [{zone}]",
            "täglich|taeglich [{part:adverb}] [{time}] [{zone}]",
            "{days:plural*} [{part:adverb}] [{time}] [{zone}]",
            "{time} jeden|jedes {days*} [{zone}]",
            "{time} täglich|taeglich [{zone}]",
        ),
        EveryMonth: (
            "jeden monat am {days:ordinal*} [{time}] [{zone}]",
            "monatlich am {days:ordinal*} [{time}] [{zone}]",
            "am {days:ordinal*} jedes|jeden monats [{time}] [{zone}]",
        ),
        EveryYear: ("jedes jahr am {calendar} [{time}] [{zone}]", "jährlich am {calendar} [{time}] [{zone}]"),
    },
    examples={
        "tomorrow at {time}": "morgen um {time}",
        "today at {time}": "heute um {time}",
        "in 3 hours": "in 3 Stunden",
        "in 2 days at 09:00": "in 2 Tagen um 09:00",
        "on the 3rd at 09:00": "am 3. um 09:00",
        "tomorrow at 09:00 Europe/Berlin": "morgen um 09:00 Europe/Berlin",
        "in 8 weeks": "in 8 Wochen",
        "in 2 months Europe/Berlin": "in 2 Monaten Europe/Berlin",
        "2h 15m": "2 Stunden 15 Minuten",
        "30 days": "30 Tage",
        "52 weeks": "52 Wochen",
        "every 30 seconds": "alle 30 Sekunden",
        "every 24 hours": "alle 24 Stunden",
        "every day at 18:30": "jeden Tag um 18:30",
        "every day at 9 Europe/Berlin": "jeden Tag um 9 Europe/Berlin",
        "every weekday at 9": "jeden Werktag um 9",
        "every month on the 1st at 9": "jeden Monat am 1. um 9",
        "every year on 3 March at 9": "jedes Jahr am 3. März um 9",
    },
)
