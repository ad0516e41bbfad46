"""The grammar knows no language: small tables of two that have little in common with English."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from segue.errors import BadTime
from segue.when import read, read_duration
from segue.when.dates import CalendarDate, Dated, InDays, OnWeekday, WeekdayNextWeek
from segue.when.grammar import readings
from segue.when.language import Kinds, Language
from segue.when.moments import After, OnDay
from segue.when.parts import Clock, DayPart, Measure, Span, Time, Unit
from segue.when.repeats import EVERY_DAY, MONDAY_TO_FRIDAY, CronLine, EveryDay

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 15, 20, tzinfo=BERLIN)

CHINESE = Language(
    spaced=False,
    decimal_mark=".",
    day_first="",
    ordinal_endings=("号",),
    joiners=("和",),
    numbers={"一": 1, "两": 2, "三": 3, "九": 9, "十": 10},
    words={
        "unit": {"分钟": Unit.MINUTE, "小时|个小时": Unit.HOUR, "天": Unit.DAY, "周": Unit.WEEK},
        "month": {f"{month}月": month for month in range(1, 13)},
        "weekday": {"周一|星期一": 0, "周五|星期五": 4},
        "date": {"今天": InDays(0), "明天": InDays(1), "后天": InDays(2)},
        "days": {"天": EVERY_DAY, "个工作日|工作日": MONDAY_TO_FRIDAY},
        "part": {"早上|上午": DayPart("早上", range(12), usual=9), "下午": DayPart("下午", range(12, 18))},
    },
    phrases={
        Measure: ("{number} {unit}",),
        Span: ("{measures:measure*}",),
        After: ("{span} 后|之后",),
        Time: ("{clock}", "{clock:hour} 点"),
        OnWeekday: ("{weekday}",),
        WeekdayNextWeek: ("下 {weekday}",),
        CalendarDate: ("[{year}] [年] {month} {day} 日|号",),
        Dated: ("{calendar}",),
        OnDay: ("[{date}] [{part}] {time} [{zone}]", "{date}"),
        EveryDay: ("每 {days*} [{part}] {time}",),
    },
)

RUSSIAN = Language(
    spaced=True,
    decimal_mark=",",
    day_first=".",
    ordinal_endings=("-го",),
    joiners=("и",),
    numbers={"один": 1, "два": 2, "три": 3},
    words={
        "unit": {"минуту|минуты|минут": Unit.MINUTE, "час|часа|часов": Unit.HOUR, "день|дня|дней": Unit.DAY},
        "measure": {
            "полчаса": Measure(Unit.MINUTE, Fraction(30)),
            "полтора часа": Measure(Unit.MINUTE, Fraction(90)),
        },
        "month": {"января": 1, "марта": 3},
        "weekday": {"понедельник": 0, "пятницу": 4},
        "date": {"завтра": InDays(1), "послезавтра": InDays(2)},
        "days": {"день": EVERY_DAY, "будний день": MONDAY_TO_FRIDAY},
        "part": {"утра": DayPart("утро", range(12)), "вечера": DayPart("вечер", range(16, 24))},
        "clock": {"полдень": Clock(12, fixed=True)},
    },
    phrases={
        Measure: ("{number} {unit}", "{unit}"),
        Span: ("{measures:measure*}",),
        After: ("через {span}", "{span} спустя"),
        Time: ("[в] {clock}", "в {clock:hour} [час|часа|часов]"),
        OnWeekday: ("в {weekday}",),
        CalendarDate: ("{day} {month} [{year}] [года]",),
        Dated: ("{calendar}",),
        OnDay: ("{date} [{time}] [{part}] [{zone}]", "{time} [{part}] [{date}]"),
        EveryDay: ("каждый {days*} {time} [{part}]",),
    },
)


def table(words: Kinds, phrases: Mapping[Any, tuple[str, ...]]) -> Language:
    """A language with nothing but these words and wordings."""
    return Language(
        spaced=True,
        decimal_mark=".",
        day_first="",
        ordinal_endings=("th",),
        joiners=(),
        numbers={},
        words=words,
        phrases=phrases,
    )


def moment(text: str, language: Language) -> str:
    [phrase] = readings(text, ("moment",), (language,), "")
    assert isinstance(phrase, After | OnDay)
    return phrase.moment(NOW, BERLIN).replace(tzinfo=None).isoformat(sep=" ", timespec="minutes")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("明天早上9点", "2026-11-16 09:00"),
        ("明天下午三点", "2026-11-16 15:00"),
        ("后天 18:30", "2026-11-17 18:30"),
        ("两小时后", "2026-11-15 22:00"),
        ("1小时30分钟之后", "2026-11-15 21:30"),
        ("下周五下午5点", "2026-11-20 17:00"),
        ("2027年3月13日上午10点", "2027-03-13 10:00"),
        ("12月3号", "2026-12-03 09:00"),
        ("明天9点 Asia/Shanghai", "2026-11-17 09:00"),
    ],
)
def test_a_language_without_spaces_is_read(text: str, expected: str) -> None:
    assert moment(text, CHINESE) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("через 2 часа", "2026-11-15 22:00"),
        ("Через 2 часа 15 минут", "2026-11-15 22:15"),
        ("через час", "2026-11-15 21:00"),
        ("через полчаса", "2026-11-15 20:30"),
        ("через полтора часа", "2026-11-15 21:30"),
        ("через 1,5 часа", "2026-11-15 21:30"),
        ("завтра в 9:00", "2026-11-16 09:00"),
        ("послезавтра в полдень", "2026-11-17 12:00"),
        ("в пятницу в 7 часов вечера", "2026-11-20 19:00"),
        ("3 марта 2027 года в 10:00", "2027-03-03 10:00"),
        ("3.4.2027 10:00", "2027-04-03 10:00"),
    ],
)
def test_a_language_with_other_forms_and_orders_is_read(text: str, expected: str) -> None:
    assert moment(text, RUSSIAN) == expected


@pytest.mark.parametrize(
    ("text", "language", "line"),
    [
        ("每天18:30", CHINESE, "30 18 * * *"),
        ("每个工作日早上9点", CHINESE, "0 9 * * 1-5"),
        ("каждый день в 18:30", RUSSIAN, "30 18 * * *"),
        ("каждый будний день в 9 утра", RUSSIAN, "0 9 * * 1-5"),
    ],
)
def test_schedules_are_read_in_every_language(text: str, language: Language, line: str) -> None:
    [phrase] = readings(text, ("repeat",), (language,), "")
    assert isinstance(phrase, EveryDay)
    assert phrase.when(BERLIN) == CronLine(line, "Europe/Berlin")


def test_where_no_spaces_are_written_the_refusal_points_at_the_rest() -> None:
    with pytest.raises(BadTime, match='could not read "左右" in "明天早上9点左右"'):
        readings("明天早上9点左右", ("moment",), (CHINESE,), "明天早上9点")


def test_a_word_that_begins_like_another_is_not_that_word() -> None:
    with pytest.raises(BadTime, match='could not read "завтрак"'):
        readings("завтрак в 9:00", ("moment",), (RUSSIAN,), "завтра в 9:00")


def test_several_languages_are_read_side_by_side() -> None:
    languages = (CHINESE, RUSSIAN)
    assert readings("明天", ("moment",), languages, "") == [OnDay(InDays(1))]
    assert readings("завтра", ("moment",), languages, "") == [OnDay(InDays(1))]


def test_a_text_with_two_readings_is_refused_with_both(monkeypatch: pytest.MonkeyPatch) -> None:
    french = table(
        words={"unit": {"h": Unit.HOUR, "m": Unit.MINUTE, "m|mi": Unit.SECOND}},
        phrases={
            Measure: ("{number} {unit}",),
            Span: ("{measures:measure*}",),
            Time: ("{clock:hour} h",),
            After: ("{span}",),
            OnDay: ("{time}",),
        },
    )
    monkeypatch.setattr("segue.when.reading.LANGUAGES", (french,))
    with pytest.raises(
        BadTime, match=r'"21h" can be Mon .*, 17:00 Europe/Berlin or Sun .*, 21:00 Europe/Berlin'
    ):
        read("21h", now=NOW, zone=BERLIN)
    assert read_duration("21h") == timedelta(hours=21)
    with pytest.raises(BadTime, match='"5m" can be 0:00:05 or 0:05:00'):
        read_duration("5m")


def test_a_text_with_ever_more_readings_is_refused_before_they_are_counted() -> None:
    words = {"unit": {"m": Unit.MINUTE, "m|min": Unit.MONTH}}
    language = table(words=words, phrases={Measure: ("{number} {unit}",), Span: ("{measures:measure*}",)})
    assert len(readings("1m 2m", ("span",), (language,), "")) == 4
    with pytest.raises(BadTime, match="too many ways"):
        readings("1m " * 11 + "1m", ("span",), (language,), "30m")


def test_a_wording_that_is_no_wording_is_found_when_the_table_is_made() -> None:
    with pytest.raises(ValueError, match="not an item of a wording"):
        table(words={}, phrases={Span: ("[{measure}",)})
