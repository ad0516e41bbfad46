"""Words of Russian: numbers, and the words of the language's table by kind."""

from fractions import Fraction

from segue.times.reader.dates import (
    InDays,
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
    "будний день": MONDAY_TO_FRIDAY,
    "рабочий день": WORKDAYS,
    "выходной|выходные": frozenset({5, 6}),
    **{names.split("|")[0]: frozenset({day}) for names, day in WEEKDAYS.items()},
}

ORDINALS = (
    *HOURS_BEGUN, "тринадцатого", "четырнадцатого", "пятнадцатого", "шестнадцатого", "семнадцатого",
    "восемнадцатого", "девятнадцатого", "двадцатого",
    *(f"двадцать {one}" for one in HOURS_BEGUN[:9]), "тридцатого", "тридцать первого",
)  # fmt: skip
MINUTES_OF_HOUR = {"пять": 5, "десять": 10, "двадцать": 20, "двадцать пять": 25}
MINUTES_TO = {"пяти": 5, "десяти": 10, "двадцати": 20, "двадцати пяти": 25, "четверти": 15}
NTH = {
    "первый|первую|первое|первая": 1,
    "второй|вторую|второе|вторая": 2,
    "третий|третью|третье|третья": 3,
    "четвёртый|четвёртую|четвёртое|четвёртая": 4,
    "последний|последнюю|последнее|последняя": -1,
}
DATIVE = {
    "понедельникам": frozenset({0}),
    "вторникам": frozenset({1}),
    "средам": frozenset({2}),
    "четвергам": frozenset({3}),
    "пятницам": frozenset({4}),
    "субботам": frozenset({5}),
    "воскресеньям": frozenset({6}),
}
GENITIVE = {
    "понедельника": 0,
    "вторника": 1,
    "среды": 2,
    "четверга": 3,
    "пятницы": 4,
    "субботы": 5,
    "воскресенья": 6,
}
FEW = {"два|две|2": 2, "три|3": 3, "четыре|4": 4, "пять|5": 5}

WORDS: Kinds = {
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
    "number": {"пару": Fraction(2)},
    "turned": {
        **{
            f"минут через {word}": Span((Measure(Unit.MINUTE, Fraction(number)),))
            for word, number in (
                ("5", 5),
                ("10", 10),
                ("15", 15),
                ("20", 20),
                ("30", 30),
                ("пять", 5),
                ("десять", 10),
                ("пятнадцать", 15),
                ("двадцать", 20),
            )
        },
        **{
            f"{unit} через {word}": Span((Measure(measure, Fraction(number)),))
            for unit, measure in (("часа", Unit.HOUR), ("дня", Unit.DAY))
            for word, number in (("два", 2), ("три", 3), ("2", 2), ("3", 3))
        },
    },
    "nth": NTH,
    "ordinal": {word: day for day, word in enumerate(ORDINALS, 1)},
    "number_of_month": {"1 число|первое число": 1},
    "genitive": GENITIVE,
    "without": {name: frozenset({day}) for name, day in GENITIVE.items()},
    "short_day": {names.split("|")[-1]: frozenset({day}) for names, day in WEEKDAYS.items()},
    "one_day": {names: frozenset({day}) for names, day in WEEKDAYS.items()},
    "next_unit": {
        "на следующей неделе": Unit.WEEK,
        "в следующем месяце": Unit.MONTH,
        "в следующем году": Unit.YEAR,
    },
    "long_unit": {
        "каждую неделю|еженедельно|раз в неделю": Unit.WEEK,
        "каждый месяц|ежемесячно|раз в месяц": Unit.MONTH,
        "каждый год|ежегодно|раз в год": Unit.YEAR,
    },
    "long_span": {
        "каждую четверть часа": Span((Measure(Unit.MINUTE, Fraction(15)),)),
        "ежеквартально|раз в квартал|каждый квартал": Span((Measure(Unit.MONTH, Fraction(3)),)),
    },
    "other": {"второй": 2, "третий": 3},
    "two": {"вторую|второй|второе": 2},
    "few": FEW,
    "small": {"часик": Span((Measure(Unit.HOUR),)), "минутку": Span((Measure(Unit.MINUTE),))},
    "base_date": {"сегодня": InDays(0), "завтра": InDays(1)},
    "parts_of_days": {"утрам": MORNING, "вечерам": EVENING},
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
        "по будням|в будни|по будним дням": MONDAY_TO_FRIDAY,
        "по рабочим дням|в рабочие дни": WORKDAYS,
        "по выходным|в выходные": frozenset({5, 6}),
    },
    "dative": DATIVE,
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
    "half_begun": {f"пол{word}": ClockTime(hour, 30, dial=True) for hour, word in enumerate(HOURS_BEGUN)},
    "half": {
        "половине|половина|пол": -30,
        "четверть": -45,
        **{f"{word} минут": number - 60 for word, number in MINUTES_OF_HOUR.items()},
    },
    "to": {f"без {word}{unit}": -number for word, number in MINUTES_TO.items() for unit in ("", " минут")},
    "zone": {
        "по москве|по московскому времени|мск": ZoneInText("Europe/Moscow", None),
        "по лондону": ZoneInText("Europe/London", None),
        "по гринвичу": ZoneInText("UTC", None),
        "по нью-йорку": ZoneInText("America/New_York", None),
        "по берлину": ZoneInText("Europe/Berlin", None),
        "по киеву": ZoneInText("Europe/Kyiv", None),
    },
    "repeat": {"ежечасно|раз в час": EveryUnit(Unit.HOUR), "ежеминутно": EveryUnit(Unit.MINUTE)},
}
