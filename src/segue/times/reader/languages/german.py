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
from segue.times.reader.parts import (
    BareTime,
    ClockTime,
    DayPart,
    Measure,
    Midnight,
    Span,
    Time,
    Times,
    Unit,
    WindowTime,
)
from segue.times.reader.relative_dates import (
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
from segue.times.reader.rules import EveryFewDays, EveryFewWeeks, Window, Within
from segue.times.reader.zones import ZoneInText

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

MINUTES = {"fünf|5": 5, "zehn|10": 10, "zwanzig|20": 20, "fünfundzwanzig|25": 25, "15|fünfzehn": 15}
PAST = {
    "halb": -30,
    "viertel nach": 15,
    "viertel vor": -15,
    "viertel": -45,
    "dreiviertel|drei viertel": -15,
    "fünf vor halb|5 vor halb": -35,
    "fünf nach halb|5 nach halb": -25,
    **{f"{word}{unit} {side}": sign * number
       for words, number in MINUTES.items() for word in words.split("|") for unit in ("", " minuten", " min")
       for side, sign in (("nach", 1), ("vor", -1))},
}  # fmt: skip
ORDINALS = (
    "erst", "zweit", "dritt", "viert", "fünft", "sechst", "siebt", "acht", "neunt", "zehnt", "elft", "zwölft",
    *(f"{one}t" for one in ONES[12:]), "zwanzigst", *(f"{one}undzwanzigst" for one in ONES[:9]), "dreißigst",
    "einunddreißigst",
)  # fmt: skip
NUMBERED_DAYS = {f"{word}en|{word}er|{word}e": number for number, word in enumerate(ORDINALS, 1)}
NTH = {
    "ersten|erster|erste|1.": 1,
    "zweiten|zweiter|zweite|2.": 2,
    "dritten|dritter|dritte|3.": 3,
    "vierten|vierter|vierte|4.": 4,
    "letzten|letzter|letzte": -1,
}
CITIES = {
    "berliner|deutscher|mitteleuropäischer": "Europe/Berlin",
    "wiener": "Europe/Vienna",
    "zürcher": "Europe/Zurich",
    "pariser": "Europe/Paris",
    "londoner": "Europe/London",
    "moskauer": "Europe/Moscow",
    "new yorker": "America/New_York",
    "tokioter": "Asia/Tokyo",
    "pekinger": "Asia/Shanghai",
}
PLURALS = {
    "werktags|wochentags|an werktagen|an wochentagen|an arbeitstagen": MONDAY_TO_FRIDAY,
    "an wochenenden": frozenset({5, 6}),
    **{f"{names.split('|')[0]}s": frozenset({day}) for names, day in WEEKDAYS.items()},
}

GERMAN = Language(
    spaced=True,
    decimal_mark=",",
    day_first=".",
    ordinal_endings=(".", "ten"),
    joiners=("und", "und um", "&", "/"),
    numbers=NUMBERS,
    words={
        "unit": UNITS,
        "beat": {"sekunde": Unit.SECOND, "minute": Unit.MINUTE, "stunde": Unit.HOUR},
        "long_unit": {
            "jede woche|wöchentlich|einmal pro woche|einmal die woche|einmal in der woche": Unit.WEEK,
            "jeden monat|monatlich|einmal im monat|einmal pro monat": Unit.MONTH,
            "jedes jahr|jährlich|einmal im jahr|einmal pro jahr": Unit.YEAR,
        },
        "long_span": {
            "vierteljährlich|jedes quartal|quartalsweise": Span((Measure(Unit.MONTH, Fraction(3)),)),
            "halbjährlich|jedes halbe jahr": Span((Measure(Unit.MONTH, Fraction(6)),)),
            "halbstündlich|alle halbe stunde": Span((Measure(Unit.MINUTE, Fraction(30)),)),
            "alle viertelstunde": Span((Measure(Unit.MINUTE, Fraction(15)),)),
            "zweistündlich|jede zweite stunde": Span((Measure(Unit.HOUR, Fraction(2)),)),
        },
        "next_unit": {
            "nächste woche|naechste woche|kommende woche": Unit.WEEK,
            "nächsten monat|naechsten monat|kommenden monat": Unit.MONTH,
            "nächstes jahr|naechstes jahr|kommendes jahr": Unit.YEAR,
        },
        "nth": NTH,
        "ordinal": NUMBERED_DAYS,
        "month_number": {words: number for number, words in enumerate(list(NUMBERED_DAYS)[:12], 1)},
        "other": {"zweiten": 2, "dritten": 3},
        "two": {"zweiten": 2},
        "fortnightly": {
            "zweiwöchentlich|vierzehntäglich|jede zweite woche|alle 14 tage|alle vierzehn tage": 2
        },
        "weekday_s": {f"{names.split('|')[0]}s": day for names, day in WEEKDAYS.items()},
        "one_day": {names: frozenset({day}) for names, day in WEEKDAYS.items()},
        "any_days": {**DAYS, **PLURALS},
        "zone": {
            f"{city} zeit": ZoneInText(zone, None)
            for cities, zone in CITIES.items()
            for city in cities.split("|")
        },
        "period": {
            "des monats|dieses monats": Unit.MONTH,
            "der woche|dieser woche": Unit.WEEK,
            "des jahres|dieses jahres": Unit.YEAR,
        },
        "measure": {
            "viertelstunde|eine viertelstunde|einer viertelstunde": Measure(Unit.MINUTE, Fraction(15)),
            "halbe stunde|halben stunde|eine halbe stunde|einer halben stunde": Measure(
                Unit.MINUTE, Fraction(30)
            ),
            "dreiviertelstunde|eine dreiviertelstunde|einer dreiviertelstunde": Measure(
                Unit.MINUTE, Fraction(45)
            ),
            "acht tage|acht tagen": Measure(Unit.WEEK),
            "einem halben jahr|ein halbes jahr": Measure(Unit.MONTH, Fraction(6)),
            "ner viertelstunde": Measure(Unit.MINUTE, Fraction(15)),
            "ner halben stunde": Measure(Unit.MINUTE, Fraction(30)),
            "ner stunde": Measure(Unit.HOUR),
        },
        "mixed": {
            "anderthalb|eineinhalb": Fraction(3, 2),
            **{f"{one}einhalb": number + Fraction(1, 2) for number, one in enumerate(ONES[1:12], 2)},
        },
        "weekday": WEEKDAYS,
        "base_date": {"heute": InDays(0), "morgen": InDays(1)},
        "month": MONTHS,
        "date": NAMED_DAYS,
        "relative_date": DATES,
        "days": DAYS,
        "plural": PLURALS,
        "part": PARTS,
        "adverb": ADVERBS,
        "named_clock": {
            "mittag|mittags": ClockTime(12, fixed=True),
            "mitternacht": Midnight(),
        },
        "past": PAST,
        "repeat": {
            "stündlich|stuendlich|einmal pro stunde|einmal in der stunde": EveryUnit(Unit.HOUR),
            "minütlich": EveryUnit(Unit.MINUTE),
        },
    },
    phrases={
        Measure: ("{number} {unit}", "{number:mixed} {unit}"),
        Span: ("{measures:measure*}",),
        Time: (
            "[um] {clock} [uhr] [{part:adverb}]",
            "[um] {clock:hour} uhr [{minute}] [{part:adverb}]",
            "um {clock:hour} [{part:adverb}]",
            "[um] {clock:hour} . {minute} uhr [{part:adverb}]",
            "um {clock:hour} . {minute}",
            "[um] {clock:hour} h {minute}",
            "[um] {past} {clock:hour} [{part:adverb}]",
            "[um|am] {clock:named_clock}",
        ),
        BareTime: ("{clock:hour} [uhr]", "{clock} [uhr]"),
        WindowTime: ("{clock:hour} [uhr]", "{clock} [uhr]"),
        Times: ("{times:time+}", "{times:time} {more:bare_time&}", "{times:bare_time} {more:bare_time&}"),
        Ahead: ("in {span}",),
        OnWeekday: ("{weekday} [.]",),
        ThisWeekday: ("diesen|dieser|diesem {weekday}",),
        NextWeekday: ("nächsten|nächster|naechsten|kommenden|kommender {weekday}",),
        WeekdayNextWeek: (
            "nächsten|nächster|naechsten {weekday}",
            "{weekday} [in_der] nächster|nächsten|naechster|kommender|kommenden woche",
            "nächste|naechste|kommende woche [am] {weekday}",
        ),
        CalendarDate: (
            "{day} {month} [.] [{year}]",
            "{day:ordinal} {month} [.] [{year}]",
            "{day:ordinal} {month:month_number}",
        ),
        Dated: ("[{weekday}] [den|der|dem] {calendar}",),
        NumberedWeekday: ("{weekday} [den|der|dem] {day:ordinal}",),
        DayOfMonth: ("{day:ordinal}",),
        DayOfNextMonth: ("{day:ordinal} nächsten|naechsten monats", "{day:ordinal} des nächsten monats"),
        EndOf: ("[am] ende {unit:period}",),
        EndOfMonth: ("[am] ende {month}",),
        BaseWeekday: ("{weekday}",),
        From: ("{day:base_date} in {span}",),
        NthWeekday: (
            "[der|am] {nth} {weekday} im|des {month}",
            "[am] {nth} {weekday} dieses|diesen monats",
        ),
        NthWeekdayNextMonth: ("[am] {nth} {weekday} [im|des] nächsten|naechsten monats|monat",),
        LastDayOf: ("[der|am] letzter|letzten|letzte tag im|des {month} [s]", "am letzten {month}"),
        NextUnit: ("{unit:next_unit}",),
        After: (
            "{span}",
            "in [etwa|ungefähr|ca.|circa|rund|genau] {span} [{zone}]",
            "{span} später",
            "+ {span}",
        ),
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
        DayList: ("{first:one_day} {more:one_day&}",),
        DayRange: (
            "[von] {first:weekday} bis|-|– {last:weekday}",
            "{first:weekday_s} bis {last:weekday_s}",
        ),
        EverySpan: ("alle|jede {span}", "{span:long_span}"),
        EveryUnit: ("jede {unit:beat}", "{unit:long_unit}"),
        EveryDay: (
            "jeden|jedes {days*} [{part}] [{times}] [{zone}]",
            "jeden {days*} {part:adverb} [{times}] [{zone}]",
            "jeden {part} [{times}] [{zone}]",
            "jede|pro woche am {days*} [{part}] [{times}] [{zone}]",
            "[jede_woche|wöchentlich|immer] {days:plural+} [{part:adverb}] [{times}] [{zone}]",
            "wöchentlich|einmal_pro_woche am {days*} [{times}] [{zone}]",
            "zweimal|dreimal pro_woche|die_woche {days:plural+} [{times}] [{zone}]",
            "[einmal] täglich|taeglich|am_tag [{part:adverb}] [{times}] [{zone}]",
            "zweimal|dreimal täglich|am_tag {times} [{zone}]",
            "alle tage {times} [{zone}]",
            "{days:day_range} {times} [{zone}]",
            "{days:day_list} {times} [{zone}]",
            "jeden tag {days:day_range} [{times}] [{zone}]",
            "{times} jeden|jedes {days*} [{zone}]",
            "{times} täglich|taeglich [{zone}]",
            "{times} {days:plural+} [{zone}]",
            "jeden {days} außer|ausser [am] {without:any_days+} [{times}] [{zone}]",
            "jeden {days} {times} außer|ausser [am] {without:any_days+} [{zone}]",
            "täglich außer|ausser [am] {without:any_days+} [{times}] [{zone}]",
            "täglich {times} außer|ausser [am] {without:any_days+} [{zone}]",
            "{days:plural} außer|ausser [am] {without:any_days+} [{times}] [{zone}]",
        ),
        EveryMonth: (
            "jeden monat am {days:ordinal*} [{times}] [{zone}]",
            "monatlich am {days:ordinal*} [{times}] [{zone}]",
            "am {days:ordinal*} jedes|jeden monats [{times}] [{zone}]",
            "jeden {days:ordinal*} des monats|im_monat [{times}] [{zone}]",
            "immer am {days:ordinal*} des monats|im_monat [{times}] [{zone}]",
        ),
        FirstOfMonth: ("am ersten tag jedes|jeden|des monats [{times}] [{zone}]",),
        LastOfMonth: (
            "am letzten tag jedes|jeden|des monats [{times}] [{zone}]",
            "[am|jeden] letzten tag im_monat|des_monats [{times}] [{zone}]",
            "jeden monat am letzten tag [{times}] [{zone}]",
            "am monatsletzten [{times}] [{zone}]",
        ),
        NthOfMonth: (
            "[jeden|am] {nth} {weekday} im_monat|des_monats|jedes_monats|jeden_monats [{times}] [{zone}]",
            "jeden monat am {nth} {weekday} [{times}] [{zone}]",
            "monatlich am {nth} {weekday} [{times}] [{zone}]",
        ),
        EveryYear: (
            "jedes jahr am {calendar} [{times}] [{zone}]",
            "jährlich am {calendar} [{times}] [{zone}]",
            "jeden {calendar} [{times}] [{zone}]",
        ),
        EveryFewDays: (
            "jeden {every:other} tag {times} [{zone}]",
            "alle {every:number} tage {times} [{zone}]",
        ),
        EveryFewWeeks: (
            "jeden {every:two} {days:one_day} [{part}] [{times}] [{zone}]",
            "alle {every:number} wochen [am] {days:any_days} [{times}] [{zone}]",
            "{every:fortnightly} [am] {days:any_days} [{times}] [{zone}]",
        ),
        Window: ("zwischen|von {first:window_time} und|bis {last:window_time}",),
        Within: (
            "stündlich {window} [{zone}]",
            "jede stunde {window} [{zone}]",
            "alle|jede {span} {window} [{zone}]",
            "{days:plural} stündlich {window} [{zone}]",
            "{days:plural} jede stunde {window} [{zone}]",
            "stündlich {window} {days:plural} [{zone}]",
            "jede stunde {window} {days:plural} [{zone}]",
        ),
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
