"""The lower bound on SQLite: a loop that writes the rows of a turn and does nothing else.

The tables and the statements are the kernel's own, so the loop writes exactly what a turn writes, with the
same indexes and checks, in WAL with `synchronous=FULL`. It leaves out everything else: no event loop, no
thread, no agent, no object for a row, no policy, no listeners.

  - fire      (of due jobs) lock the session, take the job's slot, open its run, enqueue its turn, and
              make the lane ready
  - claim     lease the sessions, start their next turns, append `stream_start`
  - settle    check the fence, finish the turn, append `stream_end` and `session_sync`, release the
              session

In groups of 100, a hundred claims are one commit, and their hundred settlements the next. With `group=1`
every claim and every settlement is its own transaction. Due jobs are fired first, also in groups.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from bench.measure import Rate, stopwatch
from segue.kernel.transactions.session_log import NOTHING, policy_columns
from segue.store import queries

ACCOUNT, HOLDER = "bench", "worker"

# As long as the kernel's own.
_SOURCE = '{"kind":"cron","job_id":"%s","label":"go on","run_id":"%s:1794819660000"}' % (("0" * 28,) * 2)
_PROMPT_REF = '{"id":"cron.agent_turn.reminder","version":1,"sha256":"%s"}' % ("0" * 64)
_PROMPT = "0" * 490
NOW = 1_700_000_000_000
LEASE_MS = 30_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    sessions: int = 1_000
    each: int = 10
    """Turns waiting in each session's lane."""
    group: int = 100
    scheduled: bool = False
    due: bool = False
    """The jobs have not fired yet: firing them is part of the work."""

    @property
    def total(self) -> int:
        return self.sessions * self.each


@dataclass(frozen=True, slots=True)
class Held:
    session_id: str
    fence: int
    turn_id: str
    run_id: str | None


def run(folder: Path, turns: Turns) -> Rate:
    """Fills the lanes, then measures the rate at which every turn is run."""
    with closing(_open(folder / "bare.db")) as database:
        _fill(database, turns)
        with stopwatch() as watch:
            if turns.due:
                _fire_all(database, turns.group)
            done = _run_all(database, turns.group)
    assert done == turns.total, f"the bare loop ran {done} turns of {turns.total}"
    return Rate(done, watch.seconds)


def _open(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, isolation_level=None)
    database.row_factory = sqlite3.Row
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
        database.execute(f"PRAGMA {pragma}")
    migrations = files("segue.store").joinpath("migrations").iterdir()
    for migration in sorted(migrations, key=lambda file: file.name):
        database.executescript(queries.translate(migration.name, migration.read_text("utf-8")).sqlite)
    return database


def _fire_all(database: sqlite3.Connection, group: int) -> None:
    while due := _rows(database, queries.jobs.due, {"since": 0, "now": NOW, "limit": group, "unified": 0}):
        with _committed(database):
            for job in due:
                _fire(database, job)


def _fire(database: sqlite3.Connection, job: sqlite3.Row) -> None:
    session_id = job["session_id"]
    _rows(database, queries.sessions.lock, {"id": session_id})
    ended = {"slot": None, "next_at": None, "state": "ended", "state_reason": "it was due once"}
    took = {
        "id": job["id"],
        "revision": job["revision"],
        "fired": 1,
        "fires": "run",
        "replied": None,
        "now": NOW,
    }
    _rows(database, queries.jobs.take, took | ended)
    _add_turn(database, session_id, 0, scheduled=True)
    _wake(database, session_id, scheduled=True)


def _run_all(database: sqlite3.Connection, group: int) -> int:
    done = 0
    while True:
        with _committed(database):
            held = _claim(database, group)
        if not held:
            return done
        with _committed(database):
            for turn in held:
                _settle(database, turn)
        done += len(held)


@contextmanager
def _committed(database: sqlite3.Connection) -> Iterator[None]:
    database.execute("BEGIN IMMEDIATE")
    yield
    database.execute("COMMIT")


def _claim(database: sqlite3.Connection, group: int) -> list[Held]:
    lease = {
        "user_waits": 1,
        "after": ACCOUNT,
        "since": 0,
        "now": NOW,
        "lease_now": NOW,
        "lease_ms": LEASE_MS,
        "holder": HOLDER,
        "limit": group,
        "quantum": group,
    }
    lanes = _rows(database, queries.sessions.lease, lease) or _rows(
        database, queries.sessions.lease, lease | {"user_waits": 0}
    )
    return [_start(database, lane) for lane in lanes]


def _start(database: sqlite3.Connection, lane: sqlite3.Row) -> Held:
    start = {"session_id": lane["id"], "fence": lane["fence"], "acted": 0, "now": NOW}
    (turn,) = _rows(database, queries.turns.start_next, start)
    body = '{"attempt":1}' if turn["run_id"] is None else f'{{"attempt":1,"prompt_ref":{_PROMPT_REF}}}'
    words = {"role": "user", "content": turn["content"], "body": body, "source": turn["source"]}
    _append(database, lane["id"], lane["last_seq"], "stream_start", turn["id"], **words)
    return Held(lane["id"], lane["fence"], turn["id"], turn["run_id"])


