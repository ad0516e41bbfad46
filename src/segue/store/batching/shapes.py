"""Query classification: whether a query reads or writes, returns rows, and may be pipelined."""

from functools import cache

from segue.record import positional
from segue.store.batching.sets import EXECUTION
from segue.store.batching.words import words
from segue.store.database import Rows
from segue.store.queries import Query

_WRITES = {"INSERT", "UPDATE", "DELETE", "MERGE"}
_READS = {"SELECT", "VALUES"}
# FOR UPDATE, FOR NO KEY UPDATE and ON CONFLICT DO UPDATE name a lock or a clause, not a statement.
_BEFORE_A_CLAUSE = {"FOR", "KEY", "DO"}


@positional
class Shape:
    """How a query may be run, judged by its text."""

    reads_only: bool
    numbered: str | None
    """The text with the number of the execution in each row; None if it returns no rows or cannot have it."""
    pipelined: bool
    """Many executions may go out in one round trip."""

    @property
    def silent(self) -> bool:
        """A write without rows: its transaction can go on before it has run."""
        return self.pipelined and self.numbered is None

    def wrote(self, rows: Rows) -> bool:
        """Whether an execution changed anything. A guarded write that returns no row did not."""
        return not self.reads_only and (self.numbered is None or bool(rows))


@cache
def shape_of(query: Query) -> Shape:
    outside, inside = _words(query.postgres)
    verb = next((word for word in outside if word in _WRITES | _READS), None)
    nested_write = bool(_WRITES & set(inside))
    number = f"CAST(${len(query.parameters) + 1} AS INTEGER) AS {EXECUTION}"
    if nested_write or verb is None:
        return Shape(reads_only=False, numbered=None, pipelined=False)
    if verb in _READS:
        text = f"SELECT q.*, {number} FROM (\n{query.postgres}\n) AS q"
        return Shape(reads_only=True, numbered=text, pipelined=True)
    if "RETURNING" in outside:
        text = f"{query.postgres}\n, {number}"
        return Shape(reads_only=False, numbered=text, pipelined=True)
    return Shape(reads_only=False, numbered=None, pipelined=True)


def _words(text: str) -> tuple[list[str], list[str]]:
    """The words outside all parentheses and those inside, without the UPDATE of a lock or clause."""
    outside: list[str] = []
    inside: list[str] = []
    before = ""
    for word in words(text):
        if not (word.text in _WRITES and before in _BEFORE_A_CLAUSE):
            (inside if word.depth else outside).append(word.text)
        before = word.text
    return outside, inside
