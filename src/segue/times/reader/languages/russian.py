"""Language table: Russian. Words are in the cases that times use.

- `в следующую пятницу` can be the coming one or that of next week. If these differ it is refused;
  `в ближайшую пятницу` is read.
- `в половине четвёртого`, `без четверти четыре` are on a twelve-hour dial.
- `через день` is not read: it can mean tomorrow or every other day. `час`, `9 часов` alone are refused: each
  can be a length of time or a clock time.
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
from segue.times.reader.zones import ZoneInText

ONES = (
    "один", "два", "три", "четыре", "пять", "шесть", "семь", "восемь", "девять", "десять", "одиннадцать",
    "двенадцать", "тринадцать", "четырнадцать", "пятнадцать", "шестнадцать", "семнадцать", "восемнадцать",
    "девятнадцать",
)  # fmt: skip
FEMININE = {"одну": 1, "одна": 1, "две": 2}
TENS = (
    "двадцать", "тридцать", "сорок", "пятьдесят", "шестьдесят", "семьдесят", "восемьдесят", "девяносто",
)  # fmt: skip
SMALL = {**{one: number for number, one in enumerate(ONES, 1)}, **FEMININE}
NUMBERS = {
    **SMALL,
    **{ten: number * 10 for number, ten in enumerate(TENS, 2)},
    **{
        f"{ten} {one}": tens * 10 + ones
        for tens, ten in enumerate(TENS, 2)
        for one, ones in SMALL.items()
        if ones < 10
    },
}
HOURS_BEGUN = (
    "первого", "второго", "третьего", "четвёртого", "пятого", "шестого", "седьмого", "восьмого", "девятого",
    "десятого", "одиннадцатого", "двенадцатого",
)  # fmt: skip

UNITS = {
    "секунду|секунды|секунд|сек|с": Unit.SECOND,
    "минуту|минуты|минут|мин": Unit.MINUTE,
    "час|часа|часов|ч": Unit.HOUR,
    "день|дня|дней|сутки|суток": Unit.DAY,
    "неделю|недели|недель": Unit.WEEK,
    "месяц|месяца|месяцев": Unit.MONTH,
    "год|года|лет": Unit.YEAR,
}

WEEKDAYS = {
    "понедельник|пн": 0,
    "вторник|вт": 1,
    "среду|среда|ср": 2,
    "четверг|чт": 3,
    "пятницу|пятница|пт": 4,
    "субботу|суббота|сб": 5,
    "воскресенье|вс": 6,
}

MONTHS = {
    "января|янв": 1,
    "февраля|фев": 2,
    "марта|мар": 3,
    "апреля|апр": 4,
    "мая": 5,
    "июня|июн": 6,
    "июля|июл": 7,
    "августа|авг": 8,
    "сентября|сен": 9,
    "октября|окт": 10,
    "ноября|ноя": 11,
    "декабря|дек": 12,
}

MORNING = DayPart("morning", range(3, 12), usual=9)
DAYTIME = DayPart("daytime", range(11, 18))
EVENING = DayPart("evening", range(16, 24))
NIGHT = DayPart("night", range(18, 24))
SMALL_HOURS = DayPart("night", frozenset({22, 23, 0, 1, 2, 3, 4}))

DAYS = {
    "день": EVERY_DAY,
    "будний день|рабочий день": MONDAY_TO_FRIDAY,
    "выходной|выходные": frozenset({5, 6}),
    **{names.split("|")[0]: frozenset({day}) for names, day in WEEKDAYS.items()},
}

RUSSIAN = Language(
    spaced=True,
    decimal_mark=",",
    day_first=".",
    ordinal_endings=("-го", "-е", "-ое"),
    joiners=("и",),
    accents=("ё", "е"),
    numbers=NUMBERS,
    words={
        "unit": UNITS,
        "single": {
            "секунду": Unit.SECOND,
            "минуту": Unit.MINUTE,
            "час": Unit.HOUR,
            "сутки": Unit.DAY,
            "неделю": Unit.WEEK,
            "месяц": Unit.MONTH,
            "год": Unit.YEAR,
        },
        "beat": {"секунду": Unit.SECOND, "минуту": Unit.MINUTE, "час": Unit.HOUR},
        "period": {"недели": Unit.WEEK, "месяца": Unit.MONTH, "года": Unit.YEAR},
        "measure": {
            "полминуты": Measure(Unit.SECOND, Fraction(30)),
            "полгода": Measure(Unit.MONTH, Fraction(6)),
            "полчаса": Measure(Unit.MINUTE, Fraction(30)),
            "четверть часа": Measure(Unit.MINUTE, Fraction(15)),
            "полтора часа": Measure(Unit.MINUTE, Fraction(90)),
        },
        "share": {"половиной": Fraction(1, 2)},
        "weekday": WEEKDAYS,
        "month": MONTHS,
        "date": {
            "вчера": InDays(-1),
            "сегодня": InDays(0),
            "завтра": InDays(1),
            "послезавтра": InDays(2),
            "сегодня ночью": InDays(0, NIGHT),
        },
        "days": DAYS,
        "plural": {
            "по будням|в будни|по рабочим дням|по будним дням": MONDAY_TO_FRIDAY,
            "с понедельника по пятницу|пн-пт": MONDAY_TO_FRIDAY,
            "по выходным|в выходные": frozenset({5, 6}),
        },
        "dative": {
            "понедельникам": frozenset({0}),
            "вторникам": frozenset({1}),
            "средам": frozenset({2}),
            "четвергам": frozenset({3}),
            "пятницам": frozenset({4}),
            "субботам": frozenset({5}),
            "воскресеньям": frozenset({6}),
        },
        "part": {"утром": MORNING, "днём": DAYTIME, "вечером": EVENING},
        "hours": {"утра": MORNING, "дня": DAYTIME, "вечера": EVENING, "ночи": SMALL_HOURS},
        "noun": {"утро": MORNING, "вечер": EVENING},
        "named_clock": {
            "полдень": ClockTime(12, fixed=True),
            "полночь": Midnight(),
        },
        "hour": {"час": ClockTime(1)},
        "one_hour": {"час": ClockTime(1)},
        "begun": {word: ClockTime(hour) for hour, word in enumerate(HOURS_BEGUN, 1)},
        "half": {"половине|половина|пол": -30},
        "to": {"без четверти": -15},
        "zone": {"по москве|по московскому времени|мск": ZoneInText("Europe/Moscow", None)},
        "repeat": {"ежечасно": EveryUnit(Unit.HOUR), "ежеминутно": EveryUnit(Unit.MINUTE)},
    },
    phrases={
        Measure: ("{number} {unit}", "{number} с {share} {unit}", "{unit:single}"),
        Span: ("{measures:measure*}",),
        Time: (
            "[в] {clock} [{part:hours}]",
            "в {clock:hour} [час|часа|часов|ч] [{part:hours}]",
            "{clock:hour} [час|часа|часов|ч] {part:hours}",
            "в {clock:hour} час|часа|часов|ч {minute:minutes} минуту|минуты|минут|мин [{part:hours}]",
            "в {clock:hour} . {minute} [{part:hours}]",
            "[в] {past:half} {clock:begun} [{part:hours}]",
            "{past:to} {clock:hour} [{part:hours}]",
            "[в] {clock:named_clock}",
        ),
        Ahead: ("через {span}", "спустя {span}"),
        OnWeekday: ("[в|во] {weekday}",),
        ThisWeekday: ("[в] этот|эту|это {weekday}",),
        NextWeekday: ("[в] следующий|следующую|следующее|ближайший|ближайшую|ближайшее {weekday}",),
        WeekdayNextWeek: (
            "[в] следующий|следующую|следующее {weekday}",
            "[в|во] {weekday} на следующей неделе",
            "на следующей неделе в|во {weekday}",
        ),
        CalendarDate: ("{day} {month} [{year}] [года|г.|г]",),
        Dated: ("[в|во] [{weekday}] {calendar} [года|г.|г]",),
        DayOfMonth: ("{day} числа", "{day:ordinal} [числа]"),
        DayOfNextMonth: ("{day} [числа] следующего месяца",),
        EndOf: ("[в] конец|конце [этого|этой] {unit:period}",),
        After: ("{span}", "через {span} [{zone}]", "{span} спустя"),
        Ago: ("{span} назад",),
        HoursAlone: ("{clock:hour} час|часа|часов|ч", "{clock:one_hour}"),
        OnDay: (
            "{date} [{part}] [{time}] [{zone}]",
            "{date:ahead} {time} [{zone}]",
            "{time} [{zone}]",
            "{time} {date} [{part}] [{zone}]",
        ),
        EverySpan: ("каждые {span}",),
        EveryUnit: ("каждый|каждую {unit:beat}",),
        EveryDay: (
            "каждый|каждую|каждое|каждые {days*} [{part}] [{time}] [{zone}]",
            "каждое|каждый {part:noun} [{time}] [{zone}]",
            "по {days:dative*} [{part}] [{time}] [{zone}]",
            "{days:plural*} [{part}] [{time}] [{zone}]",
            "ежедневно [{part}] [{time}] [{zone}]",
            "{time} каждый|каждую|каждое {days*} [{zone}]",
            "{time} {days:plural*} [{zone}]",
            "{time} ежедневно [{zone}]",
        ),
        EveryMonth: (
            "каждый месяц {days:day*} числа [{time}] [{zone}]",
            "ежемесячно {days:day*} числа [{time}] [{zone}]",
            "{days:day*} числа каждого месяца [{time}] [{zone}]",
        ),
        EveryYear: ("каждый год {calendar} [{time}] [{zone}]", "ежегодно {calendar} [{time}] [{zone}]"),
    },
    examples={
        "tomorrow at {time}": "завтра в {time}",
        "today at {time}": "сегодня в {time}",
        "in 3 hours": "через 3 часа",
        "in 2 days at 09:00": "через 2 дня в 09:00",
        "on the 3rd at 09:00": "3 числа в 09:00",
        "tomorrow at 09:00 Europe/Berlin": "завтра в 09:00 Europe/Berlin",
        "in 8 weeks": "через 8 недель",
        "in 2 months Europe/Berlin": "через 2 месяца Europe/Berlin",
        "2h 15m": "2 часа 15 минут",
        "30 days": "30 дней",
        "52 weeks": "52 недели",
        "every 30 seconds": "каждые 30 секунд",
        "every 24 hours": "каждые 24 часа",
        "every day at 18:30": "каждый день в 18:30",
        "every day at 9 Europe/Berlin": "каждый день в 9 Europe/Berlin",
        "every weekday at 9": "по будням в 9",
        "every month on the 1st at 9": "1 числа каждого месяца в 9",
        "every year on 3 March at 9": "каждый год 3 марта в 9",
    },
)
