"""Checks: what must hold in the database, beside the kernel's own audit."""

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from segue.store.database import Database
from segue.store.queries import translate
from segue.store.store import Store
from segue.times.clock import to_moment, to_ms
from segue.times.trigger import At, Cron, Every, Phase
from tests.simulation import observer
from tests.simulation.clients import RUNS_A_DAY, Promise

if TYPE_CHECKING:
    from tests.simulation.scenario import Scenario

_open_turns = translate("check.turns", "SELECT id, state FROM turns WHERE state IN ('queued', 'running')")
_open_deliveries = translate("check.parcels", "SELECT id, state FROM deliveries WHERE state = 'pending'")
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
_used = translate(
    "check.used",
    """SELECT period, SUM(runs) AS runs, SUM(1 - settled) AS unsettled FROM reservations
       WHERE job_id = :job_id GROUP BY period""",
)
_sent = translate("check.sent", "SELECT id, channel, state, joins, content FROM deliveries")
_unwanted = translate(
    "check.unwanted",
    """SELECT (SELECT COUNT(*) FROM deliveries WHERE joins IS NOT NULL)
            + (SELECT COUNT(*) FROM runs_told
               WHERE reason LIKE '%quiet hours until%' OR reason LIKE 'unless:%') AS found""",
)
_dump = {
    table: translate(f"check.{table}", f"SELECT * FROM {table} ORDER BY 1, 2")
    for table in ("sessions", "turns", "jobs", "runs_told", "events", "deliveries")
}


async def open_work(database: Database) -> list[tuple[str, str]]:
    return [
        (row["id"], row["state"])
        for query in (_open_turns, _open_deliveries, _open_jobs)
        for row in await database.read(query, {})
    ]


async def unwanted(database: Database) -> int:
    return int((await database.read(_unwanted, {}))[0]["found"])


async def everything(database: Database) -> list[Any]:
    return [[tuple(row) for row in await database.read(query, {})] for query in _dump.values()]


async def between(scenario: "Scenario") -> list[str]:
    """At any moment."""
    now = f"{scenario.loop.time():.3f}"
    wrong = [f"{now} {name}: {ids}" for name, ids in (await _audit(scenario, horizon=0)).items()]
    wrong += await observer.violations(scenario.database)
    for until, lane, holder in await observer.reclaimed(scenario.database):
        if not scenario.excused(holder, until):
            wrong.append(f"{until:.3f} {holder} let the lease of {lane} run out, and it was well")
    for machine in scenario.machines:
        if machine.up and machine.running and machine.running.done():
            wrong.append(f"{now} {machine.host.name} ended by itself: {machine.running.exception()!r}")
    asleep = await scenario.database.read(_unarmed, {})
    return wrong + [f"{now} the idle job {row['id']} will never be armed" for row in asleep]


async def final(scenario: "Scenario") -> list[str]:
    """At the end."""
    wrong = await between(scenario)
    overdue = await _audit(scenario, horizon=scenario.now_ms())
    wrong += [f"at the end {name}: {ids}" for name, ids in overdue.items()]
    wrong += await _messages(scenario)
    wrong += await _words(scenario)
    wrong += await _acts_done_twice(scenario)
    wrong += await _orders(scenario)
    wrong += await _deliveries(scenario)
    wrong += await _budgets(scenario)
    wrong += _starts_after_the_end(scenario)
    wrong += [
        f"{machine.host.name} still waits for {turn_id}"
        for machine, turn_id, waiting in scenario.clients.waiting
        if machine.up and not waiting.done()
    ]
    return wrong


async def _audit(scenario: "Scenario", *, horizon: int) -> dict[str, list[str]]:
    return await Store(scenario.database, scenario.machines[0].clock).audit(horizon=horizon)


async def _messages(scenario: "Scenario") -> list[str]:
    """Every accepted message is a turn that ended."""
    ended = {row["id"] for row in await scenario.database.read(_turns, {}) if row["finished_at"] is not None}
    return [
        f"the message {words!r} to {key} was accepted as {turn_id} and lost"
        for turn_id, (owner, key, words) in scenario.clients.turns.items()
        if turn_id not in ended and (owner, key) not in scenario.clients.deleted
    ]


async def _budgets(scenario: "Scenario") -> list[str]:
    """No job started more runs in a day than its budget has, and all reservations are settled."""
    wrong = []
    for promise in scenario.clients.jobs.values():
        for row in await scenario.database.read(_used, {"job_id": promise.job.id}):
            beyond = promise.job.policy.budget == RUNS_A_DAY and row["runs"] > RUNS_A_DAY.limit
            if row["unsettled"] or (beyond and not promise.touched):
                wrong.append(f"{promise.job.id} has {row['runs']} runs on {row['period']}: {dict(row)}")
    return wrong


async def _words(scenario: "Scenario") -> Iterable[str]:
    """Words join once, when their turn starts; what started is closed once."""
    wrong = []
    for row in await scenario.database.read(_turns, {}):
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


async def _acts_done_twice(scenario: "Scenario") -> list[str]:
    """A turn that may have acted when its worker was lost is not run again unasked."""
    wrong = []
    last: tuple[str, str] = ("", "")
    for row in await scenario.database.read(_acts, {}):
        if row["type"] == "stream_start" and last == (row["turn_id"], "tool_started"):
            wrong.append(f"turn {row['turn_id']} had acted and was run again")
        last = (row["turn_id"], row["type"])
    return wrong


async def _orders(scenario: "Scenario") -> list[str]:
    """Every accepted job is there, and every slot of an unchanged job has its row."""
    wrong = []
    there = {row["id"]: row for row in await scenario.database.read(_jobs, {})}
    for job_id, promise in scenario.clients.jobs.items():
        if (promise.owner, promise.key) in scenario.clients.deleted:
            continue
        if job_id not in there:
            wrong.append(f"job {job_id} was accepted and lost")
        elif promise.removed_at is not None and there[job_id]["state"] != "removed":
            wrong.append(f"job {job_id} was removed and is {there[job_id]['state']}")
        elif not promise.touched:
            runs = await scenario.database.read(_runs, {"job_id": job_id})
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


async def _deliveries(scenario: "Scenario") -> list[str]:
    """What must not double was sent at most once; what is marked as sent has arrived, by itself or in the
    message that carries it, and not both."""
    wrong = []
    for row in await scenario.database.read(_sent, {}):
        times = scenario.post.arrived[row["joins"] or row["id"]]
        if row["joins"] is not None and scenario.post.arrived[row["id"]]:
            wrong.append(f"answer {row['id']} was sent beside the digest {row['joins']}")
        if times and row["joins"] is not None and row["content"] not in scenario.post.texts[row["joins"]]:
            wrong.append(f"digest {row['joins']} lacks the answer {row['id']}")
        if row["channel"] == "chat" and times > 1:
            wrong.append(f"delivery {row['id']} was sent {times} times")
        if row["channel"] != "web" and row["state"] == "sent" and not times:
            wrong.append(f"delivery {row['id']} is marked as sent and never was")
    return wrong


def _starts_after_the_end(scenario: "Scenario") -> list[str]:
    """After a removal or a cancellation was confirmed, nothing of it starts."""
    wrong = []
    for one in scenario.agent_log.attempts:
        promise = scenario.clients.jobs.get(one.job_id or "")
        gone = promise.removed_at if promise else scenario.clients.cancelled.get(one.turn_id)
        if gone is not None and one.began > gone + 0.1 and one.attempt == 1:
            wrong.append(f"{one.turn_id} began at {one.began:.3f}, after it was taken out at {gone:.3f}")
    return wrong
