"""Times inside sentences, as the page looks for them while somebody writes."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from segue.when import CronLine, Moment
from segue.when.finding import find

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 15, 20, tzinfo=BERLIN)


@pytest.mark.parametrize(
    ("sentence", "phrase"),
    [
        ("remind me tomorrow at 9 to call Ana", "tomorrow at 9"),
        ("tomorrow at 9, please", "tomorrow at 9"),
        ("Look at the build in 2 hours and 15 minutes!", "in 2 hours and 15 minutes"),
        ("明天下午三点二十五分提醒我打电话", "明天下午三点二十五分"),
        ("提醒我半小时后开会。", "半小时后"),
        ("напомни мне завтра в 9 позвонить", "завтра в 9"),
        ("erinnere mich am Freitag um 17 Uhr an den Bericht", "am Freitag um 17 Uhr"),
        ("llámame mañana a las 5 de la tarde, por favor", "mañana a las 5 de la tarde"),
        ("rappelle-moi demain à 9h30 de téléphoner", "demain à 9h30"),
        ("👩\u200d💻 tomorrow at 9 👩\u200d💻", "tomorrow at 9"),
        ("first line\ntomorrow at 9\nlast line", "tomorrow at 9"),
    ],
)
def test_a_moment_is_found_in_a_sentence(sentence: str, phrase: str) -> None:
    found = find(sentence, now=NOW, zone=BERLIN)
    assert found is not None
    assert found.phrase == phrase
    assert isinstance(found.when, Moment)


@pytest.mark.parametrize(
    "sentence", ["write the report every weekday at 9", "write the report 0 9 * * 1-5", "每个工作日9点写报告"]
)
def test_a_schedule_is_found_in_a_sentence(sentence: str) -> None:
    found = find(sentence, now=NOW, zone=BERLIN)
    assert found is not None
    assert found.when == CronLine("0 9 * * 1-5", "Europe/Berlin")


@pytest.mark.parametrize(
    "sentence", ["", "hello", "call me at 9 yesterday", "x" * 2_000, "one two three " * 100, "\ud800"]
)
def test_nothing_is_found_where_no_time_is(sentence: str) -> None:
    assert find(sentence, now=NOW, zone=BERLIN) is None
