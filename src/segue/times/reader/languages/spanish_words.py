"""Words of Spanish: numbers, and the words of the language's table by kind."""

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
    "uno", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "diez", "once", "doce",
    "trece", "catorce", "quince", "dieciséis", "diecisiete", "dieciocho", "diecinueve", "veinte",
    "veintiuno", "veintidós", "veintitrés", "veinticuatro", "veinticinco", "veintiséis", "veintisiete",
    "veintiocho", "veintinueve",
)  # fmt: skip
TENS = ("treinta", "cuarenta", "cincuenta", "sesenta", "setenta", "ochenta", "noventa")
NUMBERS = {
    **{one: number for number, one in enumerate(ONES, 1)},
    **dict.fromkeys(("un", "una"), 1),
    **dict.fromkeys(("veintiún", "veintiuna"), 21),
    **{ten: number * 10 for number, ten in enumerate(TENS, 3)},
    **{
        f"{ten} y {one}": tens * 10 + ones
        for tens, ten in enumerate(TENS, 3)
        for ones, one in enumerate(ONES[:9], 1)
    },
}

UNITS = {
    "segundo|segundos|seg|s": Unit.SECOND,
    "minuto|minutos|min": Unit.MINUTE,
    "hora|horas|h": Unit.HOUR,
    "día|días": Unit.DAY,
    "semana|semanas": Unit.WEEK,
    "mes|meses": Unit.MONTH,
    "año|años": Unit.YEAR,
}

WEEKDAYS = {
    "lunes|lun": 0,
    "martes": 1,
    "miércoles|mié": 2,
    "jueves|jue": 3,
    "viernes|vie": 4,
    "sábado|sáb": 5,
    "domingo|dom": 6,
}

MONTHS = {
    "enero|ene": 1,
    "febrero|feb": 2,
    "marzo|mar": 3,
    "abril|abr": 4,
    "mayo|may": 5,
    "junio|jun": 6,
    "julio|jul": 7,
    "agosto|ago": 8,
    "septiembre|setiembre|sept|sep": 9,
    "octubre|oct": 10,
    "noviembre|nov": 11,
    "diciembre|dic": 12,
}

MORNING = DayPart("morning", range(12), usual=9)
NOON = DayPart("middle of the day", range(12, 16))
AFTERNOON = DayPart("afternoon", range(12, 21))
NIGHT = DayPart("night", range(18, 24))
SMALL_HOURS = DayPart("early morning", range(7))

WEEKEND = frozenset({5, 6})
PLURALS = {
    "días": EVERY_DAY,
    "días laborables|días hábiles": WORKDAYS,
    "días de semana|días entre semana": MONDAY_TO_FRIDAY,
    "fines de semana": WEEKEND,
    "lunes": frozenset({0}),
    "martes": frozenset({1}),
    "miércoles": frozenset({2}),
    "jueves": frozenset({3}),
    "viernes": frozenset({4}),
    "sábados": frozenset({5}),
    "domingos": frozenset({6}),
}

NTH = {"primer|primero|primeros": 1, "segundo": 2, "tercer|tercero": 3, "cuarto": 4, "último": -1}
PLACES = {
    "hora de madrid|hora española": "Europe/Madrid",
    "hora de londres": "Europe/London",
    "hora de nueva york": "America/New_York",
    "hora de méxico": "America/Mexico_City",
    "hora de buenos aires": "America/Argentina/Buenos_Aires",
    "hora de bogotá": "America/Bogota",
}

