"""Named queries: loads `sql/*.sql` and translates each query for both databases.

Each file in `sql/` belongs to a table and holds queries under `-- name: some_name` lines.
`queries.turns.finish` is the query `finish` of `sql/turns.sql`. One text serves both databases:

  - parameters are `:name`; PostgreSQL gets them as `$1, $2, …`
  - `/*pg … */` is a comment to SQLite, and PostgreSQL reads what is inside
  - `/*lite … */` is the same the other way round
  - `/*columns turn*/` stands for the list under `-- columns: turn` in the same file

`finish_many` is the set form of `finish`: it takes an array for each parameter and runs once for many
executions, on PostgreSQL only. Its rows have a column `execution`, which counts from 1.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from sys import intern
from typing import Any, TypeAlias

_FOLDER = Path(__file__).with_name("sql")
_SECTION = re.compile(r"^-- (name|columns): (\w+)\s*$", re.MULTILINE)
_COLUMNS = re.compile(r"/\*columns (\w+)\*/")
_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]\w*)")
_LINE_COMMENT = re.compile(r"^\s*--.*\n?", re.MULTILINE)
_COMMA = re.compile(r",\s+")
_MANY = "_many"


Pick: TypeAlias = Callable[[Mapping[str, Any]], tuple[Any, ...]]
"""Returns the values of the parameters, in the order of a text, from a mapping."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Query:
    """One named statement in both dialects. Compared and hashed by identity: there is one of each."""

    name: str
    sqlite: str
    """With named parameters."""
    positional: str
    """As it is sent to SQLite: with a `?` for each parameter.

    The sqlite3 module releases the interpreter lock to look up the name of each named parameter, and a busy
    loop may then take it, ten times a statement. `?1` is a name too: Python 3.12.0 to 3.12.3 warn when its
    value comes from a sequence.
    """
    pick_positional: Pick
    """One value for each `?`: a parameter may be repeated."""
    postgres: str
    parameters: tuple[str, ...]
    """The names of PostgreSQL's parameters, in order."""
    pick: Pick
    writes: bool
    """False for a plain SELECT, which may lock rows but changes none."""
    returns_rows: bool
    many: "Query | None"
    """The set form, for many executions in one statement of PostgreSQL."""


class Queries:
    """The queries of one file, as attributes."""

    def __init__(self, table: str) -> None:
        self.table = table
        columns, texts = _sections((_FOLDER / f"{table}.sql").read_text("utf-8"))
        # Interned like names in code: CPython then matches keyword arguments by identity.
        self.columns = {name: tuple(map(intern, _COMMA.split(text))) for name, text in columns.items()}
        """The names in each column list."""
        built: dict[str, Query] = {}
        # Longest names first: `finish_many` before `finish`, which refers to it.
        for name in sorted(texts, key=len, reverse=True):
            text = _COLUMNS.sub(lambda match: columns[match.group(1)], texts[name])
            many = built.get(name + _MANY)
            built[name] = translate(f"{table}.{name}", text, many)
        self._queries = {name: built[name] for name in texts}  # in the order of the file
        vars(self).update(self._queries)  # plain attributes: __getattr__ runs for unknown names only

    def __getattr__(self, name: str) -> Query:
        raise AttributeError(f"there is no query {name!r} in sql/{self.table}.sql")

    def __iter__(self) -> Iterator[Query]:
        return iter(self._queries.values())


def translate(name: str, body: str, many: Query | None = None) -> Query:
    text = _LINE_COMMENT.sub("", body).strip().rstrip(";").strip()
    postgres = _in_dialect(text, "pg", other="lite")
    order: list[str] = []

    def number(match: re.Match[str]) -> str:
        parameter = match.group(1)
        if parameter not in order:
            order.append(parameter)
        return f"${order.index(parameter) + 1}"

    numbered = _PARAMETER.sub(number, postgres)
    sqlite = _in_dialect(text, "lite", other="pg")
    return Query(
        name=name,
        sqlite=sqlite,
        positional=_PARAMETER.sub("?", sqlite),
        pick_positional=_picker(_PARAMETER.findall(sqlite)),
        postgres=numbered,
        parameters=tuple(order),
        pick=_picker(order),
        writes=not numbered.startswith("SELECT"),
        returns_rows=not numbered.startswith(("INSERT", "UPDATE", "DELETE")) or "RETURNING" in numbered,
        many=many,
    )


def _picker(names: list[str]) -> Pick:
    match names:
        case []:
            return lambda params: ()
        case [name]:
            return lambda params: (params[name],)
    return itemgetter(*names)


def _in_dialect(text: str, own: str, other: str) -> str:
    text = re.sub(rf"/\*{other}\s.*?\*/", "", text, flags=re.DOTALL)
    return re.sub(rf"/\*{own}\s(.*?)\*/", r"\1", text, flags=re.DOTALL)


def _sections(text: str) -> tuple[dict[str, str], dict[str, str]]:
    """The column lists and the queries of a file, by name."""
    kinds: dict[str, dict[str, str]] = {"columns": {}, "name": {}}
    parts = _SECTION.split(text)[1:]
    for kind, name, body in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        if name in kinds[kind]:
            raise ValueError(f"two sections of one file have the name {name}")
        kinds[kind][name] = _LINE_COMMENT.sub("", body).strip().rstrip(";")
    return kinds["columns"], kinds["name"]


TABLES = tuple(sorted(file.stem for file in _FOLDER.glob("*.sql")))


def __getattr__(name: str) -> Queries:
    if name in TABLES:
        # Read at first use. It then is a module attribute, and this function is not called again for it.
        table: Queries = globals().setdefault(name, Queries(name))
        return table
    raise AttributeError(f"module 'segue.store.queries' has no attribute {name!r}")
