"""The table of figures: a run replaces the rows of its own tests, and no others."""

from typing import Literal

import pytest

from tests.crash.figures import BEGIN, END, with_figures


def report(name: str, outcome: Literal["passed", "failed"] = "passed", **figures: str) -> pytest.TestReport:
    noted = [(f"figure: {what}", value) for what, value in figures.items()]
    return pytest.TestReport(
        nodeid=f"tests/crash/test_x.py::test_{name}",
        location=("", 0, ""),
        keywords={},
        outcome=outcome,
        longrepr=None,
        when="call",
        user_properties=noted,
    )


def test_a_row_is_written_for_each_figure_and_replaced_by_the_next_run() -> None:
    page = f"before\n{BEGIN}{END}after\n"
    page = with_figures(
        page, [report("a_kill[sqlite]", kills="9", lost="0"), report("b", drained="1 s")], "d1"
    )
    page = with_figures(page, [report("a_kill[sqlite]", kills="7")], "d2")
    assert page.startswith("before\n")
    assert page.endswith("after\n")
    rows = [line for line in page.splitlines() if "test_x" in line]
    assert rows == [
        "| a kill | kills | 7 | `tests/crash/test_x.py::test_a_kill[sqlite]` | d2 |",
        "| b | drained | 1 s | `tests/crash/test_x.py::test_b` | d1 |",
    ]


def test_a_test_that_failed_says_so_until_it_passes() -> None:
    page = with_figures(f"{BEGIN}{END}", [report("b", "failed", drained="9 s")], "d1")
    assert "| b | the test itself | **failed** |" in page
    assert "failed" not in with_figures(page, [report("b", drained="1 s")], "d2")
