"""Runs a group on PostgreSQL: a step of many callers in one round trip.

Most queries run as one statement for all callers (see `sets`), together with the preceding writes without
rows (see `combined_writes`). The others are pipelined by asyncpg, which returns all rows in one list, so the
query is rewritten to return the number of its execution in an extra column.

Between processes row locks decide. But a group that waits for one row would hold up all of its callers, and
two groups might wait for each other. So a group first takes advisory locks on its sessions and leaves out
callers whose session another group has. Correctness rests on the row locks, not on these.

Invariants
  - every execution behaves like its own statement: it sees what the one before it wrote
  - a query that cannot be rewritten safely runs once for each caller, one after the other
  - no caller gets a result before the commit: what it read may still be rolled back
  - a group waits for no session that another process has, so that groups neither deadlock nor queue up
"""

from collections.abc import Sequence
from hashlib import blake2b
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias

from segue.store.batching.group import C, CommitUnanswered, Group, GroupConflict, GroupFailed
from segue.store.batching.sets import EXECUTION, Joined, alike, fits, joined, rows_by_execution, with_given
from segue.store.batching.shapes import shape_of
from segue.store.batching.transaction import BatchedTransaction, Executions
from segue.store.database import Begin, Params, Rows, T, Value
from segue.store.postgres.combined_writes import as_one, independent
from segue.store.postgres.commit_stamps import Stamp
from segue.store.postgres.connection import BEGIN
from segue.store.queries import Query

if TYPE_CHECKING:
    from asyncpg import Record

    from segue.store.postgres.connection import Connection

_MARK = "SELECT key FROM unnest(CAST({keys} AS BIGINT[])) AS key WHERE pg_try_advisory_xact_lock(key)"

_Part: TypeAlias = tuple[Query, Sequence[tuple[Value, ...]]]
"""A query, and the values of each execution."""

_numbers = count()
_types: dict[Query, list[str]] = {}
_texts: dict[tuple[Query, tuple[int, ...]], str] = {}


async def open_together(connection: "Connection", group: Group[C], opening: str) -> list[C]:
    """Begin. Removes from the group, and returns, the callers whose sessions another process has now."""
    if len(group.waiting) == 1:
        # It holds up no other caller, so it may wait for the lock; this needs no extra round trip.
        marks = "".join(f"; SELECT pg_advisory_xact_lock({key})" for key in _marks(group.waiting[0]))
        await connection.execute(opening + marks)
        return []
    marked = [(caller, _marks(caller)) for caller in group.waiting]
    wanted = {key for _, keys in marked for key in keys}
    # In the same round trip; `execute` returns only how many locks it got.
    mark = _MARK.format(keys=f"'{{{','.join(map(str, wanted))}}}'")
    if await connection.execute(f"{opening}; {mark}") == f"SELECT {len(wanted)}":
        return []
    ours = {row["key"] for row in await connection.fetch(_MARK.format(keys="$1"), list(wanted))}
    elsewhere = [caller for caller, keys in marked if not ours.issuperset(keys)]
    group.waiting = [caller for caller, keys in marked if ours.issuperset(keys)]
    return elsewhere


async def drive_together(connection: "Connection", group: Group[C], stamp: Stamp | None = None) -> None:
    """Drive the group and commit it; callers that could not begin in time are still `waiting`.

    After an exception the transaction is still open: the owner of the connection rolls back.
    """
    rounds = group.rounds()
    try:
        step = next(rounds)
        while True:
            try:
                answers = await fetch_step(connection, step)
            except Exception as error:
                raise GroupFailed(group.at_work, error, ", ".join(query.name for query, _ in step)) from error
            step = rounds.send(answers)
    except StopIteration:
        pass
    if group.must_be_undone:
        await connection.execute("ROLLBACK")
        return
    group.agree_to_commit()
    try:
        answer = await connection.execute(f"{stamp.leave}; COMMIT" if stamp and group.wrote else "COMMIT")
    except Exception as error:
        raise CommitUnanswered(group.begun, error, "COMMIT") from error
    if answer != "COMMIT":
        # PostgreSQL answers the COMMIT of a failed transaction with ROLLBACK and raises nothing.
        raise GroupConflict("COMMIT was answered with ROLLBACK")


async def drive_alone(connection: "Connection", begin: Begin[T]) -> T:
    """Run and commit one transaction, statement by statement. After an exception it is still open.

    Writes are not combined here: a migration may read through a view what it wrote.
    """
    await connection.execute(BEGIN)
    body = begin()
    try:
        statement = next(body)
        while True:
            query, params = statement
            answers = await fetch_each(connection, query, params if isinstance(params, list) else [params])
            statement = body.send([row for rows in answers for row in rows])
    except StopIteration as end:
        await connection.execute("COMMIT")
        result: T = end.value
        return result
    finally:
        body.close()


