"""What must hold, asked of the database by questions of our own beside the kernel's audit."""

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from segue.store.database import Database
from segue.store.queries import translate
from segue.store.store import Store
from segue.times.clock import to_moment, to_ms
from segue.times.trigger import At, Cron, Every, Phase
from tests.simulation import observer
from tests.simulation.people import Promise

if TYPE_CHECKING:
    from tests.simulation.play import Play

_open_turns = translate("check.turns", "SELECT id, state FROM turns WHERE state IN ('queued', 'running')")
_open_parcels = translate("check.parcels", "SELECT id, state FROM deliveries WHERE state = 'pending'")
_open_jobs = translate("check.jobs", "SELECT id, trigger_kind AS state FROM jobs WHERE next_at IS NOT NULL")
_turns = translate(
    "check.all_turns",
    """SELECT id, session_id, state, content, call, attempt, started_at, finished_at, joined_into, outcome,
              (SELECT COUNT(*) FROM events
               WHERE events.turn_id = turns.id AND role = 'assistant' AND type = 'stream_end') AS closures,
              (SELECT COUNT(*) FROM events
               WHERE events.turn_id = turns.id AND role = 'user' AND type = 'stream_start') AS openings,
              (SELECT COUNT(*) FROM events
               WHERE events.turn_id = turns.id AND type = 'stream_start') AS starts,
              (SELECT COUNT(*) FROM events
               WHERE type = 'message' AND body LIKE '%"joined_turn_id":"' || turns.id || '"%') AS joinings
       FROM turns ORDER BY id""",
)
_acts = translate(
    "check.acts",
    """SELECT events.turn_id, events.type FROM events JOIN turns ON turns.id = events.turn_id
       WHERE events.type IN ('stream_start', 'tool_started', 'stream_end') AND turns.crash <> 'rerun'
       ORDER BY events.turn_id, events.seq""",
)
_runs = translate(
    "check.runs",
    "SELECT slot, turn_id, outcome, missed_count FROM runs_told WHERE job_id = :job_id ORDER BY slot",
)
_jobs = translate("check.all_jobs", "SELECT id, state, slot, next_at FROM jobs")
_unarmed = translate(
    "check.unarmed",
    """SELECT jobs.id FROM jobs JOIN sessions ON sessions.id = jobs.session_id
       WHERE jobs.state = 'active' AND jobs.next_at IS NULL AND sessions.unarmed = 0""",
)
_sent = translate("check.sent", "SELECT id, channel, state FROM deliveries")
_dump = {
    table: translate(f"check.{table}", f"SELECT * FROM {table} ORDER BY 1, 2")
    for table in ("sessions", "turns", "jobs", "runs_told", "events", "deliveries")
}


async def open_work(database: Database) -> list[tuple[str, str]]:
    return [
        (row["id"], row["state"])
        for query in (_open_turns, _open_parcels, _open_jobs)
        for row in await database.read(query, {})
    ]


async def everything(database: Database) -> list[Any]:
    return [[tuple(row) for row in await database.read(query, {})] for query in _dump.values()]


async def between(play: "Play") -> list[str]:
    """At any moment."""
    now = f"{play.loop.time():.3f}"
    wrong = [f"{now} {name}: {ids}" for name, ids in (await _audit(play, horizon=0)).items()]
    wrong += await observer.violations(play.database)
    for until, lane, holder in await observer.taken_back(play.database):
        if not play.excused(holder, until):
            wrong.append(f"{until:.3f} {holder} let the lease of {lane} run out, and it was well")
    for machine in play.machines:
        if machine.up and machine.running and machine.running.done():
            wrong.append(f"{now} {machine.host.name} ended by itself: {machine.running.exception()!r}")
    asleep = await play.database.read(_unarmed, {})
    return wrong + [f"{now} the idle job {row['id']} will never be armed" for row in asleep]


async def final(play: "Play") -> list[str]:
    """At the end."""
    wrong = await between(play)
    overdue = await _audit(play, horizon=play.now_ms())
    wrong += [f"at the end {name}: {ids}" for name, ids in overdue.items()]
    wrong += await _messages(play)
    wrong += await _words(play)
    wrong += await _acts_done_twice(play)
    wrong += await _orders(play)
    wrong += await _parcels(play)
    wrong += _starts_after_the_end(play)
    wrong += [
        f"{machine.host.name} still waits for {turn_id}"
        for machine, turn_id, waiting in play.people.waiting
        if machine.up and not waiting.done()
    ]
    return wrong


async def _audit(play: "Play", *, horizon: int) -> dict[str, list[str]]:
    return await Store(play.database, play.machines[0].clock).audit(horizon=horizon)


