"""Past dates in questions, in the six languages of the reader."""

from datetime import date

import pytest

from segue.memory.past_dates import Period, periods_in

TODAY = date(2026, 11, 17)
SUMMER = [Period(date(2026, 6, 1), date(2026, 9, 1)), Period(date(2025, 6, 1), date(2025, 9, 1))]
MARCH = [Period(date(2026, 3, 1), date(2026, 4, 1))]
YESTERDAY = [Period(date(2026, 11, 16), date(2026, 11, 17))]


@pytest.mark.parametrize(
    ("question", "periods"),
    [
        ("Where did we go last summer?", SUMMER),
        ("Wo waren wir letzten Sommer?", SUMMER),
        ("où étions-nous l'été dernier ?", SUMMER),
        ("¿dónde estuvimos el verano pasado?", SUMMER),
        ("где мы были прошлым летом", SUMMER),
        ("去年夏天我们去了哪里", SUMMER[1:]),
        ("what did I say in March?", MARCH),
        ("Was war im März?", MARCH),
        ("что было в марте", MARCH),
        ("三月我说了什么", MARCH),
        ("yesterday", YESTERDAY),
        ("was sagte ich gestern", YESTERDAY),
        ("昨天", YESTERDAY),
        ("vor zwei Wochen", [Period(date(2026, 10, 30), date(2026, 11, 8))]),
        ("in the summer of 2024", [Period(date(2024, 6, 1), date(2024, 9, 1))]),
        ("am 14. Juli 2025", [Period(date(2025, 7, 14), date(2025, 7, 15))]),
        ("2025-07-14", [Period(date(2025, 7, 14), date(2025, 7, 15))]),
        ("last friday", [Period(date(2026, 11, 13), date(2026, 11, 14))]),
        ("last month", [Period(date(2026, 10, 1), date(2026, 11, 1))]),
    ],
)
def test_a_question_names_the_periods_that_it_may_mean(question: str, periods: list[Period]) -> None:
    assert periods_in(question, TODAY) == periods


@pytest.mark.parametrize(
    "question",
    [
        "may I leave my car",
        "who may drive",
        "what does he do on Tuesdays",
        "in 2030",
        "2025-13-40",
        "why do we fall",
    ],
)
def test_words_that_are_no_past_date_name_no_period(question: str) -> None:
    assert periods_in(question, TODAY) == []
