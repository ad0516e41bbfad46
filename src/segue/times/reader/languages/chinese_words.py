"""Words of Chinese: numbers, and the words of the language's table by kind."""

from fractions import Fraction

from segue.times.reader.dates import (
    EndOf,
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
)
from segue.times.reader.zones import ZoneInText

DIGITS = "一二三四五六七八九"
TENS = ("十", *(f"{digit}十" for digit in DIGITS[1:]))
NUMBERS = {
    "零": 0,
    "两": 2,
    **{digit: number for number, digit in enumerate(DIGITS, 1)},
    **{ten: number * 10 for number, ten in enumerate(TENS, 1)},
    **{
        f"{ten}{digit}": tens * 10 + ones
        for tens, ten in enumerate(TENS, 1)
        for ones, digit in enumerate(DIGITS, 1)
    },
    **{f"零{digit}": number for number, digit in enumerate(DIGITS, 1)},
}
CHARACTERS = {
    number: word for word, number in NUMBERS.items() if word not in ("两", "零") and word[0] != "零"
}

UNITS = {
    "秒|秒钟": Unit.SECOND,
    "分钟|分": Unit.MINUTE,
    "小时|个小时|个钟头|钟头": Unit.HOUR,
    "天|日": Unit.DAY,
    "周|星期|个星期|个礼拜": Unit.WEEK,
    "个月": Unit.MONTH,
    "年": Unit.YEAR,
}

SEVENTH = "日|天"
WEEK = {**{digit: day for day, digit in enumerate(DIGITS[:6])}, SEVENTH: 6}
WEEKDAYS = {
    "|".join(f"{week}{name}" for week in ("周", "星期", "礼拜") for name in names.split("|")): day
    for names, day in WEEK.items()
}

MONTHS = {f"{month}月|0{month}月|{CHARACTERS[month]}月": month for month in range(1, 13)}

SMALL_HOURS = DayPart("early morning", range(6))
MORNING = DayPart("morning", range(4, 12), usual=9)
NOON = DayPart("middle of the day", range(11, 15), usual=12)
AFTERNOON = DayPart("afternoon", range(12, 19))
EVENING = DayPart("evening", range(17, 24))

PARTS = {
    "凌晨": SMALL_HOURS,
    "早上|早晨|清晨|上午|早": MORNING,
    "中午": NOON,
    "下午": AFTERNOON,
    "傍晚|晚上|晚": EVENING,
}

TRADITIONAL = (
    "點鐘後個兩週禮號這時過幾開東紐約倫間隨後還會從週農曆雙單們來約為與於",
    "点钟后个两周礼号这时过几开东纽约伦间随后还会从周农历双单们来约为与于",
)
"""Traditional characters, and the simplified ones of the table."""

NTH = {"第一个": 1, "第二个": 2, "第三个": 3, "第四个": 4, "最后一个": -1}
PLACES = {
    "北京": "Asia/Shanghai",
    "上海": "Asia/Shanghai",
    "香港": "Asia/Hong_Kong",
    "台北": "Asia/Taipei",
    "东京": "Asia/Tokyo",
    "纽约": "America/New_York",
    "洛杉矶": "America/Los_Angeles",
    "伦敦": "Europe/London",
    "柏林": "Europe/Berlin",
    "巴黎": "Europe/Paris",
}
SIMPLE_DAYS = {
    "|".join(name for name in names.split("|")): frozenset({day}) for names, day in WEEKDAYS.items()
}

WORDS: Kinds = {
    "unit": UNITS,
    "beat": {
        "秒|秒钟": Unit.SECOND,
        "分钟": Unit.MINUTE,
        "小时|个小时": Unit.HOUR,
    },
    "share": {"半": Fraction(1, 2)},
    "clock_measure": {"半小时|半个小时": Measure(Unit.MINUTE, Fraction(30))},
    "measure": {
        "半分钟": Measure(Unit.SECOND, Fraction(30)),
        "半小时|半个小时|半个钟头": Measure(Unit.MINUTE, Fraction(30)),
        "半年": Measure(Unit.MONTH, Fraction(6)),
        "一刻钟": Measure(Unit.MINUTE, Fraction(15)),
        "三刻钟": Measure(Unit.MINUTE, Fraction(45)),
    },
    "weekday": WEEKDAYS,
    "moment": {"有一天": Someday()},
    "month": MONTHS,
    "ordinal": {f"{CHARACTERS[day]}号|{CHARACTERS[day]}日": day for day in range(1, 32)},
    "date": {
        "昨天": InDays(-1),
        "今天|今日": InDays(0),
        "明天|明日": InDays(1),
        "后天": InDays(2),
        "大后天": InDays(3),
        "今早|今晨": InDays(0, MORNING),
        "今晚": InDays(0, EVENING),
        "明早|明晨": InDays(1, MORNING),
        "明晚": InDays(1, EVENING),
        "月底|本月底|这个月底|月末": EndOf(Unit.MONTH),
        "年底|今年年底|年末": EndOf(Unit.YEAR),
    },
    "days": {
        "天|日": EVERY_DAY,
        "工作日|个工作日": WORKDAYS,
        "周末|个周末": frozenset({5, 6}),
        **{
            "|".join(f"{one}{name}" for one in ("", "个") for name in names.split("|")): frozenset({day})
            for names, day in WEEKDAYS.items()
        },
    },
    "day_of_week": {names: frozenset({day}) for names, day in WEEK.items()},
    "span_of_days": {
        "工作日": WORKDAYS,
        "平日": MONDAY_TO_FRIDAY,
        "周末每天": frozenset({5, 6}),
    },
    "part": PARTS,
    "named_clock": {"正午": ClockTime(12, fixed=True), "午夜|半夜": Midnight()},
    "quarter": {"半": 30, "一刻": 15, "三刻": 45},
    "zone": {f"{place}时间": ZoneInText(zone, None) for place, zone in PLACES.items()},
    "nth": NTH,
    "one_day": SIMPLE_DAYS,
    "to": {"一刻": 15, "五分": 5, "十分": 10, "二十分": 20, "5分": 5, "10分": 10, "20分": 20},
    "next_unit": {
        "下周|下星期|下个星期|下礼拜": Unit.WEEK,
        "下个月|下月": Unit.MONTH,
        "明年": Unit.YEAR,
    },
    "long_unit": {
        "每周|每周一次|每个星期|每星期|每个星期一次": Unit.WEEK,
        "每月|每个月|每月一次|每个月一次": Unit.MONTH,
        "每年|每年一次": Unit.YEAR,
    },
    "long_span": {
        "每季度|每个季度": Span((Measure(Unit.MONTH, Fraction(3)),)),
        "每半年": Span((Measure(Unit.MONTH, Fraction(6)),)),
        "每刻钟|每一刻钟": Span((Measure(Unit.MINUTE, Fraction(15)),)),
    },
    "short_unit": {"小时|个小时": Unit.HOUR, "分钟": Unit.MINUTE, "秒|秒钟": Unit.SECOND},
    "every_few": {
        "每两周|每2周|每两个星期|隔周|每隔一周|每隔一个星期": 2,
        "每三周|每3周": 3,
        "每四周|每4周": 4,
    },
    "after_next": {f"下下{name}": day for names, day in WEEKDAYS.items() for name in names.split("|")},
}
