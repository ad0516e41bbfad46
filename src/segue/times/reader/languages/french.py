"""Language table: French.

- `à 9h` is a time and `dans 9h` a length of time. Alone, `9h`, `9 heures` and `9h30` can be either, so they
  are refused.
- `vendredi prochain` can be the coming one or that of next week. If these differ it is refused.
- `et demie`, `moins le quart` are on a twelve-hour dial.
- `jours ouvrés` are read; `jours ouvrables`, which include Saturday, are not.
- `huit jours` can mean a week and `quinze jours` two weeks, so they are refused in words; `8 jours` is read.
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
    "jour ouvré|jour de semaine": MONDAY_TO_FRIDAY,
    "week-end|weekend": frozenset({5, 6}),
    **{names.split("|")[0]: frozenset({day}) for names, day in WEEKDAYS.items()},
}
PLURALS = {
    "jours": EVERY_DAY,
    "jours ouvrés|jours de semaine": MONDAY_TO_FRIDAY,
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

FRENCH = Language(
    spaced=True,
    decimal_mark=",",
    day_first="/",
    ordinal_endings=("er", "e"),
    joiners=("et", "et le", "et les", "&"),
    accents=("àâéèêîôûç", "aaeeeiouc"),
    numbers=NUMBERS,
    words={
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
            "en semaine|les jours ouvrés": MONDAY_TO_FRIDAY,
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
    },
    phrases={
        Measure: (
            "{number} {unit}",
            "{number} {unit} et {share}",
            "{number} {unit:hour_unit} {minute}",
        ),
        Span: ("{measures:measure*}",),
        Time: (
            "[à] {clock} [{part:hours}]",
            "[à] {clock:hour} h|heure|heures {minute} [{part:hours}]",
            "à {clock:hour} h|heure|heures [{part:hours}]",
            "{clock:hour} h|heure|heures {part:hours}",
            "[à] {clock:hour} heure|heures|h {past} [{part:hours}]",
            "à {clock:hour} [{part:hours}]",
            "[à] {clock:named_clock}",
        ),
        BesideDay: ("{clock:hour} h|heure|heures",),
        BareTime: ("{clock:hour} h|heure|heures [{minute}]", "[à] {clock:hour} h|heures [{minute}]"),
        WindowTime: ("{clock:hour} [h|heures] [{minute}]", "{clock}"),
        Times: (
            "{times:time+}",
            "{times:time} {more:bare_time&}",
            "{times:bare_time} {more:bare_time&}",
            "{times:beside_day}",
        ),
        Ahead: ("dans {span}",),
        OnWeekday: ("{weekday} [.]",),
        ThisWeekday: ("ce {weekday}",),
        NextWeekday: ("{weekday} prochain",),
        WeekdayNextWeek: (
            "{weekday} prochain",
            "[le] {weekday} de_la|en semaine prochaine",
            "[la] semaine prochaine [le] {weekday}",
        ),
        CalendarDate: ("{day} {month} [.] [{year}]",),
        Dated: ("[le] [{weekday}] [le] {calendar}", "le [{weekday}] {calendar:short_date}"),
        NumberedWeekday: ("[le] {weekday} [le] {day}",),
        DayOfMonth: ("le {day}",),
        DayOfNextMonth: ("le {day} du mois prochain", "le mois prochain le {day}"),
        EndOf: ("[à] [la] fin {unit:period}",),
        EndOfMonth: ("[à] [la] fin [de] {month}",),
        BaseWeekday: ("{weekday}",),
        From: ("{day:base_date} dans {span}", "{day:base_date} {span:en_huit}"),
        NthWeekday: (
            "[le] {nth} {weekday} de|du_mois_de {month}",
            "[le] {nth} {weekday} de_ce_mois",
        ),
        NthWeekdayNextMonth: ("[le] {nth} {weekday} du_mois_prochain",),
        LastDayOf: ("[le] dernier jour de|d'|du_mois_de|du_mois_d' {month}", "[le] dernier jour de_ce_mois"),
        NextUnit: ("{unit:next_unit}",),
        After: (
            "{span}",
            "dans [environ|à_peu_près|exactement] {span} [{zone}]",
            "d'ici {span}",
            "{span} plus_tard",
            "+ {span}",
        ),
        Ago: ("il y a {span}",),
        HoursAlone: ("{clock:hour} heure|heures",),
        OnDay: (
            "{date} [{part}] [{time}] [{zone}]",
            "{date} [{part}] {time:beside_day} [{zone}]",
            "{date:ahead} {time} [{zone}]",
            "{time} [{zone}]",
            "{time} {date} [{part}] [{zone}]",
            "{time:beside_day} {date} [{part}] [{zone}]",
        ),
        DayList: ("[le|les] {first:one_day} {more:one_day&}",),
        DayRange: ("du|de {first:weekday} au|à {last:weekday}", "{first:weekday} - {last:weekday}"),
        EverySpan: (
            "toutes|tous les {span}",
            "toutes|tous les {span:beats}",
            "chaque {span}",
            "{span:long_span}",
        ),
        EveryUnit: ("chaque {unit:beat}", "toutes les {unit:beat}", "{unit:long_unit}"),
        EveryDay: (
            "chaque {days*} [{part}] [{times}] [{zone}]",
            "tous les {days:plural*} [{part}] [{times}] [{zone}]",
            "les {days:plural*} [{part}] [{times}] [{zone}]",
            "[tous_les_jours] {days:span_of_days*} [{times}] [{zone}]",
            "[tous_les_jours] {days:day_range} [{times}] [{zone}]",
            "chaque {part} [{times}] [{zone}]",
            "tous les {part:parts} [{times}] [{zone}]",
            "quotidiennement|une_fois_par_jour [{times}] [{zone}]",
            "deux_fois_par_jour|trois_fois_par_jour {times} [{zone}]",
            "chaque_semaine|toutes_les_semaines|une_fois_par_semaine le {days} [{part}] [{times}] [{zone}]",
            "deux_fois_par_semaine {days:day_list} [{times}] [{zone}]",
            "le {days} [{part}] {times} chaque_semaine",
            "{times} tous les {days:plural*} [{zone}]",
            "{times} chaque {days*} [{zone}]",
            "{times} {days:span_of_days*} [{zone}]",
            "tous les {days:plural} sauf [le|les] {without:any_days+} [{times}] [{zone}]",
            "chaque {days} sauf [le|les] {without:any_days+} [{times}] [{zone}]",
            "{days:span_of_days} sauf [le|les] {without:any_days+} [{times}] [{zone}]",
            "tous les {days:plural} {times} sauf [le|les] {without:any_days+} [{zone}]",
        ),
        EveryMonth: (
            "chaque mois le {days:day*} [{times}] [{zone}]",
            "tous les mois le {days:day*} [{times}] [{zone}]",
            "le {days:day*} de chaque mois [{times}] [{zone}]",
            "tous les {days:day} du mois [{times}] [{zone}]",
        ),
        FirstOfMonth: ("le premier jour de_chaque|du mois [{times}] [{zone}]",),
        LastOfMonth: (
            "[le|chaque] dernier jour de_chaque|du mois [{times}] [{zone}]",
            "chaque|tous_les mois le dernier jour [{times}] [{zone}]",
        ),
        NthOfMonth: (
            "[le|chaque|tous_les] {nth} {weekday} de_chaque|du mois [{times}] [{zone}]",
            "tous_les {nth} {weekday:weekdays} du mois [{times}] [{zone}]",
            "chaque|tous_les mois le {nth} {weekday} [{times}] [{zone}]",
        ),
        EveryYear: (
            "chaque année le {calendar} [{times}] [{zone}]",
            "tous les ans le {calendar} [{times}] [{zone}]",
            "tous les {calendar} [{times}] [{zone}]",
        ),
        EveryFewDays: (
            "tous les {every:number} jours {times} [{zone}]",
            "un jour {every:every_two} {times} [{zone}]",
        ),
        EveryFewWeeks: (
            "un {days:one_day} {every:every_two} [{part}] [{times}] [{zone}]",
            "toutes les {every:number} semaines le|les {days:any_days} [{times}] [{zone}]",
            "une semaine {every:every_two} le|les {days:any_days} [{times}] [{zone}]",
            "tous les {every:number} {days:weekly_plural} [{times}] [{zone}]",
        ),
        Window: ("entre|de {first:window_time} et|à {last:window_time}",),
        Within: (
            "chaque heure {window} [{zone}]",
            "toutes les heures {window} [{zone}]",
            "toutes les {span} {window} [{zone}]",
            "chaque heure {window} {days:span_of_days} [{zone}]",
            "toutes les heures {window} {days:span_of_days} [{zone}]",
            "toutes les heures {window} {days:day_range} [{zone}]",
            "{days:span_of_days} toutes les heures {window} [{zone}]",
        ),
    },
    examples={
        "tomorrow at {time}": "demain à {time}",
        "today at {time}": "aujourd'hui à {time}",
        "in 3 hours": "dans 3 heures",
        "in 2 days at 09:00": "dans 2 jours à 09:00",
        "on the 3rd at 09:00": "le 3 à 09:00",
        "tomorrow at 09:00 Europe/Berlin": "demain à 09:00 Europe/Berlin",
        "in 8 weeks": "dans 8 semaines",
        "in 2 months Europe/Berlin": "dans 2 mois Europe/Berlin",
        "2h 15m": "2 heures 15 minutes",
        "30 days": "30 jours",
        "52 weeks": "52 semaines",
        "every 30 seconds": "toutes les 30 secondes",
        "every 24 hours": "toutes les 24 heures",
        "every day at 18:30": "tous les jours à 18:30",
        "every day at 9 Europe/Berlin": "tous les jours à 9h Europe/Berlin",
        "every weekday at 9": "chaque jour ouvré à 9h",
        "every month on the 1st at 9": "le 1er de chaque mois à 9h",
        "every year on 3 March at 9": "chaque année le 3 mars à 9h",
    },
)
