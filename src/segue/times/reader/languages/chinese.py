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
from segue.times.reader.moments import After, Ago, OnDay, Someday
from segue.times.reader.parts import (
    BareTime,
    ClockMeasure,
    ClockSpan,
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
    DateNextYear,
    EndOfMonth,
    LastDayOf,
    NextUnit,
    NthWeekday,
    NthWeekdayNextMonth,
    NumberedWeekday,
    WeekdayAfterNext,
)
from segue.times.reader.repeats import (
    EVERY_DAY,
    MONDAY_TO_FRIDAY,
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

CHINESE = Language(
    spaced=False,
    decimal_mark=".",
    day_first="",
    ordinal_endings=("号", "日"),
    joiners=("和", "及", "零", "、"),
    accents=TRADITIONAL,
    numbers=NUMBERS,
    words={
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
            "工作日|个工作日": MONDAY_TO_FRIDAY,
            "周末|个周末": frozenset({5, 6}),
            **{
                "|".join(f"{one}{name}" for one in ("", "个") for name in names.split("|")): frozenset({day})
                for names, day in WEEKDAYS.items()
            },
        },
        "day_of_week": {names: frozenset({day}) for names, day in WEEK.items()},
        "span_of_days": {
            "工作日|平日": MONDAY_TO_FRIDAY,
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
    },
    phrases={
        Measure: ("{number} {unit}", "{number} [个] {share} {unit}", "{number} {unit} {share}"),
        Span: ("{measures:measure*}",),
        Time: (
            "{clock}",
            "{clock:hour} 点|时|点钟 [整]",
            "{clock:hour} 点|时 {minute:quarter}",
            "{clock:hour} 点|时 {minute}",
            "{clock:hour} 点|时 [过] {minute:minutes} 分",
            "差 {to} {clock:hour} 点",
            "{clock:named_clock}",
        ),
        BareTime: (
            "[{part}] {clock}",
            "[{part}] {clock:hour} 点|时|点钟 [整]",
            "[{part}] {clock:hour} 点|时 {minute:quarter}",
            "[{part}] {clock:hour} 点|时 {minute:minutes} 分",
        ),
        WindowTime: ("[{part}] {clock:hour} 点|时", "[{part}] {clock}"),
        Times: ("{times:time}", "{times:bare_time} {more:bare_time&}"),
        Ahead: ("{span} 后|之后|以后", "再过 {span}"),
        OnWeekday: ("{weekday}",),
        ThisWeekday: ("这|这个|本 {weekday}",),
        WeekdayNextWeek: ("下|下个 {weekday}",),
        WeekdayAfterNext: ("{weekday:after_next}",),
        CalendarDate: ("{year} 年 {month} {day:ordinal}", "{month} {day:ordinal}"),
        DateNextYear: ("明年 {month} {day:ordinal}",),
        Dated: ("{calendar} [{weekday}]", "{weekday} {calendar}", "{calendar:short_date}"),
        NumberedWeekday: ("{weekday} {day:ordinal}",),
        DayOfMonth: ("[这个月|本月] {day:ordinal}",),
        DayOfNextMonth: ("下个月|下月 {day:ordinal}",),
        EndOfMonth: ("{month} 底",),
        NthWeekday: ("{month} [的] {nth} {weekday}", "这个月|本月 [的] {nth} {weekday}"),
        NthWeekdayNextMonth: ("下个月|下月 [的] {nth} {weekday}",),
        LastDayOf: ("{month} [的] 最后一天", "这个月|本月 [的] 最后一天"),
        NextUnit: ("{unit:next_unit}",),
        After: (
            "{span}",
            "[大约|大概|约|差不多] {span} [左右] 后|之后|以后 [{zone}]",
            "过 {span:clock_span} [{zone}]",
            "再过 {span} [{zone}]",
            "+ {span}",
        ),
        ClockSpan: ("{measures:clock_measure*}",),
        ClockMeasure: ("{number} {unit:short_unit}",),
        Ago: ("{span} 前|之前|以前",),
        OnDay: (
            "{date} [{part}] [{time}] [{zone}]",
            "{date:ahead} [的] [{part}] {time} [{zone}]",
            "[{part}] {time} [{zone}]",
            "{zone} {date} [{part}] [{time}]",
        ),
        DayRange: ("{first:weekday} 到|至 {last:weekday}", "每 {first:weekday} 到|至 {last:weekday}"),
        EverySpan: ("每 {span} [一次]", "每隔 {span:clock_span} [一次]", "{span:long_span}"),
        EveryUnit: ("每|每隔 {unit:beat} [一次]", "每隔一 {unit:beat}", "{unit:long_unit}"),
        EveryDay: (
            "每|每逢 {days*} [{part}] [{times}] [{zone}]",
            "每周|每星期|每个星期|每礼拜 {days:day_of_week*} [{part}] [{times}] [{zone}]",
            "{days:span_of_days*} [{part}] [{times}] [{zone}]",
            "{days:day_range} [{part}] [{times}] [{zone}]",
            "天天 [{part}] [{times}] [{zone}]",
            "每 {part} [{times}] [{zone}]",
            "每天两次|每天三次 {times} [{zone}]",
            "除|除了 {without:one_day} [外|以外] 每天 [{part}] [{times}] [{zone}]",
            "每天 [{part}] {times} 除了 {without:one_day} [外|以外] [{zone}]",
            "每天 [{part}] {times} {without:one_day} 除外",
            "{days:span_of_days} [{part}] {times} 除了 {without:one_day} [外|以外] [{zone}]",
        ),
        EveryMonth: ("每月|每个月 {days:ordinal*} [{part}] [{times}] [{zone}]",),
        FirstOfMonth: ("每月|每个月 [的] 第一天 [{part}] [{times}] [{zone}]",),
        LastOfMonth: ("每月|每个月 [的] 最后一天|月底|底 [{part}] [{times}] [{zone}]",),
        NthOfMonth: ("每月|每个月 [的] {nth} {weekday} [{part}] [{times}] [{zone}]",),
        EveryYear: ("每年 [的] {calendar} [{part}] [{times}] [{zone}]",),
        EveryFewDays: ("每 {every:number} 天 [{part}] {times} [{zone}]",),
        EveryFewWeeks: ("{every:every_few} [的] {days:one_day} [{part}] [{times}] [{zone}]",),
        Window: ("[从] {first:window_time} 到|至 {last:window_time} [之间]",),
        Within: (
            "[每天] {window} 每小时|每个小时 [{zone}]",
            "每小时|每个小时 {window} [{zone}]",
            "{days:span_of_days} {window} 每小时|每个小时 [{zone}]",
            "{days:day_range} {window} 每小时|每个小时 [{zone}]",
        ),
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
