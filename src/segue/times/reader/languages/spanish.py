"""Language table: Spanish.

- `a las 9` is on a 24-hour clock, `a las 9 de la noche` on a 12-hour clock.
- `a las 9 horas` is a time and `en 9 horas` a length of time. Alone, `9 horas` can be either, so it is
  refused.
- `y media`, `menos cuarto`, `y veinte` are on a twelve-hour dial.
- `el próximo viernes` can be the coming one or that of next week. If these differ it is refused; `el viernes
  que viene` is read.
- `ocho días` can mean a week and `quince días` two weeks, so they are refused in words; `8 días` is read.
"""

from segue.times.reader.dates import (
    Ahead,
    CalendarDate,
    Dated,
    DayOfMonth,
    DayOfNextMonth,
    EndOf,
    NextWeekday,
    OnWeekday,
    ThisWeekday,
    WeekdayNextWeek,
)
from segue.times.reader.language import Language
from segue.times.reader.languages.spanish_words import NUMBERS, WORDS
from segue.times.reader.moments import After, Ago, HoursAlone, OnDay
from segue.times.reader.parts import (
    BareTime,
    BesideDay,
    Measure,
    Span,
    Time,
    Times,
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

SPANISH = Language(
    spaced=True,
    decimal_mark=",",
    day_first="/",
    ordinal_endings=("º", "°", "ro"),
    joiners=("y", "e", "y el", "&"),
    accents=("áéíóúüñ", "aeiouun"),
    numbers=NUMBERS,
    words=WORDS,
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
            "a|al fin|final|finales de [la|este|esta] {unit:period}",
            "fin|final|finales de la|este|esta {unit:period}",
            "[a|al] fin|final|finales del {unit:period}",
            "fin de {unit:long_period}",  # `fin de semana` is the weekend
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
