"""The store: the database with the kernel's words. Writers commit transactions, readers get records."""

import logging
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from segue.errors import AmbiguousKey, NotFound
from segue.model.records import (
    NEWEST,
    Asker,
    Delivery,
    Event,
    Job,
    Lookup,
    Overview,
    Owner,
    Place,
    Recall,
    Run,
    ScheduledMessage,
    Session,
    Turn,
    merged,
)
from segue.store import queries
from segue.store.database import Params, Row, Rows, Transaction, Value
from segue.store.queues import Queues, number
from segue.store.rows import core as rows
from segue.store.rows import overviews as shown_rows

P = ParamSpec("P")
T = TypeVar("T")

_log = logging.getLogger(__name__)


class Store(Queues):
    async def commit(self, transaction: Callable[P, Transaction[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Commit one transaction; it may be driven more than once until it is in."""
        return await self.database.run(lambda: transaction(*args, **kwargs))

    # Sessions

    async def session(self, owner: Owner, key: str) -> Session | None:
        named: Params = {"account": owner.account, "user_id": owner.user, "key": key}
        found = await self.database.read(queries.sessions.by_key, named)
        return rows.session(found[0]) if found else None

    async def session_found(self, lookup: Lookup, key: str) -> Session | None:
        """The session that a caller means by a key. `AmbiguousKey` when several users have one."""
        if not lookup.whole_account:
            return await self.session(lookup.owner, key)
        account, user = lookup.first
        named: Params = {"account": account, "user_id": user, "key": key}
        found = await self.database.read(queries.sessions.in_account, named)
        if found:
            return rows.session(found[0])
        others = await self.database.read(queries.directory.users_of, {"account": account, "key": key})
        if len(others) > 1:
            raise AmbiguousKey(key, [row["user_id"] for row in others])
        return None

    async def session_by_id(self, session_id: str) -> Session:
        return rows.session(
            _one(await self.database.read(queries.sessions.by_id, {"id": session_id}), "session")
        )

    async def sessions(self, asker: Asker, limit: int) -> list[Session]:
        whose: dict[str, Value] = {"account": asker.account, "limit": limit}
        query = queries.sessions.newest_in_account
        if isinstance(asker, Owner):
            query, whose = queries.sessions.newest_first, {**whose, "user_id": asker.user}
        return [rows.session(row) for row in await self.database.read(query, whose)]

    async def overview(self, session_id: str) -> Overview:
        found = await self.database.read(queries.sessions.overview, {"id": session_id})
        return shown_rows.overview(_one(found, "session"))

    async def overviews(
        self, asker: Asker, *, limit: int, before: Place, pending_recall: bool = False
    ) -> list[Overview]:
        asked: dict[str, Value] = {
            "account": asker.account,
            "before": before.at,
            "before_id": before.id,
            "pending_recall": int(pending_recall),
            "limit": limit,
        }
        query = queries.sessions.overviews_in_account
        if isinstance(asker, Owner):
            query, asked = queries.sessions.overviews, {**asked, "user_id": asker.user}
        return [shown_rows.overview(row) for row in await self.database.read(query, asked)]

    async def live_part(self, session: Session) -> tuple[int, int]:
        """How many messages of a session no commit has put away, and their tokens, by its log."""
        asked: Params = {"id": session.id, "after": session.live.archived_seq}
        found = await self.database.read(queries.events.live_part, asked)
        return found[0]["messages"], found[0]["tokens"]

    async def with_wrong_counts(self) -> list[str]:
        """Of all sessions, those whose counts are not what their log has."""
        return [row["id"] for row in await self.database.read(queries.audit.wrong_live_part, {})]

    # Turns and the log

    async def turn(self, turn_id: str) -> Turn:
        return rows.turn(_one(await self.database.read(queries.turns.by_id, {"id": turn_id}), "turn"))

    async def running_turn(self, session_id: str) -> Turn | None:
        found = await self.database.read(queries.turns.running_in, {"session_id": session_id})
        return rows.turn(found[0]) if found else None

    async def queued_turns(self, session_id: str) -> list[Turn]:
        found = await self.database.read(queries.turns.queued_in, {"session_id": session_id})
        return [rows.turn(row) for row in found]

    async def turns_before(self, turn: Turn, limit: int) -> list[Turn]:
        """What ran in its session while it waited, until it started."""
        if turn.started_at is None:
            return []
        asked: Params = {
            "session_id": turn.session_id,
            "id": turn.id,
            "since": turn.queued_at,
            "until": turn.started_at,
            "limit": limit,
        }
        return [rows.turn(row) for row in await self.database.read(queries.turns.between, asked)]

    async def running_turns(self) -> int:
        """How many run just now, in all sessions."""
        return number(await self.database.read(queries.turns.running_count, {}), "count") or 0

    async def turns_to_stop(self, holder: str) -> list[str]:
        return [row["id"] for row in await self.database.read(queries.turns.to_stop, {"holder": holder})]

    async def events(self, session_id: str, *, after: int, limit: int) -> list[Event]:
        asked: Params = {"session_id": session_id, "after": after, "limit": limit}
        return [rows.event(row) for row in await self.database.read(queries.events.after, asked)]

    async def messages(self, session_id: str, *, after: int, limit: int) -> list[Event]:
        asked: Params = {"session_id": session_id, "after": after, "limit": limit}
        return [
            rows.told_event(row) for row in await self.database.read(queries.events.messages_after, asked)
        ]

    async def told(self, session_id: str, *, before: int, limit: int) -> list[Event]:
        """The newest of what a reader of the conversation is shown, in the order of the log."""
        asked: Params = {"session_id": session_id, "before": before, "limit": limit}
        found = await self.database.read(queries.events.told_before, asked)
        return [rows.told_event(row) for row in reversed(found)]

    async def start_of_turn(self, session_id: str, turn_id: str) -> int | None:
        """The number at which its newest attempt began."""
        asked: Params = {"session_id": session_id, "turn_id": turn_id}
        return number(await self.database.read(queries.events.start_of_turn, asked), "seq")

    async def newest_events(self, session_id: str, *, before: int, limit: int) -> list[Event]:
        """The newest messages and the marks of turns before a number, in the order of the log."""
        asked: Params = {"session_id": session_id, "before": before, "limit": limit}
        found = await self.database.read(queries.events.newest, asked)
        return [rows.event(row) for row in reversed(found)]

    # Jobs and runs

    async def job(self, job_id: str) -> Job:
        return rows.job(_one(await self.database.read(queries.jobs.by_id, {"id": job_id}), "job"))

    async def jobs(self, session_id: str, limit: int) -> list[Job]:
        found = await self.database.read(queries.jobs.of_session, {"session_id": session_id, "limit": limit})
        return readable(found, "job", rows.job)

    async def automations(self, session_id: str, *, limit: int, before: Place, ended: bool) -> list[Job]:
        asked: Params = {
            "session_id": session_id,
            "ended": int(ended),
            "before": before.at,
            "before_id": before.id,
            "limit": limit,
        }
        return readable(await self.database.read(queries.jobs.automations, asked), "job", rows.job)

    async def jobs_at_work(self, session_id: str) -> list[str]:
        """Those that have a run which waits or is under way."""
        return [
            row["id"] for row in await self.database.read(queries.jobs.at_work, {"session_id": session_id})
        ]

    async def protected_jobs(self, owner: Owner, limit: int) -> list[Job]:
        whose: Params = {"account": owner.account, "user_id": owner.user, "limit": limit}
        return readable(await self.database.read(queries.jobs.protected, whose), "job", rows.job)

    async def run(self, run_id: str) -> Run:
        return shown_rows.run(_one(await self.database.read(queries.runs.by_id, {"id": run_id}), "run"))

    async def runs_of_job(self, job_id: str, limit: int, before: int = NEWEST.at) -> list[Run]:
        """The newest first, of slots before that moment."""
        asked: Params = {"job_id": job_id, "before": before, "limit": limit}
        found = await self.database.read(queries.runs.of_job, asked)
        return [shown_rows.run(row) for row in found]

    async def runs_of_session(self, session_id: str, limit: int, before: Place = NEWEST) -> list[Run]:
        asked: Params = {
            "session_id": session_id,
            "before": before.at,
            "before_id": before.id,
            "limit": limit,
        }
        return [shown_rows.run(row) for row in await self.database.read(queries.runs.of_session, asked)]

    # Recalls

    async def recall(self, job_id: str) -> Recall:
        return shown_rows.recall(
            _one(await self.database.read(queries.recalls.by_id, {"id": job_id}), "recall")
        )

    async def current_recall(self, session_id: str) -> Recall | None:
        """The one that is to come, else one that waits in the lane, else one that runs."""
        found = await self.database.read(queries.recalls.current, {"session_id": session_id})
        return next(iter(readable(found, "recall", shown_rows.recall)), None)

    async def job_waits(self, job_id: str) -> bool:
        """Whether a run of it waits in a lane."""
        return bool(await self.database.read(queries.turns.queued_of_job, {"job_id": job_id}))

    async def recalls(self, session_id: str, limit: int, before: Place = NEWEST) -> list[Recall]:
        asked: Params = {
            "session_id": session_id,
            "before": before.at,
            "before_id": before.id,
            "limit": limit,
        }
        return readable(
            await self.database.read(queries.recalls.of_session, asked), "recall", shown_rows.recall
        )

    # Scheduled messages

    async def scheduled_message(self, job_id: str) -> ScheduledMessage:
        found = await self.database.read(queries.scheduled_messages.by_id, {"id": job_id})
        return shown_rows.scheduled_message(_one(found, "scheduled message"))

    async def scheduled_messages(
        self, session_id: str, *, status: str | None, limit: int, before: Place
    ) -> list[ScheduledMessage]:
        asked: Params = {
            "session_id": session_id,
            "status": status,
            "before": before.at,
            "before_id": before.id,
            "limit": limit,
        }
        found = await self.database.read(queries.scheduled_messages.of_session, asked)
        return [shown_rows.scheduled_message(row) for row in found]

    # Deliveries

    async def delivery(self, delivery_id: str) -> Delivery:
        return shown_rows.delivery(
            _one(await self.database.read(queries.deliveries.by_id, {"id": delivery_id}), "delivery")
        )

    async def deliveries(self, session_id: str, limit: int) -> list[Delivery]:
        asked: Params = {"session_id": session_id, "limit": limit}
        return [
            shown_rows.delivery(row) for row in await self.database.read(queries.deliveries.of_session, asked)
        ]

    async def place_of_answer(self, session: Session, turn_id: str) -> dict[str, Any]:
        """What the delivery of a turn's answer will say of its place in the chat."""
        found = await self.database.read(queries.turns.metadata, {"id": turn_id})
        return merged(session.metadata, *(rows.from_text(row["metadata"]) for row in found))

    async def failed_deliveries(self, limit: int) -> list[Delivery]:
        """Of all sessions, the newest first."""
        return [
            shown_rows.delivery(row)
            for row in await self.database.read(queries.deliveries.failed, {"limit": limit})
        ]

    # The invariants

    async def audit(self, *, horizon: int) -> dict[str, list[str]]:
        """The invariants that do not hold, each with the ids it was found broken in. Empty is well."""
        broken: dict[str, list[str]] = {}
        for query in queries.audit:
            params = {"horizon": horizon} if "horizon" in query.parameters else {}
            if found := await self.database.read(query, params):
                broken[query.name.removeprefix("audit.")] = [row["id"] for row in found]
        return broken


def _one(found: Rows, what: str) -> Row:
    if not found:
        raise NotFound(f"there is no such {what}")
    return found[0]


def readable(found: Rows, what: str, read: Callable[[Row], T]) -> list[T]:
    """Less those whose row makes no sense to this version: one of them must not hide the others."""
    records: list[T] = []
    for row in found:
        try:
            records.append(read(row))
        except rows.UNREADABLE as error:
            _log.warning("%s %s cannot be read: %s", what, row["id"], error)
    return records
