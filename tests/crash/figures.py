"""What the tests measure on the way: printed at the end of a run, asserted nowhere.

With `SEGUE_FIGURES` set to a page, as `make faults` does, they are also written into the page's table, a row
for each figure. Rows of tests that did not run stay; a test that failed has a row that says so.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from math import ceil
from pathlib import Path
from typing import TypeAlias

import pytest

Record: TypeAlias = Callable[[str, str], None]


@pytest.fixture
def figure(record_property: Callable[[str, object], None]) -> Record:
    """Note a figure by a few words."""

    def note(words: str, value: str) -> None:
        record_property(f"figure: {words}", value)

    return note


def p99(values: Sequence[float]) -> float:
    return sorted(values)[ceil(len(values) * 0.99) - 1]


BEGIN, END = "<!-- figures -->\n", "<!-- end of figures -->\n"
_HEADER = "| scenario and bar | what | measured | command: `pytest …` | date |\n|---|---|---|---|---|\n"
_ROW = re.compile(r"^\| .* \| (?P<what>.*) \| .* \| `(?P<test>.*)` \| .* \|\n", re.MULTILINE)
_FAILED = "the test itself"


def with_figures(page: str, reports: Sequence[pytest.TestReport], date: str) -> str:
    """The page with the figures of these reports in its table, by test and figure."""
    before, rest = page.split(BEGIN)
    table, after = rest.split(END)
    rows = {(row["test"], row["what"]): row[0] for row in _ROW.finditer(table)}
    again = {report.nodeid for report in reports}
    rows = {key: row for key, row in rows.items() if key[0] not in again}
    for report in reports:
        scenario = report.nodeid.rpartition("::")[2].partition("[")[0].removeprefix("test_").replace("_", " ")
        for what, value in _figures(report):
            cells = (scenario, what, value, f"`{report.nodeid}`", date)
            rows[report.nodeid, what] = f"| {' | '.join(cells)} |\n"
    return before + BEGIN + _HEADER + "".join(rows[key] for key in sorted(rows)) + END + after


def _figures(report: pytest.TestReport) -> Iterator[tuple[str, str]]:
    if report.failed:
        yield _FAILED, "**failed**"
        return
    for words, value in report.user_properties:
        if words.startswith("figure: "):
            yield words.removeprefix("figure: "), str(value)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports: list[pytest.TestReport] = terminalreporter.getreports("passed")
    if page := os.environ.get("SEGUE_FIGURES"):
        ended = [*reports, *terminalreporter.getreports("failed")]
        text = with_figures(Path(page).read_text("utf-8"), ended, f"{datetime.now(UTC):%Y-%m-%d}")
        Path(page).write_text(text, "utf-8")
    lines = [
        f"{report.nodeid.rpartition('::')[2]}: {words}: {value}"
        for report in reports
        for words, value in _figures(report)
    ]
    if lines:
        terminalreporter.section("measured")
        for line in lines:
            terminalreporter.write_line(line)