WORDS: Kinds = {
    "unit": UNITS,
    "beat": {"segundo": Unit.SECOND, "minuto": Unit.MINUTE, "hora": Unit.HOUR},
    "period": {"semana": Unit.WEEK, "mes": Unit.MONTH, "año": Unit.YEAR},
    "long_period": {"mes": Unit.MONTH, "año": Unit.YEAR},
    "share": {"media": Fraction(1, 2), "cuarto|un cuarto": Fraction(1, 4), "medio": Fraction(1, 2)},
    "measure": {
        "media hora": Measure(Unit.MINUTE, Fraction(30)),
        "cuarto de hora|un cuarto de hora": Measure(Unit.MINUTE, Fraction(15)),
        "medio año": Measure(Unit.MONTH, Fraction(6)),
        "tres cuartos de hora": Measure(Unit.MINUTE, Fraction(45)),
        "ocho días": Measure(Unit.WEEK),
        "quince días": Measure(Unit.WEEK, Fraction(2)),
    },
    "weekday": WEEKDAYS,
    "moment": {"un día": Someday()},
    "base_date": {"hoy": InDays(0), "mañana": InDays(1)},
    "one_day": {names.split("|")[0]: frozenset({day}) for names, day in WEEKDAYS.items()},
    "any_days": {**PLURALS, **{names.split("|")[0]: frozenset({day}) for names, day in WEEKDAYS.items()}},
    "nth": NTH,
    "zone": {names: ZoneInText(zone, None) for names, zone in PLACES.items()},
    "number": {"un par de": Fraction(2)},
    "next_unit": {
        "la próxima semana|próxima semana|la semana que viene": Unit.WEEK,
        "el próximo mes|próximo mes|el mes que viene": Unit.MONTH,
        "el próximo año|próximo año|el año que viene": Unit.YEAR,
    },
    "long_unit": {
        "cada semana|todas las semanas|semanalmente|una vez por semana|una vez a la semana": Unit.WEEK,
        "cada mes|todos los meses|mensualmente|una vez al mes": Unit.MONTH,
        "cada año|todos los años|anualmente|una vez al año": Unit.YEAR,
    },
    "long_span": {
        "trimestralmente|cada trimestre": Span((Measure(Unit.MONTH, Fraction(3)),)),
        "semestralmente|cada semestre": Span((Measure(Unit.MONTH, Fraction(6)),)),
    },
    "every_two": {"sí y otro no": 2},
    "weekly_plural": {
        names.split("|")[0] + ("" if names.split("|")[0].endswith("s") else "s"): frozenset({day})
        for names, day in WEEKDAYS.items()
    },
    "month": MONTHS,
    "day": {"primero": 1},
    "date": {
        "ayer": InDays(-1),
        "hoy": InDays(0),
        "mañana": InDays(1),
        "pasado mañana": InDays(2),
        "esta mañana": InDays(0, MORNING),
        "esta tarde": InDays(0, AFTERNOON),
        "esta noche": InDays(0, NIGHT),
    },
    "days": {
        "día": EVERY_DAY,
        "día laborable|día hábil": WORKDAYS,
        "día de semana": MONDAY_TO_FRIDAY,
        "fin de semana": WEEKEND,
        **{names.split("|")[0]: frozenset({day}) for names, day in WEEKDAYS.items()},
    },
    "plural": PLURALS,
    "span_of_days": {"entre semana": MONDAY_TO_FRIDAY},
    "part": {
        "por la mañana|en la mañana": MORNING,
        "por la tarde|en la tarde": AFTERNOON,
        "por la noche|en la noche": NIGHT,
        "de madrugada": SMALL_HOURS,
    },
    "hours": {
        "de la mañana|por la mañana": MORNING,
        "del mediodía": NOON,
        "de la tarde|por la tarde": AFTERNOON,
        "de la noche|por la noche": NIGHT,
        "de la madrugada|de madrugada": SMALL_HOURS,
    },
    "noun": {"mañana|mañanas": MORNING, "tarde|tardes": AFTERNOON, "noche|noches": NIGHT},
    "named_clock": {"mediodía": ClockTime(12, fixed=True), "medianoche": Midnight()},
    "repeat": {"una vez por hora|todas las horas": EveryUnit(Unit.HOUR)},
    "meridiem": {"am|a. m.|a.m.": Meridiem.AM, "pm|p. m.|p.m.": Meridiem.PM},
    "past": {"y media": 30, "y cuarto": 15, "menos cuarto": -15},
    "quarter": {"cuarto|un cuarto": 15},
}