def _settle(database: sqlite3.Connection, turn: Held) -> None:
    owner = {"id": turn.session_id, "holder": HOLDER, "fence": turn.fence}
    (lane,) = _rows(database, queries.sessions.hold, owner)
    ending = {"state": "done", "outcome": "ok", "reason": None, "reply": "done", "error": None, "usage": None}
    finish = {"id": turn.turn_id, "fence": turn.fence, "now": NOW}
    version, text = (None, None) if turn.run_id is None else (1, _PROMPT)
    prompt = {"prompt_version": version, "rendered_prompt": text}
    _rows(database, queries.turns.finish, finish | ending | prompt)
    source = None if turn.run_id is None else _SOURCE
    words = {"role": "assistant", "content": "done", "body": '{"outcome":"ok"}', "source": source}
    _append(database, turn.session_id, lane["last_seq"] + 1, "stream_end", turn.turn_id, **words)
    _append(database, turn.session_id, lane["last_seq"] + 2, "session_sync", turn.turn_id)
    _rows(database, queries.sessions.release, owner | {**NOTHING, "events": 2})


def _append(
    database: sqlite3.Connection,
    session_id: str,
    seq: int,
    type: str,
    turn_id: str,
    role: str | None = None,
    content: str | None = None,
    body: str | None = None,
    source: str | None = None,
) -> None:
    event = {"session_id": session_id, "seq": seq, "type": type, "turn_id": turn_id, "via_id": session_id}
    words = {"at": NOW, "role": role, "content": content, "source": source, "body": body, "tokens": 1}
    database.execute(queries.events.append.sqlite, event | words)


def _rows(database: sqlite3.Connection, query: queries.Query, params: dict[str, Any]) -> list[sqlite3.Row]:
    return database.execute(query.sqlite, params).fetchall()


def _store(database: sqlite3.Connection, query: queries.Query, params: dict[str, Any]) -> None:
    """Stores a row before the measurement; parameters that are not given are NULL."""
    database.execute(query.sqlite, dict.fromkeys(query.parameters) | params)


def _fill(database: sqlite3.Connection, turns: Turns) -> None:
    with _committed(database):
        for number in range(turns.sessions):
            _add_session(database, f"session-{number:020}", turns)
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _add_session(database: sqlite3.Connection, session_id: str, turns: Turns) -> None:
    names = {"account": ACCOUNT, "user_id": "user", "key": f"websocket:{session_id}"}
    facts = {"chat_type": "private", "metadata": "{}", "now": NOW}
    _store(database, queries.directory.enter, {"session_id": session_id} | names)
    _store(database, queries.sessions.create, {"id": session_id} | names | facts | policy_columns(None))
    _store(database, queries.activity.enter, {"session_id": session_id})
    if turns.scheduled:
        _add_job(database, session_id, next_at=NOW if turns.due else NOW + 1)
    if not turns.due:
        for number in range(turns.each):
            _add_turn(database, session_id, number, scheduled=turns.scheduled)
        _wake(database, session_id, scheduled=turns.scheduled)


def _wake(database: sqlite3.Connection, session_id: str, *, scheduled: bool) -> None:
    ready = {"id": session_id, "not_before": NOW, "user_waits": int(not scheduled), "events": 0}
    database.execute(queries.sessions.enqueue.sqlite, ready)


def _add_job(database: sqlite3.Connection, session_id: str, *, next_at: int) -> None:
    job = {"id": f"job-{session_id}", "session_id": session_id, "account": ACCOUNT, "kind": "cron"}
    shape = {"name": "bench", "protected": 0, "trigger_kind": "every", "slot": NOW, "next_at": next_at}
    words = {"trigger": '{"every":"1m"}', "action": '{"ask":"go on"}', "policy": "{}", "now": NOW}
    _store(database, queries.jobs.create, job | shape | words)


def _add_turn(database: sqlite3.Connection, session_id: str, number: int, *, scheduled: bool) -> None:
    turn_id = f"turn-{number:05}-{session_id}"
    run_id = f"run-{turn_id}" if scheduled else None
    job_id = f"job-{session_id}" if scheduled else None
    turn = {"id": turn_id, "session_id": session_id, "via_id": session_id, "job_id": job_id, "run_id": run_id}
    order = {"rank": NOW + number, "not_before": NOW, "joins": 0, "waits": 0, "retries": 0, "now": NOW}
    words: dict[str, str | None] = {
        "content": "go on",
        "prompt": None,
        "brief": None,
        "call": None,
        "source": None,
        "metadata": None,
        "parts": None,
        "reserved": None,
        "replaces": None,
    }
    if scheduled:
        words |= {"content": "0" * 42, "prompt": "go on", "brief": "0" * 136, "source": _SOURCE}
    rules = {"crash": "auto", "timeout_ms": 60_000}
    database.execute(queries.turns.enqueue.sqlite, turn | order | words | rules)
    if run_id:
        run = {"id": run_id, "job_id": job_id, "session_id": session_id, "slot": NOW + number}
        facts = {"turn_id": turn_id, "delivery_id": None, "reason": None, "lateness_ms": 0, "missed_count": 0}
        database.execute(queries.runs.open.sqlite, run | facts | {"now": NOW})
