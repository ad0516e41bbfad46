"""The observer: an independent witness inside the database.

The kernel guards its writes with fences. The observer trusts none of that: triggers write down every move
that must not happen, judged by who really wrote it and by what the agents themselves put into their words.
An agent's words name the attempt they were said in (`turn#attempt`), so a late write of an attempt that is
over shows even when the writer bears the right name.
"""

from collections.abc import Mapping

from segue.store.database import Database, Transaction
from segue.store.queries import Query, translate

sign = translate("observer.sign", "UPDATE pen SET writer = :writer, at = :at, sent = :sent")
_dip = translate("observer.dip", "INSERT INTO pen VALUES ('unsigned', 0, 0, :lease_ms)")
_violations = translate("observer.violations", "SELECT at, writer, what, id FROM violation ORDER BY rowid")

_TABLES = (
    "CREATE TABLE pen (writer TEXT, at BIGINT, sent BIGINT, lease_ms BIGINT)",
    "CREATE TABLE violation (at BIGINT, writer TEXT, what TEXT, id TEXT)",
    "CREATE TABLE lent (id TEXT PRIMARY KEY, until BIGINT)",
    "CREATE TABLE reclaimed (until BIGINT, id TEXT, holder TEXT)",
)

_HOLDER = "(SELECT holder FROM sessions WHERE id = NEW.session_id)"
_WRITER = "(SELECT writer FROM pen)"

_FORBIDDEN: Mapping[str, tuple[str, str]] = {
    "a turn that ended changed": (
        "UPDATE ON turns",
        """OLD.state IN ('done', 'failed', 'cancelled')
           AND (NEW.state <> OLD.state OR NEW.outcome IS NOT OLD.outcome OR NEW.reply IS NOT OLD.reply
                OR NEW.finished_at IS NOT OLD.finished_at)""",
    ),
    "a run that ended changed": (
        "UPDATE ON runs",
        "OLD.outcome IS NOT NULL AND (NEW.outcome IS NOT OLD.outcome OR NEW.finished_at <> OLD.finished_at)",
    ),
    "a delivery that ended changed": (
        "UPDATE ON deliveries",
        "OLD.state <> 'pending' AND NEW.state <> OLD.state",
    ),
    "a fence went back": ("UPDATE ON sessions", "NEW.fence < OLD.fence"),
    "a lane changed hands under one fence": (
        "UPDATE ON sessions",
        "NEW.holder IS NOT NULL AND NEW.holder IS NOT OLD.holder AND NEW.fence <= OLD.fence",
    ),
    "a lane was taken from its holder while it ran": (
        "UPDATE ON sessions",
        """OLD.holder IS NOT NULL AND NEW.holder IS NOT NULL AND NEW.fence <> OLD.fence
           AND (SELECT at FROM pen) < (SELECT until FROM lent WHERE lent.id = NEW.id)""",
    ),
    "a lane was released by another writer": (
        "UPDATE ON sessions",
        f"""OLD.holder IS NOT NULL AND NEW.holder IS NULL
            AND OLD.holder NOT IN ({_WRITER}, {_WRITER} || '/reaper')""",
    ),
    "a lease was renewed by another writer": (
        "UPDATE ON sessions",
        f"""OLD.holder IS NEW.holder AND OLD.fence = NEW.fence AND NEW.lease_until > OLD.lease_until
            AND NEW.holder <> {_WRITER}""",
    ),
    "a turn was moved by a writer that did not hold it": (
        "UPDATE ON turns",
        f"""OLD.state = 'running' AND NEW.state <> 'running'
            AND {_HOLDER} IS NOT {_WRITER} AND {_HOLDER} IS NOT {_WRITER} || '/reaper'""",
    ),
    "a turn ended with the words of another attempt": (
        "UPDATE ON turns",
        "OLD.state = 'running' AND NEW.reply IS NOT NULL AND NEW.reply NOT LIKE '%#' || NEW.attempt || '.%'",
    ),
    "a draft was kept of another attempt": (
        "UPDATE ON turns",
        """NEW.draft IS NOT OLD.draft AND NEW.draft IS NOT NULL
           AND NEW.draft NOT LIKE '%#' || NEW.attempt || '.%'""",
    ),
    "an event of a turn that was not running": (
        "INSERT ON events",
        """NEW.type IN ('tool_started', 'tool_call') AND NOT EXISTS (
               SELECT 1 FROM turns WHERE id = NEW.turn_id AND state = 'running'
                   AND NEW.body LIKE '%' || id || '#' || attempt || '.%')""",
    ),
    "an event of a turn by a writer that did not hold it": (
        "INSERT ON events",
        f"NEW.type IN ('tool_started', 'tool_call') AND {_HOLDER} IS NOT {_WRITER}",
    ),
    "a turn started after the message that makes it unwanted": (
        "INSERT ON events",
        """NEW.type = 'stream_start' AND EXISTS (
               SELECT 1
               FROM turns
               JOIN jobs ON jobs.id = turns.job_id
               JOIN sessions ON sessions.id = turns.session_id
               WHERE turns.id = NEW.turn_id AND turns.attempt = 1 AND turns.brief LIKE '%"guarded"_true%'
                   AND jobs.policy LIKE '%"unanswered", "since"_ "created"%'
                   AND sessions.last_message_at > jobs.created_at)""",
    ),
    "an event was numbered out of order": (
        "INSERT ON events",
        """NEW.seq <> 1 AND NOT EXISTS (
               SELECT 1 FROM events WHERE session_id = NEW.session_id AND seq = NEW.seq - 1)""",
    ),
}

