"""Output of commands: a table, a record or a sentence for users, JSON for programs.

Colour is used only on a terminal. Control characters are replaced in everything that is printed for users,
because a transcript may contain terminal escape sequences.
"""

import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from segue.cli.support.table import record_lines, table_lines

if TYPE_CHECKING:
    from pydantic import BaseModel

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

_CONTROL_CHARACTERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_LONGEST_CELL = 60


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
) -> bool:
    """Print a table, or `empty` if there are no rows: returns which. With `whole`, long cells are not cut."""
    texts = [[_cell(value, None if whole else _LONGEST_CELL) for value in row] for row in rows]
    if not texts:
        typer.echo(empty)
        return False
    # Not a terminal: lines are not cut to a width.
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() and not whole else None
    typer.echo("\n".join(table_lines(columns, texts, width=width, colour=uses_colour())))
    return True


def print_record(fields: Mapping[str, object]) -> None:
    """Print one line for each field that is not empty."""
    texts = [(name, text) for name, value in fields.items() if (text := printable(_text(value)))]
    typer.echo("\n".join(record_lines(texts, colour=uses_colour())))


def uses_colour() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def printable(text: str) -> str:
    """The text without characters that move the cursor, set colours or change the text direction."""
    return _CONTROL_CHARACTERS.sub("\ufffd", text)


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
