"""Response evaluation: which answers say nothing."""

import pytest

from segue.model.evaluation import says_nothing


@pytest.mark.parametrize(
    "answer",
    [
        "",
        " \n",
        "...",
        "NOTHING_TO_REPORT",
        "nothing_to_report",
        "NOTHING_TO_REPORT.",
        "**NOTHING_TO_REPORT**",
        "`NOTHING_TO_REPORT`\n",
        '"Nothing_To_Report"',
        "(NOTHING_TO_REPORT)",
    ],
)
def test_a_blank_or_the_agreed_word_is_nothing(answer: str) -> None:
    """7.4"""
    assert says_nothing(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "Nothing to report.",
        "NOTHING_TO_REPORT, but the disk is full.",
        "OK",
        "No.",
        "The build is NOTHING_TO_REPORT",
    ],
)
def test_one_word_more_is_something(answer: str) -> None:
    """7.4"""
    assert not says_nothing(answer)
