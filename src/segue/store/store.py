"""Store: commits transactions and reads records. Reads by id raise `NotFound`."""

import logging
from collections.abc import Callable
from datetime import date
from typing import Any, ParamSpec, TypeVar

from segue.errors import AmbiguousKey, NotFound
from segue.model.conditions.check import MOST_EVENTS, UserMessage
from segue.model.cost.past_runs import MOST_PAST_RUNS, PastRun, PastRuns, past_runs
from segue.model.files import File
from segue.model.records import (
    NEWEST,
    Asker,
    Delivery,
    Event,
    Job,
    LaneNow,
    Lookup,
    Overview,
    Owner,
    PageStart,
    PushSubscription,
    Recall,
    Run,
    ScheduledMessage,
    Session,
    Turn,
    merged,
)
from segue.model.states import TurnState
from segue.store import queries
from segue.store.database import Params, Row, Rows, Transaction, Value
from segue.store.queues import Queues, number
from segue.store.rows import core as rows
from segue.store.rows import overviews
from segue.times.days.day_sets import WARNING, DaySet, stored_day_set

P = ParamSpec("P")
T = TypeVar("T")

_log = logging.getLogger(__name__)

_AFTER_ALL_IDS = "g"
"""Ids are hexadecimal."""


class Store(Queues):
    async def commit(self, transaction: Callable[P, Transaction[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Commit one transaction and return its result. It may be driven more than once."""
        return await self.database.run(lambda: transaction(*args, **kwargs))

    async def commit_alone(
        self, transaction: Callable[P, Transaction[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """`commit` for a transaction with large values, which must not hold up those of others."""
        return await self.database.run_alone(lambda: transaction(*args, **kwargs))

    # Sessions

    async def session(self, owner: Owner, key: str) -> Session | None:
        params: Params = {"account": owner.account, "user_id": owner.user, "key": key}
        result = await self.database.read(queries.sessions.by_key, params)
        return rows.session(result[0]) if result else None

    async def session_found(self, lookup: Lookup, key: str) -> Session | None:
        """The session that a caller means by a key. Raises `AmbiguousKey` when several users have one."""
        if not lookup.whole_account:
            return await self.session(lookup.owner, key)
        account, user = lookup.first
        params: Params = {"account": account, "user_id": user, "key": key}
        result = await self.database.read(queries.sessions.in_account, params)
        if result:
            return rows.session(result[0])
        others = await self.database.read(queries.directory.users_of, {"account": account, "key": key})
        if len(others) > 1:
            raise AmbiguousKey(key, [row["user_id"] for row in others])
        return None

    async def session_by_id(self, session_id: str) -> Session:
        return rows.session(
            _one(await self.database.read(queries.sessions.by_id, {"id": session_id}), "session")
        )

    async def sessions(self, asker: Asker, limit: int) -> list[Session]:
        params: dict[str, Value] = {"account": asker.account, "limit": limit}
        query = queries.sessions.newest_in_account
        if isinstance(asker, Owner):
            query, params = queries.sessions.newest_first, {**params, "user_id": asker.user}
        return [rows.session(row) for row in await self.database.read(query, params)]

    async def overview(self, session_id: str) -> Overview:
        result = await self.database.read(queries.sessions.overview, {"id": session_id})
        return overviews.overview(_one(result, "session"))

    async def overviews(
        self, asker: Asker, *, limit: int, before: PageStart, pending_recall: bool = False
    ) -> list[Overview]:
        params: dict[str, Value] = {
            "account": asker.account,
            "before": before.at,
            "before_id": before.id,
            "pending_recall": int(pending_recall),
            "limit": limit,
        }
        query = queries.sessions.overviews_in_account
        if isinstance(asker, Owner):
            query, params = queries.sessions.overviews, {**params, "user_id": asker.user}
        return [overviews.overview(row) for row in await self.database.read(query, params)]

    async def live_part(self, session: Session) -> tuple[int, int]:
        """The messages of a session that are not archived, and their tokens, counted in its log."""
        params: Params = {"id": session.id, "after": session.live.archived_seq}
        result = await self.database.read(queries.events.live_part, params)
        return result[0]["messages"], result[0]["tokens"]

    async def push_subscriptions(self, owner: Owner) -> list[PushSubscription]:
        """The newest first."""
        params: Params = {"account": owner.account, "user_id": owner.user}
        return [
            rows.push_subscription(row) for row in await self.database.read(queries.push.of_owner, params)
        ]

    # Files

    async def file(self, file_id: str) -> tuple[File, str]:
        """The file, and the id of its session."""
        row = _one(await self.database.read(queries.files.by_id, {"id": file_id}), "file")
        return rows.file(row), row["session_id"]

    async def file_content(self, file_id: str) -> bytes:
        row = _one(await self.database.read(queries.files.content, {"id": file_id}), "file")
        return bytes(row["content"])

    # Turns and the log

    async def turn(self, turn_id: str) -> Turn:
        return rows.turn(_one(await self.database.read(queries.turns.by_id, {"id": turn_id}), "turn"))

    async def running_turn(self, session_id: str) -> Turn | None:
        result = await self.database.read(queries.turns.running_in, {"session_id": session_id})
        return rows.turn(result[0]) if result else None

    async def turns(self, session_id: str, *, via_id: str, limit: int, before: str | None) -> list[Turn]:
        """The turns of a session that came through a chat, newest first, before the one of an id."""
        params: Params = {
            "session_id": session_id,
            "via_id": via_id,
            "limit": limit,
            "before": before or _AFTER_ALL_IDS,
        }
        result = await self.database.read(queries.turns.of_session, params)
        return [rows.turn(row) for row in result]

    async def queued_turns(self, session_id: str) -> list[Turn]:
        result = await self.database.read(queries.turns.queued_in, {"session_id": session_id})
        return [rows.turn(row) for row in result]

    async def turns_before(self, turn: Turn, limit: int) -> list[Turn]:
        """The turns that ran in its session while it waited to start."""
        if turn.started_at is None:
            return []
        params: Params = {
            "session_id": turn.session_id,
            "id": turn.id,
            "since": turn.queued_at,
            "until": turn.started_at,
            "limit": limit,
        }
        return [rows.turn(row) for row in await self.database.read(queries.turns.between, params)]

    async def lane_now(self, session_id: str) -> LaneNow:
        """The turns of a session that have not ended, and the number of running turns in all sessions."""
        result = await self.database.read(queries.turns.lane_now, {"session_id": session_id})
        turns = [rows.turn(row) for row in result if row["id"] is not None]
        return LaneNow(
            running=next((turn for turn in turns if turn.state is TurnState.RUNNING), None),
            queued=[turn for turn in turns if turn.state is TurnState.QUEUED],
            at_work=result[0]["at_work"],
        )

    async def turns_to_stop(self, holder: str) -> list[str]:
        return [row["id"] for row in await self.database.read(queries.turns.to_stop, {"holder": holder})]

    async def events(self, session_id: str, *, after: int, limit: int) -> list[Event]:
        params: Params = {"session_id": session_id, "after": after, "limit": limit}
        return [rows.event(row) for row in await self.database.read(queries.events.after, params)]

    async def messages(self, session_id: str, *, after: int, limit: int) -> list[Event]:
        params: Params = {"session_id": session_id, "after": after, "limit": limit}
        return [
            rows.event_with_delivery(row)
            for row in await self.database.read(queries.events.messages_after, params)
        ]

    async def told(self, session_id: str, *, before: int, limit: int) -> list[Event]:
        """The newest events shown to a reader of the conversation, in the order of the log."""
        params: Params = {"session_id": session_id, "before": before, "limit": limit}
        result = await self.database.read(queries.events.told_before, params)
        return [rows.event_with_delivery(row) for row in reversed(result)]

    async def start_of_turn(self, session_id: str, turn_id: str) -> int | None:
        """The number of the event with which its newest attempt began."""
        params: Params = {"session_id": session_id, "turn_id": turn_id}
        return number(await self.database.read(queries.events.start_of_turn, params), "seq")

    async def written_in_turn(self, turn: Turn) -> list[Event]:
        """What the user wrote in a turn: its message, and those that joined it."""
        params: Params = {"session_id": turn.session_id, "turn_id": turn.id}
        return [rows.event(row) for row in await self.database.read(queries.events.of_user_in_turn, params)]

    async def replaced_by(self, turn_id: str) -> str | None:
        """The turn that has replaced a turn."""
        found = await self.database.read(queries.replaced_turns.by_turn, {"turn_id": turn_id})
        return found[0]["replaced_by"] if found else None

    async def newest_events(self, session_id: str, *, before: int, limit: int) -> list[Event]:
        """The newest messages, turn starts and turn ends before a number, in the order of the log."""
        params: Params = {"session_id": session_id, "before": before, "limit": limit}
        result = await self.database.read(queries.events.newest, params)
        return [rows.event_with_replacement(row) for row in reversed(result)]

    async def tool_events(self, session_id: str, *, after: int, before: int) -> list[Event]:
        """The beginnings and ends of tool calls between two numbers."""
        params: Params = {"session_id": session_id, "after": after, "before": before}
        return [rows.event(row) for row in await self.database.read(queries.events.of_tools, params)]

    async def question(self, session_id: str, now: int) -> tuple[str, int] | None:
        """The question that a session waits for an answer to, and until when at the latest."""
        params: Params = {"session_id": session_id, "now": now}
        found = await self.database.read(queries.agent_states.question, params)
        return (rows.from_text(found[0]["waiting"])["question"], found[0]["waiting_until"]) if found else None

    async def held_until(self, turn_id: str) -> int | None:
        """Until when the answer of a turn waits to be sent."""
        return number(
            await self.database.read(queries.deliveries.held_until, {"turn_id": turn_id}), "held_until"
        )

    async def users_said(self, session_id: str, *, since: int, until: int) -> list[UserMessage]:
        """What users said in a session between two moments, newest first."""
        params: Params = {"session_id": session_id, "since": since, "limit": MOST_EVENTS}
        found = await self.database.read(queries.events.users_said, params)
        return [rows.user_message(row) for row in found if row["at"] <= until]

    # Jobs

    async def job(self, job_id: str) -> Job:
        return rows.job(_one(await self.database.read(queries.jobs.by_id, {"id": job_id}), "job"))

    async def jobs(
        self, session_id: str, *, kind: str | None, limit: int, before: PageStart, ended: bool
    ) -> list[Job]:
        params: Params = {
            "session_id": session_id,
            "kind": kind or "",
            "ended": int(ended),
            "before": before.at,
            "before_id": before.id,
            "limit": limit,
        }
        return readable(await self.database.read(queries.jobs.of_session, params), "job", rows.job)

    async def jobs_at_work(self, session_id: str) -> list[str]:
        """The ids of jobs that have a queued or running run."""
        return [
            row["id"] for row in await self.database.read(queries.jobs.at_work, {"session_id": session_id})
        ]

    async def protected_jobs(self, owner: Owner, limit: int) -> list[Job]:
        params: Params = {"account": owner.account, "user_id": owner.user, "limit": limit}
        return readable(await self.database.read(queries.jobs.protected, params), "job", rows.job)

    # Calendars of sessions

    async def calendar_shared_at(self, session_id: str) -> int | None:
        found = await self.database.read(queries.calendars.of_session, {"session_id": session_id})
        return number(found, "created_at")

    async def session_of_calendar(self, token_hash: str) -> str | None:
        """The id of the session whose calendar is at an address."""
        found = await self.database.read(queries.calendars.by_token, {"token_hash": token_hash})
        return found[0]["session_id"] if found else None

    # Day sets of an account

    async def day_sets(self, account: str) -> list[DaySet]:
        found = await self.database.read(queries.day_sets.of_account, {"account": account})
        return [stored_day_set(row["content"]) for row in found]

    async def day_set(self, account: str, name: str) -> tuple[DaySet, int] | None:
        """The set, and when it was last changed."""
        found = await self.database.read(queries.day_sets.by_name, {"account": account, "name": name})
        return (stored_day_set(found[0]["content"]), found[0]["changed_at"]) if found else None

    async def jobs_behind_days(self, after: str, limit: int) -> list[tuple[str, DaySet]]:
        """The ids of jobs that carry an old version of their day set, and the new version."""
        found = await self.database.read(queries.day_sets.behind, {"after": after, "limit": limit})
        return [(row["id"], stored_day_set(row["content"])) for row in found]

    async def session_days(self, session_id: str) -> str | None:
        """The name of the day set that words about working days mean in a session."""
        found = await self.database.read(queries.day_sets.of_session, {"session_id": session_id})
        return found[0]["day_set"] if found else None

    async def ending_day_sets(self, today: date) -> list[tuple[str, DaySet]]:
        """The sets of accounts that end soon or have ended, with their account."""
        last = (today + WARNING).isoformat()
        found = await self.database.read(queries.day_sets.ending, {"last": last})
        return [(row["account"], stored_day_set(row["content"])) for row in found]

    async def jobs_to_warn(self, account: str | None, name: str, notice: str, limit: int) -> Rows:
        """Of each session that uses a day set and was not told this about it, a job: its id and its name."""
        params: Params = {"account": account, "name": name, "notice": notice, "limit": limit}
        return await self.database.read(queries.day_sets.to_warn, params)

    # Runs

    async def run(self, run_id: str) -> Run:
        return overviews.run(_one(await self.database.read(queries.runs.by_id, {"id": run_id}), "run"))

    async def runs_of_job(self, job_id: str, limit: int, before: int = NEWEST.at) -> list[Run]:
        """Runs of slots before that moment, newest first."""
        params: Params = {"job_id": job_id, "before": before, "limit": limit}
        result = await self.database.read(queries.runs.of_job, params)
        return [overviews.run(row) for row in result]

    async def runs_of_session(self, session_id: str, limit: int, before: PageStart = NEWEST) -> list[Run]:
        params: Params = {
            "session_id": session_id,
            "before": before.at,
            "before_id": before.id,
            "limit": limit,
        }
        return [overviews.run(row) for row in await self.database.read(queries.runs.of_session, params)]

    async def past_runs(self, job_id: str) -> PastRuns:
        """What the newest runs of a job took and used."""
        params: Params = {"job_id": job_id, "limit": MOST_PAST_RUNS}
        found = await self.database.read(queries.runs.lengths_and_usage, params)
        return past_runs(
            [PastRun(row["finished_at"] - row["started_at"], rows.from_text(row["usage"])) for row in found]
        )

    # Recalls

    async def recall(self, job_id: str) -> Recall:
        return overviews.recall(
            _one(await self.database.read(queries.recalls.by_id, {"id": job_id}), "recall")
        )

    async def current_recall(self, session_id: str) -> Recall | None:
        """The next recall, else one that waits in the lane, else a running one."""
        result = await self.database.read(queries.recalls.current, {"session_id": session_id})
        return next(iter(readable(result, "recall", overviews.recall)), None)

    async def job_waits(self, job_id: str) -> bool:
        """Whether a run of the job waits in a lane."""
        return bool(await self.database.read(queries.turns.queued_of_job, {"job_id": job_id}))

    async def recalls(self, session_id: str, limit: int, before: PageStart = NEWEST) -> list[Recall]:
        params: Params = {
            "session_id": session_id,
            "before": before.at,
            "before_id": before.id,
            "limit": limit,
        }
        return readable(
            await self.database.read(queries.recalls.of_session, params), "recall", overviews.recall
        )

    # Scheduled messages

    async def scheduled_message(self, job_id: str) -> ScheduledMessage:
        result = await self.database.read(queries.scheduled_messages.by_id, {"id": job_id})
        return overviews.scheduled_message(_one(result, "scheduled message"))

    async def scheduled_messages(
        self, session_id: str, *, status: str | None, limit: int, before: PageStart
    ) -> list[ScheduledMessage]:
        params: Params = {
            "session_id": session_id,
            "status": status,
            "before": before.at,
            "before_id": before.id,
            "limit": limit,
        }
        result = await self.database.read(queries.scheduled_messages.of_session, params)
        return [overviews.scheduled_message(row) for row in result]

    # Deliveries

    async def delivery(self, delivery_id: str) -> Delivery:
        return overviews.delivery(
            _one(await self.database.read(queries.deliveries.by_id, {"id": delivery_id}), "delivery")
        )

    async def deliveries(self, session_id: str, limit: int) -> list[Delivery]:
        params: Params = {"session_id": session_id, "limit": limit}
        return [
            overviews.delivery(row) for row in await self.database.read(queries.deliveries.of_session, params)
        ]

    async def place_of_answer(self, session: Session, turn_id: str) -> dict[str, Any]:
        """The channel metadata with which a turn's answer will be delivered (which thread, reply to what)."""
        result = await self.database.read(queries.turns.metadata, {"id": turn_id})
        return merged(session.metadata, *(rows.from_text(row["metadata"]) for row in result))

    async def failed_deliveries(self, limit: int) -> list[Delivery]:
        """Failed deliveries of all sessions, newest first."""
        return [
            overviews.delivery(row)
            for row in await self.database.read(queries.deliveries.failed, {"limit": limit})
        ]

    # Invariants

    async def audit(self, *, horizon: int) -> dict[str, list[str]]:
        """The invariants that do not hold, each with the ids that break it. Empty when all hold."""
        broken: dict[str, list[str]] = {}
        for query in queries.audit:
            params = {"horizon": horizon} if "horizon" in query.parameters else {}
            if result := await self.database.read(query, params):
                broken[query.name.removeprefix("audit.")] = [row["id"] for row in result]
        return broken


def _one(result: Rows, what: str) -> Row:
    if not result:
        raise NotFound(f"there is no such {what}")
    return result[0]


def readable(result: Rows, what: str, read: Callable[[Row], T]) -> list[T]:
    """The records of all readable rows. A row that this version cannot read is logged and left out."""
    records: list[T] = []
    for row in result:
        try:
            records.append(read(row))
        except rows.UNREADABLE as error:
            _log.warning("unreadable row left out: %s %s (%s)", what, row["id"], error)
    return records
