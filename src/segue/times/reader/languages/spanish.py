"""Language table: Spanish.

- `a las 9` is on a 24-hour clock, `a las 9 de la noche` on a 12-hour clock.
- `a las 9 horas` is a time and `en 9 horas` a length of time. Alone, `9 horas` can be either, so it is
  refused.
- `y media`, `menos cuarto`, `y veinte` are on a twelve-hour dial.
- `el próximo viernes` can be the coming one or that of next week. If these differ it is refused; `el viernes
  que viene` is read.
- `ocho días` can mean a week and `quince días` two weeks, so they are refused in words; `8 días` is read.
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
from segue.times.reader.moments import After, Ago, HoursAlone, OnDay
from segue.times.reader.parts import (
    BesideDay,
    ClockTime,
    DayPart,
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
    "días laborables|días hábiles|días de semana|días entre semana": MONDAY_TO_FRIDAY,
    "fines de semana": WEEKEND,
    "lunes": frozenset({0}),
    "martes": frozenset({1}),
    "miércoles": frozenset({2}),
    "jueves": frozenset({3}),
    "viernes": frozenset({4}),
    "sábados": frozenset({5}),
    "domingos": frozenset({6}),
}

SPANISH = Language(
    spaced=True,
    decimal_mark=",",
    day_first="",
    ordinal_endings=("º", "°", "ro"),
    joiners=("y", "e", "&"),
    accents=("áéíóúüñ", "aeiouun"),
    numbers=NUMBERS,
    words={
        "unit": UNITS,
        "beat": {"segundo": Unit.SECOND, "minuto": Unit.MINUTE, "hora": Unit.HOUR},
        "period": {"semana": Unit.WEEK, "mes": Unit.MONTH, "año": Unit.YEAR},
        "share": {"media": Fraction(1, 2), "cuarto|un cuarto": Fraction(1, 4), "medio": Fraction(1, 2)},
        "measure": {
            "media hora": Measure(Unit.MINUTE, Fraction(30)),
            "cuarto de hora|un cuarto de hora": Measure(Unit.MINUTE, Fraction(15)),
            "tres cuartos de hora": Measure(Unit.MINUTE, Fraction(45)),
            "ocho días": Measure(Unit.WEEK),
            "quince días": Measure(Unit.WEEK, Fraction(2)),
        },
        "weekday": WEEKDAYS,
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
            "día laborable|día hábil|día de semana": MONDAY_TO_FRIDAY,
            "fin de semana": WEEKEND,
            **{names.split("|")[0]: frozenset({day}) for names, day in WEEKDAYS.items()},
        },
        "plural": PLURALS,
        "span_of_days": {"de lunes a viernes|lunes a viernes|entre semana": MONDAY_TO_FRIDAY},
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
        "meridiem": {"am|a. m.|a.m.": Meridiem.AM, "pm|p. m.|p.m.": Meridiem.PM},
        "past": {"y media": 30, "y cuarto": 15, "menos cuarto": -15},
    },
    phrases={
        Measure: ("{number} {unit}", "{number} {unit} y {share}"),
        Span: ("{measures:measure*}",),
        Time: (
            "[a_las|a_la] {clock} [h|horas] [{part:hours}]",
            "[a_las|a_la] {clock} {meridiem}",
            "a_las|a_la {clock:hour} [h|horas|hrs] [{part:hours}]",
            "a_las|a_la {clock:hour} {meridiem}",
            "a_las|a_la {clock:hour} . {minute} [h|horas] [{part:hours}]",
            "a_las|a_la {clock:hour} {past} [{part:hours}]",
            "a_las|a_la {clock:hour} y {past:minute} [{part:hours}]",
            "[a|al] {clock:named_clock}",
        ),
        BesideDay: ("{clock:hour} {meridiem}", "{clock:hour} h|horas|hrs"),
        Ahead: ("en {span}", "dentro de {span}"),
        OnWeekday: ("{weekday}", "el {weekday}"),
        ThisWeekday: ("este {weekday}",),
        NextWeekday: ("[el] próximo {weekday}", "[el] {weekday} próximo", "[el] {weekday} que viene"),
        WeekdayNextWeek: (
            "[el] próximo {weekday}",
            "[el] {weekday} próximo",
            "[el] {weekday} de la próxima semana",
            "[el] {weekday} de la semana que viene",
            "[la] próxima semana el {weekday}",
        ),
        CalendarDate: ("{day} de {month} [de|del] [{year}]", "{day} {month} [{year}]"),
        Dated: ("[el] [{weekday}] [el] {calendar}",),
        DayOfMonth: ("el {day}", "el día {day}"),
        DayOfNextMonth: ("el [día] {day} del próximo mes", "el [día] {day} del mes que viene"),
        EndOf: ("[a|al] fin|final de [la|este|esta] {unit:period}", "[a|al] fin|final del {unit:period}"),
        After: ("{span}", "en {span} [{zone}]", "dentro de {span} [{zone}]"),
        Ago: ("hace {span}",),
        HoursAlone: ("{clock:hour} hora|horas",),
        OnDay: (
            "{date} [{part}] [{time}] [{zone}]",
            "{date} {time:beside_day} [{zone}]",
            "{date:ahead} {time} [{zone}]",
            "{time} [{zone}]",
            "{time} [de|del] {date} [{part}] [{zone}]",
        ),
        EverySpan: ("cada {span}",),
        EveryUnit: ("cada {unit:beat}",),
        EveryDay: (
            "cada {days*} [{part}] [{time}] [{zone}]",
            "todos los {days:plural*} [{part}] [{time}] [{zone}]",
            "los {days:plural*} [{part}] [{time}] [{zone}]",
            "{days:span_of_days*} [{time}] [{zone}]",
            "a_diario|diariamente [{time}] [{zone}]",
            "cada {part:noun} [{time}] [{zone}]",
            "todas las {part:noun} [{time}] [{zone}]",
            "{time} todos los {days:plural*} [{zone}]",
            "{time} cada {days*} [{zone}]",
            "{time} {days:span_of_days*} [{zone}]",
        ),
        EveryMonth: (
            "cada mes el [día] {days:day*} [{time}] [{zone}]",
            "todos los meses el [día] {days:day*} [{time}] [{zone}]",
            "el [día] {days:day*} de cada mes [{time}] [{zone}]",
        ),
        EveryYear: (
            "cada año el {calendar} [{time}] [{zone}]",
            "todos los años el {calendar} [{time}] [{zone}]",
        ),
    },
    examples={
        "tomorrow at {time}": "mañana a las {time}",
        "today at {time}": "hoy a las {time}",
        "in 3 hours": "en 3 horas",
        "in 2 days at 09:00": "en 2 días a las 09:00",
        "on the 3rd at 09:00": "el día 3 a las 09:00",
        "tomorrow at 09:00 Europe/Berlin": "mañana a las 09:00 Europe/Berlin",
        "in 8 weeks": "en 8 semanas",
        "in 2 months Europe/Berlin": "en 2 meses Europe/Berlin",
        "2h 15m": "2 horas 15 minutos",
        "30 days": "30 días",
        "52 weeks": "52 semanas",
        "every 30 seconds": "cada 30 segundos",
        "every 24 hours": "cada 24 horas",
        "every day at 18:30": "cada día a las 18:30",
        "every day at 9 Europe/Berlin": "cada día a las 9 Europe/Berlin",
        "every weekday at 9": "de lunes a viernes a las 9",
        "every month on the 1st at 9": "el día 1 de cada mes a las 9",
        "every year on 3 March at 9": "cada año el 3 de marzo a las 9",
    },
)