async def _messages(play: "Play") -> list[str]:
    """Every accepted message is a turn that ended."""
    ended = {row["id"] for row in await play.database.read(_turns, {}) if row["finished_at"] is not None}
    return [
        f"the message {words!r} to {key} was accepted as {turn_id} and lost"
        for turn_id, (owner, key, words) in play.people.turns.items()
        if turn_id not in ended and (owner, key) not in play.people.deleted
    ]


async def _words(play: "Play") -> Iterable[str]:
    """Words join once, when their turn starts; what started is closed once."""
    wrong = []
    for row in await play.database.read(_turns, {}):
        spoken = row["call"] is None
        joined = row["joined_into"] is not None
        started = row["attempt"] > 0
        expected = {
            "openings": int(spoken and started and not joined),
            "joinings": int(joined),
            "closures": int(spoken and started and not joined and row["finished_at"] is not None),
            "starts": row["attempt"],
        }
        wrong += [
            f"turn {row['id']} ({row['state']}, {row['outcome']}) has {row[name]} {name}, not {number}"
            for name, number in expected.items()
            if row[name] != number
        ]
    return wrong


async def _acts_done_twice(play: "Play") -> list[str]:
    """A turn that may have acted when its worker was lost is not run again unasked."""
    wrong = []
    last: tuple[str, str] = ("", "")
    for row in await play.database.read(_acts, {}):
        if row["type"] == "stream_start" and last == (row["turn_id"], "tool_started"):
            wrong.append(f"turn {row['turn_id']} had acted and was run again")
        last = (row["turn_id"], row["type"])
    return wrong


async def _orders(play: "Play") -> list[str]:
    """Every accepted job is there, and every slot of one that nobody changed has its row."""
    wrong = []
    there = {row["id"]: row for row in await play.database.read(_jobs, {})}
    for job_id, promise in play.people.jobs.items():
        if (promise.owner, promise.key) in play.people.deleted:
            continue
        if job_id not in there:
            wrong.append(f"job {job_id} was accepted and lost")
        elif promise.removed_at is not None and there[job_id]["state"] != "removed":
            wrong.append(f"job {job_id} was removed and is {there[job_id]['state']}")
        elif not promise.touched:
            runs = await play.database.read(_runs, {"job_id": job_id})
            wrong += _gaps(promise, [(row["slot"], _covers(row)) for row in runs], there[job_id])
    return wrong


def _covers(row: Any) -> int:
    """How many slots a row stands for, from its own on."""
    if row["outcome"] == "missed":
        return int(row["missed_count"])
    # A run that had a turn counts the missed ones before it, which have a row of their own.
    passed_over = row["outcome"] == "skipped" and row["turn_id"] is None
    return 1 + (int(row["missed_count"]) if passed_over else 0)


def _gaps(promise: Promise, runs: list[tuple[int, int]], row: Any) -> list[str]:
    trigger = promise.job.trigger
    if isinstance(trigger, At):
        return [] if len(runs) == 1 else [f"job {promise.job.id} has {len(runs)} runs, not 1"]
    if not isinstance(trigger, Cron) and not (isinstance(trigger, Every) and trigger.phase is Phase.FIXED):
        return []
    assert promise.job.slot is not None
    expected: datetime | None = to_moment(promise.job.slot)
    wrong = []
    for slot, covered in runs:
        if expected is None or to_ms(expected) != slot:
            wrong.append(f"job {promise.job.id} ({trigger}) has a row for {slot}, expected {expected}")
        expected = to_moment(slot)
        for _ in range(covered):
            expected = None if expected is None else trigger.next_after(expected)
    return wrong


async def _parcels(play: "Play") -> list[str]:
    """What must not double was sent at most once; what is marked as sent has arrived."""
    wrong = []
    for row in await play.database.read(_sent, {}):
        times = play.post.arrived[row["id"]]
        if row["channel"] == "chat" and times > 1:
            wrong.append(f"delivery {row['id']} was sent {times} times")
        if row["channel"] != "web" and row["state"] == "sent" and not times:
            wrong.append(f"delivery {row['id']} is marked as sent and never was")
    return wrong


def _starts_after_the_end(play: "Play") -> list[str]:
    """After a removal or a cancellation was confirmed, nothing of it starts."""
    wrong = []
    for one in play.stage.performances:
        promise = play.people.jobs.get(one.job_id or "")
        gone = promise.removed_at if promise else play.people.cancelled.get(one.turn_id)
        if gone is not None and one.began > gone + 0.1 and one.attempt == 1:
            wrong.append(f"{one.turn_id} began at {one.began:.3f}, after it was taken out at {gone:.3f}")
    return wrong
