"""Words of French: numbers, and the words of the language's table by kind."""

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
    "un", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf", "dix", "onze", "douze",
    "treize", "quatorze", "quinze", "seize", "dix-sept", "dix-huit", "dix-neuf",
)  # fmt: skip
TENS = ("vingt", "trente", "quarante", "cinquante", "soixante")
NUMBERS = {
    **{one: number for number, one in enumerate(ONES, 1)},
    "une": 1,
    **{ten: number * 10 for number, ten in enumerate(TENS, 2)},
    **{f"{ten}{gap}et{gap}un{e}": number * 10 + 1
       for number, ten in enumerate(TENS, 2) for gap in " -" for e in ("", "e")},
    **{
        f"{ten}{gap}{one}": tens * 10 + ones
        for tens, ten in enumerate(TENS, 2)
        for ones, one in enumerate(ONES[1:9], 2)
        for gap in " -"
    },
    "quatre-vingt-dix": 90,
}  # fmt: skip

UNITS = {
    "seconde|secondes|sec|s": Unit.SECOND,
    "minute|minutes|min|mn": Unit.MINUTE,
    "heure|heures|h": Unit.HOUR,
    "jour|jours|j": Unit.DAY,
    "semaine|semaines": Unit.WEEK,
    "mois": Unit.MONTH,
    "an|ans|année|années": Unit.YEAR,
}

WEEKDAYS = {
    "lundi|lun": 0,
    "mardi": 1,
    "mercredi|mer": 2,
    "jeudi|jeu": 3,
    "vendredi|ven": 4,
    "samedi|sam": 5,
    "dimanche|dim": 6,
}

MONTHS = {
    "janvier|janv": 1,
    "février|févr": 2,
    "mars": 3,
    "avril|avr": 4,
    "mai": 5,
    "juin": 6,
    "juillet|juil": 7,
    "août": 8,
    "septembre|sept": 9,
    "octobre|oct": 10,
    "novembre|nov": 11,
    "décembre|déc": 12,
}

MORNING = DayPart("morning", range(12), usual=9)
AFTERNOON = DayPart("afternoon", range(12, 18))
EVENING = DayPart("evening", range(16, 24))
NIGHT = DayPart("night", range(18, 24))
SMALL_HOURS = DayPart("night", frozenset({22, 23, 0, 1, 2, 3, 4, 5}))

DAYS = {
    "jour": EVERY_DAY,
    "jour ouvré": WORKDAYS,
    "jour de semaine": MONDAY_TO_FRIDAY,
    "week-end|weekend": frozenset({5, 6}),
    **{names.split("|")[0]: frozenset({day}) for names, day in WEEKDAYS.items()},
}
PLURALS = {
    "jours": EVERY_DAY,
    "jours ouvrés": WORKDAYS,
    "jours de semaine": MONDAY_TO_FRIDAY,
    "week-ends|weekends": frozenset({5, 6}),
    **{f"{names.split('|')[0]}s": frozenset({day}) for names, day in WEEKDAYS.items()},
}

MINUTES = {"cinq": 5, "dix": 10, "quinze": 15, "vingt": 20, "vingt-cinq": 25}
NTH = {
    "premier|première|1er|premiers": 1,
    "deuxième|second|2e|deuxièmes": 2,
    "troisième|3e": 3,
    "quatrième|4e": 4,
    "dernier|dernière|derniers": -1,
}
PLACES = {
    "heure de paris|heure française": "Europe/Paris",
    "heure de londres": "Europe/London",
    "heure de berlin": "Europe/Berlin",
    "heure de new york": "America/New_York",
    "heure de montréal": "America/Toronto",
    "heure de tokyo": "Asia/Tokyo",
    "heure de moscou": "Europe/Moscow",
}

