"""What the tests measure on the way: printed at the end of a run, asserted nowhere."""

from collections.abc import Callable, Sequence
from math import ceil
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


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports: list[pytest.TestReport] = terminalreporter.getreports("passed")
    lines = [
        f"{report.nodeid.rpartition('::')[2]}: {words.removeprefix('figure: ')}: {value}"
        for report in reports
        for words, value in report.user_properties
        if words.startswith("figure: ")
    ]
    if lines:
        terminalreporter.section("measured")
        for line in lines:
            terminalreporter.write_line(line)
