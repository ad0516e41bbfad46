"""The results of a run: every round's figures, by workload, size and peer; as JSON, and as tables in
Markdown.
"""

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

Figures: TypeAlias = Mapping[str, float]
"""What one measurement found, by the name of the figure."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The rounds of one peer at one size of a workload."""

    workload: str
    size: int
    peer: str
    rounds: list[dict[str, float]] = field(default_factory=list)

    def values(self, figure: str) -> list[float]:
        return [each[figure] for each in self.rounds if figure in each]

    def median(self, figure: str) -> float | None:
        values = self.values(figure)
        return statistics.median(values) if values else None


@dataclass(frozen=True, slots=True)
class LeftOut:
    workload: str
    peer: str
    reason: str


@dataclass(slots=True)
class Results:
    command: str
    date: str
    machine: str
    versions: dict[str, dict[str, str]] = field(default_factory=dict)
    documentation: dict[str, str] = field(default_factory=dict)
    measured: list[Measured] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)

    def add(self, workload: str, size: int, peer: str, figures: Figures) -> None:
        """Note one round."""
        for one in self.measured:
            if (one.workload, one.size, one.peer) == (workload, size, peer):
                one.rounds.append(dict(figures))
                return
        self.measured.append(Measured(workload, size, peer, [dict(figures)]))

    def of(self, workload: str) -> list[Measured]:
        return [one for one in self.measured if one.workload == workload and one.rounds]

    def save(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", "utf-8")


def load(path: Path) -> Results:
    """What `save` wrote."""
    given: dict[str, Any] = json.loads(path.read_text("utf-8"))
    measured = [Measured(**one) for one in given.pop("measured")]
    left_out = [LeftOut(**one) for one in given.pop("left_out")]
    return Results(**given, measured=measured, left_out=left_out)


@dataclass(frozen=True, slots=True)
class Column:
    """A figure in a table: its name in the results, its heading and unit."""

    figure: str
    heading: str
    unit: str


def table(measured: Sequence[Measured], size_heading: str, columns: Sequence[Column]) -> str:
    """The median of the rounds, with the least and the greatest where they differ."""
    sized = len({one.size for one in measured}) > 1
    heads = [size_heading] * sized + ["peer"] + [_heading(column) for column in columns]
    lines = [heads, ["---"] * len(heads)]
    lines += [
        [f"{one.size:,}"] * sized + [one.peer] + [_cell(one, column) for column in columns]
        for one in sorted(measured, key=lambda one: one.size)
    ]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _heading(column: Column) -> str:
    return f"{column.heading}, {column.unit}" if column.unit else column.heading


def _cell(one: Measured, column: Column) -> str:
    values = one.values(column.figure)
    if not values:
        return "–"
    middle, low, high = (_number(each) for each in (statistics.median(values), min(values), max(values)))
    return middle if low == high else f"{middle} ({low}–{high})"


def _number(value: float) -> str:
    if value == round(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"