_NOTES = (
    # What the true clock says about each lease, beside what the kernel wrote about it.
    """CREATE TRIGGER lent AFTER UPDATE OF lease_until ON sessions WHEN NEW.lease_until IS NOT NULL
       BEGIN
           INSERT INTO lent VALUES (NEW.id, (SELECT sent + lease_ms FROM pen))
           ON CONFLICT (id) DO UPDATE SET until = excluded.until;
       END""",
    """CREATE TRIGGER lane_reclaimed AFTER UPDATE OF holder ON sessions
       WHEN OLD.holder IS NOT NULL AND NEW.holder LIKE '%/reaper'
       BEGIN
           INSERT INTO reclaimed VALUES (OLD.lease_until, NEW.id, OLD.holder);
       END""",
)

_reclaimed = translate("observer.reclaimed", "SELECT until, id, holder FROM reclaimed ORDER BY rowid")


_emptying = [
    translate(f"observer.empty_{table}", f"DELETE FROM {table}")
    for table in (
        *("sessions", "turns", "jobs", "runs", "events", "deliveries", "reservations", "requests"),
        *("pen", "violation", "lent", "reclaimed"),
    )
]


def _statements() -> list[Query]:
    triggers = [
        f"""CREATE TRIGGER watch_{number} AFTER {moment}
            WHEN {condition}
            BEGIN
                INSERT INTO violation SELECT at, writer, '{what}', NEW.{_id(moment)} FROM pen;
            END"""
        for number, (what, (moment, condition)) in enumerate(_FORBIDDEN.items())
    ]
    return [translate("observer.install", text) for text in (*_TABLES, *_NOTES, *triggers)]


def _id(moment: str) -> str:
    return "turn_id" if moment.endswith("events") else "id"


def install() -> Transaction[None]:
    for statement in _statements():
        yield statement, {}


def begin(*, lease_ms: int) -> Transaction[None]:
    """Empty the database for the next scenario. Prepared statements stay, which halves the time it takes."""
    for statement in _emptying:
        yield statement, {}
    yield _dip, {"lease_ms": lease_ms}


async def violations(database: Database) -> list[str]:
    found = await database.read(_violations, {})
    return [f"{row['at'] / 1000:.3f} {row['writer']}: {row['what']} ({row['id']})" for row in found]


async def reclaimed(database: Database) -> list[tuple[float, str, str]]:
    """Lanes that a reaper reclaimed: when the lease ended, which lane, and its holder."""
    found = await database.read(_reclaimed, {})
    return [(row["until"] / 1000, row["id"], row["holder"]) for row in found]
