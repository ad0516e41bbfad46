"""Language table: Chinese, which has no spaces. Numbers are digits, or characters up to 九十九.

- `三点` is on a 24-hour clock, `下午三点` on a 12-hour clock.
- `下周五` is the Friday of next week.
- `每隔一天` is not read: it can mean every day or every other day. Nor are `过两天` and `半天后`, which are
  seldom meant literally.
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
    OnWeekday,
    ThisWeekday,
    WeekdayNextWeek,
)
from segue.times.reader.language import Language
from segue.times.reader.moments import After, Ago, OnDay
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

CHINESE = Language(
    spaced=False,
    decimal_mark=".",
    day_first="",
    ordinal_endings=("号", "日"),
    joiners=("和", "及", "零"),
    numbers=NUMBERS,
    words={
        "unit": UNITS,
        "beat": {
            "秒|秒钟": Unit.SECOND,
            "分钟": Unit.MINUTE,
            "小时|个小时": Unit.HOUR,
        },
        "share": {"半": Fraction(1, 2)},
        "measure": {
            "半分钟": Measure(Unit.SECOND, Fraction(30)),
            "半小时|半个小时|半个钟头": Measure(Unit.MINUTE, Fraction(30)),
            "半年": Measure(Unit.MONTH, Fraction(6)),
            "一刻钟": Measure(Unit.MINUTE, Fraction(15)),
            "三刻钟": Measure(Unit.MINUTE, Fraction(45)),
        },
        "weekday": WEEKDAYS,
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
            "工作日|个工作日": MONDAY_TO_FRIDAY,
            "周末|个周末": frozenset({5, 6}),
            **{
                "|".join(f"{one}{name}" for one in ("", "个") for name in names.split("|")): frozenset({day})
                for names, day in WEEKDAYS.items()
            },
        },
        "day_of_week": {names: frozenset({day}) for names, day in WEEK.items()},
        "span_of_days": {
            "工作日": MONDAY_TO_FRIDAY,
            "周一到周五|周一至周五|每周一到周五|每周一至周五|星期一到星期五|星期一至星期五": MONDAY_TO_FRIDAY,
        },
        "part": PARTS,
        "named_clock": {"正午": ClockTime(12, fixed=True), "午夜|半夜": Midnight()},
        "quarter": {"半": 30, "一刻": 15, "三刻": 45},
        "zone": {"北京时间": ZoneInText("Asia/Shanghai", None)},
    },
    phrases={
        Measure: ("{number} {unit}", "{number} [个] {share} {unit}", "{number} {unit} {share}"),
        Span: ("{measures:measure*}",),
        Time: (
            "{clock}",
            "{clock:hour} 点|时|点钟 [整]",
            "{clock:hour} 点|时 {minute:quarter}",
            "{clock:hour} 点|时 {minute}",
            "{clock:hour} 点|时 {minute:minutes} 分",
            "{clock:named_clock}",
        ),
        Ahead: ("{span} 后|之后|以后", "再过 {span}"),
        OnWeekday: ("{weekday}",),
        ThisWeekday: ("这|这个|本 {weekday}",),
        WeekdayNextWeek: ("下|下个 {weekday}",),
        CalendarDate: ("{year} 年 {month} {day:ordinal}", "{month} {day:ordinal}"),
        Dated: ("{calendar} [{weekday}]",),
        DayOfMonth: ("[这个月|本月] {day:ordinal}",),
        DayOfNextMonth: ("下个月|下月 {day:ordinal}",),
        After: ("{span}", "{span} 后|之后|以后 [{zone}]", "再过 {span} [{zone}]"),
        Ago: ("{span} 前|之前|以前",),
        OnDay: (
            "{date} [{part}] [{time}] [{zone}]",
            "{date:ahead} [的] [{part}] {time} [{zone}]",
            "[{part}] {time} [{zone}]",
            "{zone} {date} [{part}] [{time}]",
        ),
        EverySpan: ("每 {span}",),
        EveryUnit: ("每 {unit:beat}",),
        EveryDay: (
            "每 {days*} [{part}] [{time}] [{zone}]",
            "每周|每星期|每个星期 {days:day_of_week*} [{part}] [{time}] [{zone}]",
            "{days:span_of_days*} [{part}] [{time}] [{zone}]",
            "每 {part} [{time}] [{zone}]",
        ),
        EveryMonth: ("每月|每个月 {days:ordinal*} [{part}] [{time}] [{zone}]",),
        EveryYear: ("每年 {calendar} [{part}] [{time}] [{zone}]",),
    },
    examples={
        "tomorrow at {time}": "明天{time}",
        "today at {time}": "今天{time}",
        "in 3 hours": "3小时后",
        "in 2 days at 09:00": "2天后09:00",
        "on the 3rd at 09:00": "3号09:00",
        "tomorrow at 09:00 Europe/Berlin": "明天09:00 Europe/Berlin",
        "in 8 weeks": "8周后",
        "in 2 months Europe/Berlin": "2个月后 Europe/Berlin",
        "2h 15m": "2小时15分钟",
        "30 days": "30天",
        "52 weeks": "52周",
        "every 30 seconds": "每30秒",
        "every 24 hours": "每24小时",
        "every day at 18:30": "每天18:30",
        "every day at 9 Europe/Berlin": "每天9点 Europe/Berlin",
        "every weekday at 9": "每个工作日9点",
        "every month on the 1st at 9": "每月1号9点",
        "every year on 3 March at 9": "每年3月3日9点",
    },
)