WORDS: Kinds = {
    "unit": UNITS,
    "hour_unit": {"h|heure|heures": Unit.HOUR},
    "beat": {"seconde|secondes": Unit.SECOND, "minute|minutes": Unit.MINUTE, "heure|heures": Unit.HOUR},
    "period": {
        "semaine|de la semaine": Unit.WEEK,
        "mois|du mois|de mois": Unit.MONTH,
        "d'année|de l'année|année": Unit.YEAR,
    },
    "share": {"demi|demie": Fraction(1, 2), "quart|un quart": Fraction(1, 4)},
    "measure": {
        "demi-heure|une demi-heure|demi heure|une demi heure": Measure(Unit.MINUTE, Fraction(30)),
        "quart d'heure|un quart d'heure": Measure(Unit.MINUTE, Fraction(15)),
        "trois quarts d'heure": Measure(Unit.MINUTE, Fraction(45)),
        "huit jours": Measure(Unit.WEEK),
        "quinze jours": Measure(Unit.WEEK, Fraction(2)),
    },
    "beats": {
        "demi-heures|demi heures": Span((Measure(Unit.MINUTE, Fraction(30)),)),
        "quarts d'heure": Span((Measure(Unit.MINUTE, Fraction(15)),)),
    },
    "weekday": WEEKDAYS,
    "moment": {"un jour": Someday()},
    "base_date": {"aujourd'hui": InDays(0), "demain": InDays(1)},
    "one_day": {names: frozenset({day}) for names, day in WEEKDAYS.items()},
    "any_days": {**DAYS, **PLURALS},
    "nth": NTH,
    "zone": {names: ZoneInText(zone, None) for names, zone in PLACES.items()},
    "next_unit": {
        "la semaine prochaine|semaine prochaine": Unit.WEEK,
        "le mois prochain|mois prochain": Unit.MONTH,
        "l'année prochaine|l'an prochain": Unit.YEAR,
    },
    "long_unit": {
        "chaque semaine|toutes les semaines|une fois par semaine|hebdomadairement": Unit.WEEK,
        "chaque mois|tous les mois|une fois par mois|mensuellement": Unit.MONTH,
        "chaque année|tous les ans|une fois par an|annuellement": Unit.YEAR,
    },
    "long_span": {
        "tous les trimestres|chaque trimestre": Span((Measure(Unit.MONTH, Fraction(3)),)),
        "une heure sur deux": Span((Measure(Unit.HOUR, Fraction(2)),)),
        "chaque quart d'heure": Span((Measure(Unit.MINUTE, Fraction(15)),)),
    },
    "every_two": {"sur deux": 2},
    "en_huit": {"en huit": Span((Measure(Unit.WEEK),))},
    "weekdays": {f"{names.split('|')[0]}s": day for names, day in WEEKDAYS.items()},
    "weekly_plural": {f"{names.split('|')[0]}s": frozenset({day}) for names, day in WEEKDAYS.items()},
    "month": MONTHS,
    "day": {"premier": 1},
    "date": {
        "hier": InDays(-1),
        "aujourd'hui": InDays(0),
        "demain": InDays(1),
        "après-demain|après demain": InDays(2),
        "ce matin": InDays(0, MORNING),
        "cet après-midi|cet aprem": InDays(0, AFTERNOON),
        "ce soir": InDays(0, EVENING),
        "cette nuit": InDays(0, NIGHT),
    },
    "days": DAYS,
    "plural": PLURALS,
    "span_of_days": {
        "en semaine": MONDAY_TO_FRIDAY,
        "les jours ouvrés": WORKDAYS,
        "le week-end|les week-ends": frozenset({5, 6}),
    },
    "repeat": {"une fois par heure": EveryUnit(Unit.HOUR)},
    "part": {"matin": MORNING, "après-midi": AFTERNOON, "soir": EVENING},
    "parts": {"matins": MORNING, "après-midi|après-midis": AFTERNOON, "soirs": EVENING},
    "hours": {
        "du matin": MORNING,
        "de l'après-midi": AFTERNOON,
        "du soir": EVENING,
        "de la nuit": SMALL_HOURS,
    },
    "named_clock": {"midi": ClockTime(12, fixed=True), "minuit": Midnight()},
    "past": {
        "et demie|et demi": 30,
        "et quart": 15,
        "moins le quart|moins quart": -15,
        **{f"moins {word}": -number for word, number in MINUTES.items()},
    },
}
