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
from segue.times.reader.moments import After, Ago, HoursAlone, OnDay, Someday
from segue.times.reader.parts import (
    BareTime,
    BesideDay,
    ClockTime,
    DayPart,
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

NTH = {"primer|primero|primeros": 1, "segundo": 2, "tercer|tercero": 3, "cuarto": 4, "último": -1}
PLACES = {
    "hora de madrid|hora española": "Europe/Madrid",
    "hora de londres": "Europe/London",
    "hora de nueva york": "America/New_York",
    "hora de méxico": "America/Mexico_City",
    "hora de buenos aires": "America/Argentina/Buenos_Aires",
    "hora de bogotá": "America/Bogota",
}

SPANISH = Language(
    spaced=True,
    decimal_mark=",",
    day_first="/",
    ordinal_endings=("º", "°", "ro"),
    joiners=("y", "e", "y el", "&"),
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
            "día laborable|día hábil|día de semana": MONDAY_TO_FRIDAY,
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
            "a_las|a_la {clock:hour} h {minute}",
            "a_las|a_la {clock:hour} {past} [{part:hours}]",
            "a_las|a_la {clock:hour} y {past:minute} [{part:hours}]",
            "a_las|a_la {clock:hour} menos {to:minute} [{part:hours}]",
            "[a] {to:minute} para_las|para_la {clock:hour} [{part:hours}]",
            "[a] {to:quarter} para_las|para_la {clock:hour} [{part:hours}]",
            "[a|a_la|al] {clock:named_clock}",
        ),
        BesideDay: ("{clock:hour} {meridiem}", "{clock:hour} h|horas|hrs"),
        BareTime: ("[a] [las|la] {clock:hour} [h|horas]", "[a] [las|la] {clock}"),
        WindowTime: ("[las|la] {clock:hour} [h|horas]", "[las|la] {clock}"),
        Times: ("{times:time+}", "{times:time} {more:bare_time&}"),
        Ahead: ("en {span}", "dentro de {span}"),
        OnWeekday: ("{weekday}", "el {weekday}"),
        ThisWeekday: ("este {weekday}",),
        NextWeekday: ("[el] próximo {weekday}", "[el] {weekday} próximo", "[el] {weekday} que viene"),
        WeekdayNextWeek: (
            "[el] próximo {weekday}",
            "[el] {weekday} próximo",
            "[el] {weekday} de_la_próxima_semana|de_la_semana_que_viene",
            "la_próxima_semana|próxima_semana|la_semana_que_viene el {weekday}",
        ),
        CalendarDate: (
            "{day} de {month} [de|del] [{year}]",
            "{day} {month} [{year}]",
            "{day:ordinal} de {month}",
        ),
        Dated: ("[el] [{weekday}] [el] {calendar}", "el [{weekday}] {calendar:short_date}"),
        NumberedWeekday: ("[el] {weekday} {day}",),
        DayOfMonth: ("el {day}", "el día {day}"),
        DayOfNextMonth: ("el [día] {day} del_próximo_mes|del_mes_que_viene",),
        EndOf: (
            "[a|al] fin|final|finales de [la|este|esta] {unit:period}",
            "[a|al] fin|final|finales del {unit:period}",
        ),
        EndOfMonth: ("[a|al] fin|final|finales de {month}",),
        BaseWeekday: (
            "{weekday}",
            "el {weekday}",
        ),
        From: (
            "{day:base_date} en|dentro_de {span}",
            "{span} a_partir_de {day:base_date}",
            "de {day:base_date} en {span}",
        ),
        NthWeekday: (
            "[el] {nth} {weekday} de {month}",
            "[el] {nth} {weekday} de_este_mes",
        ),
        NthWeekdayNextMonth: ("[el] {nth} {weekday} del_próximo_mes|del_mes_que_viene",),
        LastDayOf: ("[el] último día de {month}", "[el] último día de_este_mes"),
        NextUnit: ("{unit:next_unit}",),
        After: (
            "{span}",
            "en|dentro_de [aproximadamente|unos|unas|más_o_menos|exactamente] {span} [{zone}]",
            "{span} después|más_tarde",
            "+ {span}",
        ),
        Ago: ("hace {span}",),
        HoursAlone: ("{clock:hour} hora|horas",),
        OnDay: (
            "{date} [{part}] [{time}] [{zone}]",
            "{date} {time:beside_day} [{zone}]",
            "{date:ahead} {time} [{zone}]",
            "{time} [{zone}]",
            "{time} [de|del] {date} [{part}] [{zone}]",
            "{date} {time} {part} [{zone}]",
        ),
        DayList: ("[el|los] {first:any_days} {more:any_days&}",),
        DayRange: ("[de] {first:weekday} a {last:weekday}",),
        EverySpan: ("cada {span}", "{span:long_span}"),
        EveryUnit: ("cada {unit:beat}", "{unit:long_unit}"),
        EveryDay: (
            "cada {days*} [{part}] [{times}] [{zone}]",
            "todos los {days:plural*} [{part}] [{times}] [{zone}]",
            "los {days:plural*} [{part}] [{times}] [{zone}]",
            "{days:span_of_days*} [{times}] [{zone}]",
            "[todos_los_días] {days:day_range} [{times}] [{zone}]",
            "a_diario|diariamente|una_vez_al_día [{times}] [{zone}]",
            "dos_veces_al_día|tres_veces_al_día {times} [{zone}]",
            "cada_semana|todas_las_semanas|semanalmente el {days:any_days} [{times}] [{zone}]",
            "una_vez_por_semana|una_vez_a_la_semana el {days:any_days} [{times}] [{zone}]",
            "dos_veces_por_semana los {days:plural*} [{times}] [{zone}]",
            "cada {part:noun} [{times}] [{zone}]",
            "todas las {part:noun} [{times}] [{zone}]",
            "{times} todos los {days:plural*} [{zone}]",
            "{times} cada {days*} [{zone}]",
            "{times} {days:span_of_days*} [{zone}]",
            "{times} {days:day_range} [{zone}]",
            "todos los {days:plural} excepto|menos|salvo [el|los] {without:any_days+} [{times}] [{zone}]",
            "todos los {days:plural} {times} excepto|menos|salvo [el|los] {without:any_days+} [{zone}]",
            "los {days:plural} excepto|menos|salvo [el|los] {without:any_days+} [{times}] [{zone}]",
        ),
        EveryMonth: (
            "cada mes el|los [día|días] {days:day*} [{times}] [{zone}]",
            "todos los meses el [día] {days:day*} [{times}] [{zone}]",
            "el|los [día|días] {days:day*} de cada mes [{times}] [{zone}]",
        ),
        FirstOfMonth: ("el primer día de_cada_mes|del_mes [{times}] [{zone}]",),
        LastOfMonth: (
            "[el|cada] último día de_cada_mes|del_mes [{times}] [{zone}]",
            "cada mes el último día [{times}] [{zone}]",
        ),
        NthOfMonth: (
            "[el|cada|todos_los] {nth} {weekday} de_cada_mes|del_mes [{times}] [{zone}]",
            "cada mes el {nth} {weekday} [{times}] [{zone}]",
        ),
        EveryYear: (
            "cada año el {calendar} [{times}] [{zone}]",
            "todos los años el {calendar} [{times}] [{zone}]",
            "cada {calendar} [{times}] [{zone}]",
        ),
        EveryFewDays: (
            "cada {every:number} días {times} [{zone}]",
            "un día {every:every_two} {times} [{zone}]",
        ),
        EveryFewWeeks: (
            "cada {every:number} semanas el|los {days:any_days} [{times}] [{zone}]",
            "cada {every:number} {days:weekly_plural} [{times}] [{zone}]",
            "un {days:one_day} {every:every_two} [{times}] [{zone}]",
        ),
        Window: ("entre|de|desde {first:window_time} y|a|hasta {last:window_time}",),
        Within: (
            "cada hora {window} [{zone}]",
            "cada {span} {window} [{zone}]",
            "cada hora {window} {days:span_of_days} [{zone}]",
            "cada hora {window} {days:day_range} [{zone}]",
            "{days:span_of_days} cada hora {window} [{zone}]",
            "{days:day_range} cada hora {window} [{zone}]",
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
