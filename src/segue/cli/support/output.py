"""Output of commands: a table, a record or a sentence for users, JSON for programs.

Colour is used only on a terminal. Control characters are replaced in everything that is printed for users,
because a transcript may contain terminal escape sequences.
"""

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any
from zoneinfo import ZoneInfo

import typer

from segue.times.clock import to_moment

if TYPE_CHECKING:
    from pydantic import BaseModel
    from rich.table import Table

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

_CONTROL_CHARACTERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_LONGEST_CELL = 60
_NO_WRAP_WIDTH = 100_000


def print_json(value: object) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))


def to_json(model: "BaseModel") -> dict[str, Any]:
    """A response model as JSON, the same as the API returns."""
    return model.model_dump(mode="json")


def print_json_line(value: object) -> None:
    """Print one object per line (JSON Lines)."""
    typer.echo(json.dumps(value, ensure_ascii=False))


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, empty: str, whole: bool = False
) -> None:
    """Print a table, or `empty` if there are no rows. With `whole`, long cells are not cut."""
    from rich.table import Table
    from rich.text import Text

    table = Table(*columns, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*(Text(_cell(value, None if whole else _LONGEST_CELL)) for value in row))
    if table.row_count:
        _print(table)
    else:
        typer.echo(empty)


def print_record(fields: Mapping[str, object]) -> None:
    """Print one line for each field that is not empty."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    for name, value in fields.items():
        if text := printable(_text(value)):
            table.add_row(Text(name, style="bold"), Text(text))
    _print(table)


def printable(text: str) -> str:
    """The text without characters that move the cursor, set colours or change the text direction."""
    return _CONTROL_CHARACTERS.sub("\ufffd", text)


def local_time(ms: int | None, zone: str) -> str:
    return "" if ms is None else f"{to_moment(ms).astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M:%S}"


def _print(table: "Table") -> None:
    from rich.console import Console

    if sys.stdout.isatty():
        Console(highlight=False).print(table)
        return
    # Not a terminal: lines are not cut or padded.
    console = Console(highlight=False, color_system=None, width=_NO_WRAP_WIDTH)
    with console.capture() as printed:
        console.print(table)
    typer.echo("\n".join(line.rstrip() for line in printed.get().splitlines()))


def _cell(value: object, longest: int | None) -> str:
    """One line, cut to `longest` characters."""
    words = " ".join(printable(_text(value)).split())
    return words if longest is None or len(words) <= longest else f"{words[: longest - 1]}…"


def _text(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case dict() | list() | tuple():
            return json.dumps(value, ensure_ascii=False)
        case _:
            return str(value)
