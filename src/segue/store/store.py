"""Store: commits transactions and reads records. Reads by id raise `NotFound`."""

from collections.abc import Callable
from datetime import date
from operator import itemgetter
from typing import Any, ParamSpec

from segue.errors import AmbiguousKey
from segue.model.conditions.check import MOST_EVENTS, UserMessage
from segue.model.cost.past_runs import MOST_PAST_RUNS, PastRuns, past_runs
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
from segue.store.database import Params, Row, Rows, T, Transaction, Value
from segue.store.queues import Queues
from segue.store.reads import owned_by, page
from segue.store.rows import core as rows
from segue.store.rows import overviews
from segue.times.days.day_sets import WARNING, DaySet, stored_day_set

P = ParamSpec("P")

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
        return await self._first(rows.session, queries.sessions.by_key, **owned_by(owner), key=key)

    async def find_session(self, lookup: Lookup, key: str) -> Session | None:
        """The session that a caller means by a key. Raises `AmbiguousKey` when several users have one."""
        if not lookup.whole_account:
            return await self.session(lookup.owner, key)
        query, owner = queries.sessions.in_account, lookup.first
        if (found := await self._first(rows.session, query, **owned_by(owner), key=key)) is not None:
            return found
        users_of = queries.directory.users_of
        others = await self._all(itemgetter("user_id"), users_of, account=owner.account, key=key)
        if len(others) > 1:
            raise AmbiguousKey(key, others)
        return None

    async def session_by_id(self, session_id: str) -> Session:
        return await self._one("such session", rows.session, queries.sessions.by_id, id=session_id)

    async def sessions(self, asker: Asker, limit: int) -> list[Session]:
        of_user, of_all = queries.sessions.newest_first, queries.sessions.newest_in_account
        query = of_user if isinstance(asker, Owner) else of_all
        return await self._all(rows.session, query, **owned_by(asker.own), limit=limit)

    async def overview(self, session_id: str) -> Overview:
        return await self._one("such session", overviews.overview, queries.sessions.overview, id=session_id)

    async def overviews(
        self, asker: Asker, *, limit: int, before: PageStart, pending_recall: bool = False
    ) -> list[Overview]:
        of_user, of_all = queries.sessions.overviews, queries.sessions.overviews_in_account
        return await self._all(
            overviews.overview,
            of_user if isinstance(asker, Owner) else of_all,
            **owned_by(asker.own),
            **page(before),
            pending_recall=int(pending_recall),
            limit=limit,
        )

    async def live_part(self, session: Session) -> tuple[int, int]:
        """The messages of a session that are not archived, and their tokens, counted in its log."""
        params: Params = {"id": session.id, "after": session.live.archived_seq}
        (counted,) = await self.database.read(queries.events.live_part, params)
        return counted["messages"], counted["tokens"]

    async def push_subscriptions(self, owner: Owner) -> list[PushSubscription]:
        """The newest first."""
        return await self._all(rows.push_subscription, queries.push.of_owner, **owned_by(owner))

    # Files

    async def file(self, file_id: str) -> tuple[File, str]:
        """The file, and the id of its session."""
        return await self._one(
            "such file", lambda row: (rows.file(row), row["session_id"]), queries.files.by_id, id=file_id
        )

    async def file_content(self, file_id: str) -> bytes:
        return bytes(await self._one("such file", itemgetter("content"), queries.files.content, id=file_id))

    # Turns and the log

    async def turn(self, turn_id: str) -> Turn:
        return await self._one("such turn", rows.turn, queries.turns.by_id, id=turn_id)

    async def running_turn(self, session_id: str) -> Turn | None:
        return await self._first(rows.turn, queries.turns.running_in, session_id=session_id)

    async def turns(self, session_id: str, *, via_id: str, limit: int, before: str | None) -> list[Turn]:
        """The turns of a session that came through a chat, newest first, before the one of an id."""
        return await self._all(
            rows.turn,
            queries.turns.of_session,
            session_id=session_id,
            via_id=via_id,
            limit=limit,
            before=before or _AFTER_ALL_IDS,
        )

    async def queued_turns(self, session_id: str) -> list[Turn]:
        return await self._all(rows.turn, queries.turns.queued_in, session_id=session_id)

    async def turns_before(self, turn: Turn, limit: int) -> list[Turn]:
        """The turns that ran in its session while it waited to start."""
        if turn.started_at is None:
            return []
        return await self._all(
            rows.turn,
            queries.turns.between,
            session_id=turn.session_id,
            id=turn.id,
            since=turn.queued_at,
            until=turn.started_at,
            limit=limit,
        )

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
        return await self._all(itemgetter("id"), queries.turns.to_stop, holder=holder)

    async def events(self, session_id: str, *, after: int, limit: int) -> list[Event]:
        query = queries.events.after
        return await self._all(rows.event, query, session_id=session_id, after=after, limit=limit)

    async def messages(self, session_id: str, *, after: int, limit: int) -> list[Event]:
        read, query = rows.event_with_delivery, queries.events.messages_after
        return await self._all(read, query, session_id=session_id, after=after, limit=limit)

    async def told(self, session_id: str, *, before: int, limit: int) -> list[Event]:
        """The newest events shown to a reader of the conversation, in the order of the log."""
        read, query = rows.event_with_delivery, queries.events.told_before
        return (await self._all(read, query, session_id=session_id, before=before, limit=limit))[::-1]

    async def start_of_turn(self, session_id: str, turn_id: str) -> int | None:
        """The number of the event with which its newest attempt began."""
        query = queries.events.start_of_turn
        return await self._first(itemgetter("seq"), query, session_id=session_id, turn_id=turn_id)

    async def written_in_turn(self, turn: Turn) -> list[Event]:
        """What the user wrote in a turn: its message, and those that joined it."""
        query = queries.events.of_user_in_turn
        return await self._all(rows.event, query, session_id=turn.session_id, turn_id=turn.id)

    async def replaced_by(self, turn_id: str) -> str | None:
        """The turn that has replaced a turn."""
        return await self._first(itemgetter("replaced_by"), queries.replaced_turns.by_turn, turn_id=turn_id)

    async def newest_events(self, session_id: str, *, before: int, limit: int, after: int = 0) -> list[Event]:
        """The newest messages, turn starts and turn ends between two numbers, in the order of the log."""
        read, query = rows.event_with_replacement, queries.events.newest
        bounds: dict[str, Value] = {"after": after, "before": before, "limit": limit}
        return (await self._all(read, query, session_id=session_id, **bounds))[::-1]

    async def tool_events(self, session_id: str, *, after: int, before: int) -> list[Event]:
        """The beginnings and ends of tool calls between two numbers."""
        query = queries.events.of_tools
        return await self._all(rows.event, query, session_id=session_id, after=after, before=before)

    async def question(self, session_id: str, now: int) -> tuple[str, int] | None:
        """The question that a session waits for an answer to, and until when at the latest."""
        return await self._first(
            lambda row: (rows.from_text(row["waiting"])["question"], row["waiting_until"]),
            queries.agent_states.question,
            session_id=session_id,
            now=now,
        )

    async def held_until(self, turn_id: str) -> int | None:
        """When the held answer of a turn is to be sent."""
        return await self._first(itemgetter("held_until"), queries.deliveries.held_until, turn_id=turn_id)

    async def users_said(self, session_id: str, *, since: int, until: int) -> list[UserMessage]:
        """What users said in a session between two moments, newest first."""
        params: Params = {"session_id": session_id, "since": since, "limit": MOST_EVENTS}
        found = await self.database.read(queries.events.users_said, params)
        return [rows.user_message(row) for row in found if row["at"] <= until]

    # Jobs

    async def job(self, job_id: str) -> Job:
        return await self._one("such job", rows.job, queries.jobs.by_id, id=job_id)

    async def jobs(
        self, session_id: str, *, kind: str | None, limit: int, before: PageStart, ended: bool
    ) -> list[Job]:
        return await self._readable(
            "job",
            rows.job,
            queries.jobs.of_session,
            **page(before),
            session_id=session_id,
            kind=kind or "",
            ended=int(ended),
            limit=limit,
        )

    async def jobs_at_work(self, session_id: str) -> list[str]:
        """The ids of jobs that have a queued or running run."""
        return await self._all(itemgetter("id"), queries.jobs.at_work, session_id=session_id)

    async def protected_jobs(self, owner: Owner, limit: int) -> list[Job]:
        query = queries.jobs.protected
        return await self._readable("job", rows.job, query, **owned_by(owner), limit=limit)

    # Calendars of sessions

    async def calendar_shared_at(self, session_id: str) -> int | None:
        query = queries.calendars.of_session
        return await self._first(itemgetter("created_at"), query, session_id=session_id)

    async def session_of_calendar(self, token_hash: str) -> str | None:
        """The id of the session whose calendar is at an address."""
        query = queries.calendars.by_token
        return await self._first(itemgetter("session_id"), query, token_hash=token_hash)

    # Day sets of an account

    async def day_sets(self, account: str) -> list[DaySet]:
        return await self._all(_days, queries.day_sets.of_account, account=account)

    async def day_set(self, account: str, name: str) -> tuple[DaySet, int] | None:
        """The set, and when it was last changed."""
        return await self._first(
            lambda row: (_days(row), row["changed_at"]), queries.day_sets.by_name, account=account, name=name
        )

    async def jobs_behind_days(self, after: str, limit: int) -> list[tuple[str, DaySet]]:
        """The ids of jobs that carry an old version of their day set, and the new version."""
        return await self._all(
            lambda row: (row["id"], _days(row)), queries.day_sets.behind, after=after, limit=limit
        )

    async def session_days(self, session_id: str) -> str | None:
        """The name of the day set that words about working days mean in a session."""
        return await self._first(itemgetter("day_set"), queries.day_sets.of_session, session_id=session_id)

    async def ending_day_sets(self, today: date) -> list[tuple[str, DaySet]]:
        """The sets of accounts that end soon or have ended, with their account."""
        last = (today + WARNING).isoformat()
        return await self._all(lambda row: (row["account"], _days(row)), queries.day_sets.ending, last=last)

    async def jobs_to_warn(self, account: str | None, name: str, notice: str, limit: int) -> Rows:
        """One job (id, name) for each session that uses the set and has not had this notice."""
        params: Params = {"account": account, "name": name, "notice": notice, "limit": limit}
        return await self.database.read(queries.day_sets.to_warn, params)

    # Runs

    async def run(self, run_id: str) -> Run:
        return await self._one("such run", overviews.run, queries.runs.by_id, id=run_id)

    async def runs_of_job(self, job_id: str, limit: int, before: int = NEWEST.at) -> list[Run]:
        """Runs of slots before that moment, newest first."""
        return await self._all(overviews.run, queries.runs.of_job, job_id=job_id, before=before, limit=limit)

    async def runs_of_session(self, session_id: str, limit: int, before: PageStart = NEWEST) -> list[Run]:
        query = queries.runs.of_session
        return await self._all(overviews.run, query, session_id=session_id, **page(before), limit=limit)

    async def past_runs(self, job_id: str) -> PastRuns:
        """What the newest runs of a job took and used."""
        query = queries.runs.lengths_and_usage
        return past_runs(await self._all(overviews.past_run, query, job_id=job_id, limit=MOST_PAST_RUNS))

    # Recalls

    async def recall(self, job_id: str) -> Recall:
        return await self._one("such recall", overviews.recall, queries.recalls.by_id, id=job_id)

    async def current_recall(self, session_id: str) -> Recall | None:
        """The next recall, else one that waits in the lane, else a running one."""
        query = queries.recalls.current
        found = await self._readable("recall", overviews.recall, query, session_id=session_id)
        return next(iter(found), None)

    async def job_waits(self, job_id: str) -> bool:
        """Whether a run of the job waits in a lane."""
        return bool(await self.database.read(queries.turns.queued_of_job, {"job_id": job_id}))

    async def recalls(self, session_id: str, limit: int, before: PageStart = NEWEST) -> list[Recall]:
        read, query = overviews.recall, queries.recalls.of_session
        return await self._readable("recall", read, query, session_id=session_id, **page(before), limit=limit)

    # Scheduled messages

    async def scheduled_message(self, job_id: str) -> ScheduledMessage:
        read, query = overviews.scheduled_message, queries.scheduled_messages.by_id
        return await self._one("such scheduled message", read, query, id=job_id)

    async def scheduled_messages(
        self, session_id: str, *, status: str | None, limit: int, before: PageStart
    ) -> list[ScheduledMessage]:
        return await self._all(
            overviews.scheduled_message,
            queries.scheduled_messages.of_session,
            **page(before),
            session_id=session_id,
            status=status,
            limit=limit,
        )

    # Deliveries

    async def deliveries(self, session_id: str, limit: int) -> list[Delivery]:
        query = queries.deliveries.of_session
        return await self._all(overviews.delivery, query, session_id=session_id, limit=limit)

    async def place_of_answer(self, session: Session, turn_id: str) -> dict[str, Any]:
        """The channel metadata with which a turn's answer will be delivered (which thread, reply to what)."""
        result = await self.database.read(queries.turns.metadata, {"id": turn_id})
        return merged(session.metadata, *(rows.from_text(row["metadata"]) for row in result))

    async def failed_deliveries(self, limit: int) -> list[Delivery]:
        """Failed deliveries of all sessions, newest first."""
        return await self._all(overviews.delivery, queries.deliveries.failed, limit=limit)

    # Invariants

    async def audit(self, *, horizon: int) -> dict[str, list[str]]:
        """The invariants that do not hold, each with the ids that break it. Empty when all hold."""
        broken: dict[str, list[str]] = {}
        for query in queries.audit:
            if ids := await self._all(itemgetter("id"), query, horizon=horizon):
                broken[query.name.removeprefix("audit.")] = ids
        return broken


def _days(row: Row) -> DaySet:
    return stored_day_set(row["content"])