def _marks(caller: BatchedTransaction) -> list[int]:
    """The keys of the advisory locks on its sessions, in the order in which every process takes them."""
    digests = (blake2b(each.encode("utf-8", "replace"), digest_size=8).digest() for each in caller.sessions)
    return sorted(int.from_bytes(digest, signed=True) for digest in digests)


async def fetch_step(connection: "Connection", step: Sequence[Executions]) -> Sequence[Rows]:
    """Run the queries of a step in order; the rows of each execution of the last."""
    if len(step) > 1 and independent(tuple(query for query, _ in step)):
        parts = [(query, [*map(query.pick, executions)]) for query, executions in step]
        if all(len(executions) == 1 or fits(query, executions, "postgres") for query, executions in step):
            return await _fetch_as_one(connection, parts)
    answers: Sequence[Rows] = ()
    for query, executions in step:
        answers = await fetch_each(connection, query, executions)
    return answers


async def fetch_each(connection: "Connection", query: Query, executions: Sequence[Params]) -> Sequence[Rows]:
    """Run the query once for each set of parameters; the rows of each, in the order they were given."""
    shape = shape_of(query)
    arguments = [*map(query.pick, executions)]
    if len(arguments) == 1 or not shape.pipelined:
        return [await connection.fetch(query.postgres, *values) for values in arguments]
    if fits(query, executions, "postgres"):
        return await _fetch_as_one(connection, [(query, arguments)])
    if shape.numbered is None:
        await connection.executemany(query.postgres, arguments)
        return [()] * len(arguments)
    numbered = [(*values, number) for number, values in enumerate(arguments)]
    answers: list[list[Record]] = [[] for _ in arguments]
    for row in await connection.fetchmany(shape.numbered, numbered):
        answers[row[EXECUTION]].append(row)
    return answers


async def _fetch_as_one(connection: "Connection", parts: Sequence[_Part]) -> Sequence[Rows]:
    """Run all parts as one statement; the rows of each execution of the last. Needs an open transaction."""
    texts: list[str] = []
    values: list[Any] = []
    counts: list[int] = []
    for query, arguments in parts:
        text, given = await _statement_of(connection, query, arguments)
        texts.append(text)
        values += given
        counts.append(len(given))
    rows = await connection.fetch(as_one(tuple(texts), tuple(counts)), *values)
    query, arguments = parts[-1]
    shape = joined(query, "postgres")
    if len(arguments) == 1 or shape is None:
        return [rows]
    return rows_by_execution(shape, query, arguments, rows)


async def _statement_of(
    connection: "Connection", query: Query, arguments: Sequence[tuple[Value, ...]]
) -> tuple[str, Sequence[Any]]:
    """The statement that runs the query for all of its arguments, and the statement's parameters."""
    shape = joined(query, "postgres")
    if len(arguments) == 1 or shape is None:
        return query.postgres, arguments[0]
    shared = alike(arguments)
    values: list[Any] = [
        column[0] if index in shared else list(column)
        for index, column in enumerate(zip(*arguments, strict=True))
    ]
    return await text_of_set(connection, query, shape, shared), [*values, list(range(len(arguments)))]


async def text_of_set(
    connection: "Connection", query: Query, shape: Joined, shared: tuple[int, ...] = ()
) -> str:
    """The text of the set-based query, with the types that the server infers for its parameters (cached)."""
    if (query, shared) in _texts:
        return _texts[query, shared]
    if query not in _types:
        _types[query] = await _types_of(connection, query)
    columns: dict[int, str] = {}
    arrays: dict[str, str] = {}
    for number, type in enumerate([*_types[query], "integer"], 1):
        if number - 1 in shared:
            columns[number] = f"CAST(${number} AS {type})"
        else:
            columns[number] = f"given.column{number}"
            arrays[f"column{number}"] = f"CAST(${number} AS {type}[])"
    given = f"unnest({', '.join(arrays.values())}) AS given ({', '.join(arrays)})"
    return _texts.setdefault((query, shared), with_given(shape, given, columns))


async def _types_of(connection: "Connection", query: Query) -> list[str]:
    name = f"segue_asks_{next(_numbers)}"
    # By SQL, not by the protocol: behind a pooler the next transaction may have another connection.
    await connection.execute(f"PREPARE {name} AS {query.postgres}")
    types: list[str] = await connection.fetchval(
        f"SELECT CAST(parameter_types AS TEXT[]) FROM pg_prepared_statements WHERE name = '{name}'"
    )
    await connection.execute(f"DEALLOCATE {name}")
    return types
