"""Tables for a terminal: columns that fit its width, and colour for states.

Written here instead of with a library, because a command spends more time on loading one than on its work.
"""

import unicodedata
from collections.abc import Sequence

_GAP = "  "
_LEAST_WIDTH = 6
_BOLD, _RED, _GREEN, _YELLOW, _RESET = "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[0m"
_COLOURS = {
    **dict.fromkeys(("error", "failed", "missed", "interrupted", "wrong"), _RED),
    **dict.fromkeys(("ok", "running", "active", "sent", "done"), _GREEN),
    **dict.fromkeys(("paused", "queued", "pending", "skipped", "waiting", "warning"), _YELLOW),
}


def table_lines(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, width: int | None, colour: bool
) -> list[str]:
    """Return the lines of a table. With a `width`, long cells are cut so that each row is one line.

    The first column names the thing, for other commands, and is not cut. If the rest does not fit even so,
    each row is a record of several lines.
    """
    widths = _widths(columns, rows)
    if width is not None and _width(widths) > width:
        columns, rows = _without_empty(columns, rows)
        widths = _widths(columns, rows)
        _shrink(widths, [cells(name) for name in columns], width)
        if _width(widths) > width:
            return _blocks(columns, rows, colour=colour)
    head = _line(columns, widths)
    return [f"{_BOLD}{head}{_RESET}" if colour else head, *(_line(row, widths, colour) for row in rows)]


def record_lines(fields: Sequence[tuple[str, str]], *, colour: bool) -> list[str]:
    """Return the lines of a record. Further lines of a value are indented below its first."""
    longest = max((cells(name) for name, _ in fields), default=0)
    lines = []
    for name, text in fields:
        first, *more = text.splitlines() or [""]
        label = _padded(name, longest)
        lines.append(f"{_BOLD}{label}{_RESET}{_GAP}{first}" if colour else f"{label}{_GAP}{first}")
        lines += [f"{' ' * longest}{_GAP}{line}" for line in more]
    return [line.rstrip() for line in lines]


def cells(text: str) -> int:
    """The width of a text in a terminal: a wide character takes two cells, a combining one none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )


def _blocks(columns: Sequence[str], rows: Sequence[Sequence[str]], *, colour: bool) -> list[str]:
    """The rows as records, for a terminal that is too narrow for the table."""
    lines: list[str] = []
    for row in rows:
        fields = [(name, text) for name, text in zip(columns, row, strict=True) if text]
        lines += [*([""] if lines else []), *record_lines(fields, colour=colour)]
    return lines


def _shrink(widths: list[int], names: Sequence[int], width: int) -> None:
    """Take cells from the widest columns until the row fits; from the names of columns at last."""
    for least_names in (names, [0] * len(names)):
        least = [min(own, max(name, _LEAST_WIDTH)) for own, name in zip(widths, least_names, strict=True)]
        least[0] = widths[0]
        while _width(widths) > width:
            widest = max(range(len(widths)), key=lambda n: widths[n] - least[n])
            if widths[widest] <= least[widest]:
                break
            widths[widest] -= 1


def _without_empty(
    columns: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[list[str], list[list[str]]]:
    """The table without columns in which no row has a text."""
    kept = [n for n in range(len(columns)) if n == 0 or any(row[n] for row in rows)]
    return [columns[n] for n in kept], [[row[n] for n in kept] for row in rows]


def _widths(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(cells, column)) for column in zip(columns, *rows, strict=True)]


def _width(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _line(row: Sequence[str], widths: Sequence[int], colour: bool = False) -> str:
    shown = []
    for text, width in zip(row, widths, strict=True):
        padded = _padded(_cut(text, width), width)
        tint = _COLOURS.get(text.partition(" ")[0]) if colour else None
        shown.append(f"{tint}{padded}{_RESET}" if tint else padded)
    return _GAP.join(shown).rstrip()


def _cut(text: str, width: int) -> str:
    if cells(text) <= width:
        return text
    while text and cells(text) > width - 1:
        text = text[:-1]
    return f"{text}…"


def _padded(text: str, width: int) -> str:
    return text + " " * (width - cells(text))
