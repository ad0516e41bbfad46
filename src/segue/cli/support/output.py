"""What commands print: a table, a record or a sentence for people, JSON for programs.

Colour only on a terminal. A transcript may hold anything, so what could steer a terminal is taken out of
everything that is printed for people.
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

_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_LONGEST_CELL = 60
_ENDLESS = 100_000


def print_json(value: object) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))


def shape(answer: "BaseModel") -> dict[str, Any]:
    """What the API would answer, as it would answer it."""
    return answer.model_dump(mode="json")


def print_json_line(value: object) -> None:
    """One of several, as they come."""
    typer.echo(json.dumps(value, ensure_ascii=False))


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, empty: str, whole: bool = False
) -> None:
    """The rows under their headings, or the words for there being none. `whole` cuts no cell."""
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
    """One thing, a line for each of its fields that says something."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    for name, value in fields.items():
        if words := printable(_word(value)):
            table.add_row(Text(name, style="bold"), Text(words))
    _print(table)


def printable(text: str) -> str:
    """The text without what moves the cursor, sets colours or turns the direction of reading."""
    return _STEERING.sub("\ufffd", text)


def local_time(ms: int | None, zone: str) -> str:
    return "" if ms is None else f"{to_moment(ms).astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M:%S}"


def _print(table: "Table") -> None:
    from rich.console import Console

    if sys.stdout.isatty():
        Console(highlight=False).print(table)
        return
    # Nobody looks: lines are as long as they are, and nothing is cut or filled to a width.
    console = Console(highlight=False, color_system=None, width=_ENDLESS)
    with console.capture() as printed:
        console.print(table)
    typer.echo("\n".join(line.rstrip() for line in printed.get().splitlines()))


def _cell(value: object, longest: int | None) -> str:
    """On one line, and short enough to leave room for the others."""
    words = " ".join(printable(_word(value)).split())
    return words if longest is None or len(words) <= longest else f"{words[: longest - 1]}…"


def _word(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case dict() | list() | tuple():
            return json.dumps(value, ensure_ascii=False)
        case _:
            return str(value)
