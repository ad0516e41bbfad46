"""A line of the table: a measurement, its peer, the bar it must reach, and the verdict."""

from dataclasses import asdict, dataclass
from typing import Any, Protocol

from bench.measure import Comparison


class Bar(Protocol):
    """The limit that a figure must reach."""

    def __str__(self) -> str: ...

    def holds(self, figure: "Figure") -> bool: ...


@dataclass(frozen=True, slots=True)
class AtMostOfPeer:
    """For costs: no more than this many times the peer's."""

    times: float

    def __str__(self) -> str:
        return f"≤ {self.times:g} × peer"

    def holds(self, figure: "Figure") -> bool:
        return figure.ratio is not None and figure.ratio <= self.times


@dataclass(frozen=True, slots=True)
class AtMost:
    """For what a user notices: an absolute limit in the figure's unit."""

    limit: float
    unit: str

    def __str__(self) -> str:
        return f"≤ {self.limit:g} {self.unit}"

    def holds(self, figure: "Figure") -> bool:
        return figure.ours is not None and figure.ours <= self.limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    workload: str
    unit: str
    ours: float | None = None
    peer: float | None = None
    ratio: float | None = None
    bar: Bar | None = None

    @property
    def verdict(self) -> str:
        if self.bar is None:
            return ""
        return "holds" if self.bar.holds(self) else "MISSED"

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"bar": str(self.bar or ""), "verdict": self.verdict}


def compared(workload: str, unit: str, comparison: Comparison, bar: Bar | None) -> Figure:
    return Figure(workload=workload, unit=unit, **asdict(comparison), bar=bar)


def table(figures: list[Figure]) -> str:
    heads = ("workload", "ours", "peer", "ratio", "bar", "verdict")
    lines = [heads, *map(_cells, figures)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, tuple("─" * width for width in widths))
    return "\n".join(_aligned(line, widths) for line in lines)


def _cells(figure: Figure) -> tuple[str, ...]:
    return (
        figure.workload,
        _amount(figure.ours, figure.unit),
        _amount(figure.peer, figure.unit),
        "" if figure.ratio is None else f"{figure.ratio:.2f}",
        str(figure.bar or ""),
        figure.verdict,
    )


def _amount(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    return f"{value:,.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"


def _aligned(cells: tuple[str, ...], widths: list[int]) -> str:
    first, *others = (
        cell.ljust(width) if column in (0, 4, 5) else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join([first, *others]).rstrip()
