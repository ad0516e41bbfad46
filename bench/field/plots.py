"""Plots of cost against size as SVG: both axes logarithmic, a line for each peer, its name at its end."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from xml.sax.saxutils import escape

from bench.field.results import Measured, Results

WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 200, 44, 52
COLOURS = (
    "#0b6e4f",
    "#5aa469",
    "#c8553d",
    "#3d5a80",
    "#8d6a9f",
    "#b08900",
    "#6b705c",
    "#d17b88",
    "#1f7a8c",
    "#444444",
)
LEAST = 0.001
"""A figure of nothing is drawn as this: a logarithmic axis has no zero."""
LABEL_HEIGHT = 15.0


@dataclass(frozen=True, slots=True)
class Plot:
    file: str
    workload: str
    figure: str
    title: str
    across: str
    up: str


PLOTS = (
    Plot("field-pending-add.svg", "pending", "add_ms", "Adding one job", "jobs that wait", "ms"),
    Plot("field-pending-start.svg", "pending", "start_s", "Starting a process", "jobs that wait", "s"),
    Plot(
        "field-pending-memory.svg",
        "pending",
        "memory_mb",
        "Memory of an idle process",
        "jobs that wait",
        "MB",
    ),
)


def plots(results: Results) -> dict[str, str]:
    """The plots that the results have at least two sizes for, by file name."""
    drawn = {}
    for plot in PLOTS:
        measured = [one for one in results.of(plot.workload) if one.values(plot.figure)]
        if len({one.size for one in measured}) > 1:
            drawn[plot.file] = draw(plot, measured)
    return drawn


@dataclass(frozen=True, slots=True)
class Axis:
    """Decades from `low` to `high`, as powers of ten, laid over pixels."""

    low: int
    high: int
    start: float
    end: float

    @classmethod
    def over(cls, values: Sequence[float], start: float, end: float) -> "Axis":
        low, high = floor(log10(min(values))), ceil(log10(max(values)))
        return cls(low, max(high, low + 1), start, end)

    def place(self, value: float) -> float:
        return self.start + (log10(value) - self.low) / (self.high - self.low) * (self.end - self.start)

    def decades(self) -> list[float]:
        return [10.0**power for power in range(self.low, self.high + 1)]


def draw(plot: Plot, measured: Sequence[Measured]) -> str:
    values = [max(LEAST, value) for one in measured for value in one.values(plot.figure)]
    across = Axis.over([one.size for one in measured], LEFT, WIDTH - RIGHT)
    up = Axis.over(values, HEIGHT - BOTTOM, TOP)
    parts = [_text(LEFT, TOP - 20, f"{plot.title} ({plot.up})", bold=True)]
    parts += [_column(size, across) for size in across.decades()]
    parts += [_row(value, up) for value in up.decades()]
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, plot.across, anchor="middle"))
    names = list(dict.fromkeys(one.peer for one in measured))
    ends = {}
    for name, colour in zip(names, COLOURS, strict=False):
        own = sorted((one for one in measured if one.peer == name), key=lambda one: one.size)
        line, end = _line(own, plot.figure, across, up, colour)
        parts.append(line)
        ends[name] = (end, colour)
    parts += _names(ends)
    return _svg(plot, parts)


def _line(own: Sequence[Measured], figure: str, across: Axis, up: Axis, colour: str) -> tuple[str, float]:
    """The line through the medians with a bar from the least to the greatest, and the height of its end."""
    points, bars = [], []
    for one in own:
        x = across.place(one.size)
        low, high = (
            up.place(max(LEAST, value)) for value in (min(one.values(figure)), max(one.values(figure)))
        )
        y = up.place(max(LEAST, one.median(figure) or 0))
        points.append((x, y))
        bars.append(f'<line x1="{x:.1f}" y1="{low:.1f}" x2="{x:.1f}" y2="{high:.1f}" stroke="{colour}"/>')
        bars.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>')
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    line = f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.8"/>'
    return line + "".join(bars), points[-1][1]


def _names(ends: dict[str, tuple[float, str]]) -> list[str]:
    """The names beside the ends of their lines, moved down where they would cover each other."""
    parts, lowest = [], 0.0
    for name, (y, colour) in sorted(ends.items(), key=lambda item: item[1][0]):
        lowest = max(y, lowest + LABEL_HEIGHT)
        parts.append(_text(WIDTH - RIGHT + 12, lowest + 4, name, colour=colour))
    return parts


def _column(size: float, across: Axis) -> str:
    x = across.place(size)
    line = f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}" stroke="#e3e3e3"/>'
    return line + _text(x, HEIGHT - BOTTOM + 18, f"{size:,.0f}", anchor="middle")


def _row(value: float, up: Axis) -> str:
    y = up.place(value)
    line = f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#e3e3e3"/>'
    return line + _text(LEFT - 8, y + 4, f"{value:,.10g}", anchor="end")


def _text(
    x: float, y: float, words: str, *, anchor: str = "start", colour: str = "#333333", bold: bool = False
) -> str:
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}"{weight}>{escape(words)}</text>'
    )


def _svg(plot: Plot, parts: Sequence[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(plot.title)}" font-family="system-ui, sans-serif" font-size="12">'
    )
    ground = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>'
    return "\n".join([head, ground, *parts, "</svg>"]) + "\n"
