"""Words of German: numbers, and the words of the language's table by kind."""

from fractions import Fraction

from segue.times.reader.dates import (
    EndOf,
    InDays,
    OnWeekday,
    PartOf,
)
from segue.times.reader.language import Kinds
from segue.times.reader.parts import (
    ClockTime,
    DayPart,
    Measure,
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
    "werktag|arbeitstag": WORKDAYS,
    "wochentag": MONDAY_TO_FRIDAY,
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
    "werktags|an werktagen|an arbeitstagen": WORKDAYS,
    "wochentags|an wochentagen": MONDAY_TO_FRIDAY,
    "an wochenenden": frozenset({5, 6}),
    **{f"{names.split('|')[0]}s": frozenset({day}) for names, day in WEEKDAYS.items()},
}

WORDS: Kinds = {
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
    "two": {"zweiten|2.": 2},
    "fortnightly": {"zweiwöchentlich|vierzehntäglich|jede zweite woche|alle 14 tage|alle vierzehn tage": 2},
    "weekday_s": {f"{names.split('|')[0]}s": day for names, day in WEEKDAYS.items()},
    "short_day": {names.split("|")[-1]: frozenset({day}) for names, day in WEEKDAYS.items()},
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
}
