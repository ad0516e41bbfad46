"""Sessions: opens, reads, changes and deletes them."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypedDict, Unpack

from segue.errors import BadPolicy, BadSetting, NotFound
from segue.kernel.api.context import OPERATOR, ApiContext, SessionRef
from segue.kernel.api.cost.budgets import (
    SessionBudget,
    check_session_price,
    raise_budget,
    session_budget,
)
from segue.kernel.api.cost.forecasts import all_jobs
from segue.kernel.api.quiet import (
    GivenDigest,
    GivenQuiet,
    default_hours,
    digest_text,
    quiet_text,
    with_hours,
)
from segue.kernel.api.turns import TurnsApi, check_when_busy
from segue.kernel.live.running import CancelReason
from segue.kernel.transactions import lane, news, sessions
from segue.kernel.transactions.idempotency import Request
from segue.kernel.transactions.memory import archive
from segue.kernel.transactions.quiet.hours import send_held
from segue.kernel.transactions.result import Name
from segue.kernel.transactions.sessions import (
    UNSET,
    MaybeBudget,
    MaybeDays,
    MaybePolicy,
    SessionOpened,
    Unset,
)
from segue.model.auto_commit import AutoCommitPolicy
from segue.model.records import NEWEST, Asker, Overview, Owner, PageStart, Session, user_of
from segue.model.settings import check_zone
from segue.model.states import WhenBusy
from segue.model.text_checks import MAX_NAME, check_key, check_text
from segue.store import queries
from segue.store.database import Transaction
from segue.store.rows import core as rows

_PATIENCE_SECONDS = 2.0
"""How long a stopped turn may take to end before its session is deleted without its last message."""


class About(TypedDict, total=False):
    """The fields of a session that users set."""

    title: str | None
    timezone: str | None
    when_busy: WhenBusy | str | None
    metadata: Mapping[str, Any]


class SessionsApi:
    """Conversations, by their key: `kernel.sessions`."""

    def __init__(self, context: ApiContext, turns: TurnsApi) -> None:
        self._context = context
        self._turns = turns

    async def open(
        self,
        key: str,
        *,
        owner: Asker = OPERATOR,
        chat_type: str = "private",
        auto_commit_policy: MaybePolicy = UNSET,
        request: Request | None = None,
        **about: Unpack[About],
    ) -> SessionOpened:
        """Returns the session of a key, and makes it if it is missing.

        The result has `session` and `created`. `title`, `timezone`, `when_busy` and `metadata` apply to a new
        session only. Raises `BadKey`, `BadText`, `BadSetting`.
        """
        context = self._context
        check_key(key)
        _check_about(about)
        if chat_type not in ("private", "group"):
            raise BadSetting(f"a chat is private or group, got {chat_type!r}")
        now = context.clock.ms()
        default = context.settings.auto_commit_policy
        policy = default if auto_commit_policy is UNSET else auto_commit_policy
        work = partial(
            sessions.open_new,
            owner.lookup(key, context.networks),
            key,
            now,
            new_id=context.ids(now),
            policy=policy,
            chat_type=chat_type,
            **about,
        )
        return await context.commit_once(request, work, now, keep=_opened_to_json, again=_opened_from_json)

    async def get(self, key: str, *, owner: Asker = OPERATOR) -> Session:
        """Returns the `Session` of a key. Raises `NotFound`; `AmbiguousKey` when several users have one."""
        return await self._context.session(key, owner)

    async def find(self, key: str, *, owner: Asker = OPERATOR) -> Session | None:
        """Returns the `Session` of a key, or None if there is none. Raises `BadKey`, `AmbiguousKey`."""
        return await self._context.find(key, owner)

    async def by_id(self, session_id: str) -> Session:
        """Returns the `Session` of an id, as records name it, for any owner. Raises `NotFound`."""
        return await self._context.store.session_by_id(session_id)

    async def overview(self, key: SessionRef, *, owner: Asker = OPERATOR) -> Overview:
        """Returns the session's `Overview`. Raises `NotFound`."""
        context = self._context
        session = await context.session(key, owner)
        if not await archive.counts_are_right(context.store, session):
            await context.store.commit(archive.recount, session.id, context.clock.ms())
            context.bell.ring(Name.ARCHIVIST)
        return await self.overview_of(session.id)

    async def overview_of(self, session_id: str) -> Overview:
        """Returns the `Overview` of a session by its id, for any owner. Raises `NotFound`."""
        store = self._context.store
        overview = self._as_read_here(await store.overview(session_id))
        lane = await self._context.lane_of(overview.session)
        overview = with_hours(self._context, overview, lane)
        if lane.id == session_id:
            return overview
        session = replace(overview.session, holder=lane.holder, ready_at=lane.ready_at)
        return replace(overview, session=session, queued=len(await store.queued_turns(lane.id)))

    async def overviews(
        self,
        *,
        owner: Asker = OPERATOR,
        limit: int = 100,
        before: PageStart = NEWEST,
        pending_recall: bool = False,
    ) -> list[Overview]:
        """Returns the owner's sessions with their counts, the most recently active first.

        `before` is the `page_start` of the last one of the previous page. `pending_recall` keeps only the
        sessions that have a pending recall.
        """
        found = await self._context.store.overviews(
            owner, limit=limit, before=before, pending_recall=pending_recall
        )
        seen = []
        lanes: dict[Owner, Session] = {}
        for overview in map(self._as_read_here, found):
            session = overview.session
            if self._context.is_shared(session.key):
                if session.owner not in lanes:
                    lanes[session.owner] = await self._context.lane_of(session)
                session = lanes[session.owner]
            seen.append(with_hours(self._context, overview, session))
        return seen

    def _as_read_here(self, overview: Overview) -> Overview:
        """Without unread messages if they are sent through a channel: they are read there."""
        elsewhere = overview.unread and self._context.is_sent(overview.session.key)
        return replace(overview, unread=0) if elsewhere else overview

    async def update(
        self,
        key: SessionRef,
        *,
        owner: Asker = OPERATOR,
        auto_commit_policy: MaybePolicy | Mapping[str, Any] = UNSET,
        days: MaybeDays = UNSET,
        quiet: GivenQuiet | Unset = UNSET,
        digest: GivenDigest | Unset = UNSET,
        budget: MaybeBudget = UNSET,
        **about: Unpack[About],
    ) -> Session:
        """Changes the given fields of a session.

        None clears a field. `days` is the name of the day set that words about working days mean in it,
        `budget` what its scheduled runs may use in a period. `quiet` are its quiet hours, such as
        `{"from": "22:00", "to": "07:00", "days": "all"}`, and `digest` says when collected answers are
        sent: `{"at": "08:00"}` or `{"every_seconds": 3600}`. In unified mode these two hold for all chats of
        the user. Returns the changed `Session`. Raises `NotFound`, `BadText`, `BadSetting`, `BadPolicy`,
        `UnknownDays`; `PriceUnknown` for a budget in US dollars if the price of the model is not known.
        """
        context = self._context
        _check_about(about)
        if budget is not UNSET:
            check_session_price(context, budget)
        session = await context.session(key, owner)
        policy = None if auto_commit_policy is UNSET else partial(_policy_from, auto_commit_policy)
        hours: dict[str, str | None] = {} if isinstance(quiet, Unset) else {"quiet": quiet_text(quiet)}
        hours |= {} if isinstance(digest, Unset) else {"digest": digest_text(digest)}
        lane = await context.lane_of(session)
        if hours and lane.id != session.id:
            await self._change(lane, **hours)
            hours = {}
        return await self._change(session, policy=policy, days=days, budget=budget, **about, **hours)

    async def _change(self, session: Session, **fields: Any) -> Session:
        context = self._context
        now, default = context.clock.ms(), default_hours(context)
        changed = await context.store.commit(sessions.change, session, now, default=default, **fields)
        context.bell.ring(Name.ARCHIVIST, Name.TIMER, Name.COURIER)
        return changed

    def has_push(self, session: Session) -> bool:
        """Returns whether a channel sends the messages of a session: only then an answer can wait."""
        return self._context.is_sent(session.key)

    async def send_held(self, key: SessionRef, *, owner: Asker = OPERATOR) -> int:
        """Sends the answers that wait in a session now, as one message. Returns how many there are.

        Raises `NotFound`.
        """
        context = self._context
        session = await context.session(key, owner)
        return context.announce(await context.store.commit(send_held, session, context.clock.ms()))

    async def budget(self, key: SessionRef, *, owner: Asker = OPERATOR) -> SessionBudget:
        """Returns what the session and those of its jobs that have a budget have left. Raises `NotFound`."""
        session = await self._context.session(key, owner)
        return await session_budget(self._context, session, await all_jobs(self._context, session))

    async def raise_budget(self, key: SessionRef, *, owner: Asker = OPERATOR) -> SessionBudget:
        """Gives the session's budget as much again until its period ends. Raises `Conflict` without one."""
        session = await self._context.session(key, owner)
        await raise_budget(self._context, session, None)
        return await self.budget(session)

    async def suggest_zone(self, key: str, timezone: str, *, owner: Asker = OPERATOR) -> Session:
        """Sets the zone of a user's device in a session that has no zone yet; an existing zone stays.

        Makes a missing session. Returns the `Session`. Raises `BadKey`, `BadSetting`.
        """
        context = self._context
        check_zone(timezone)
        session = await self.find(key, owner=owner) or (await self.open(key, owner=owner)).session
        if session.timezone is not None or user_of(key, context.networks) is not None:
            return session
        return await context.store.commit(sessions.suggest_zone, session, timezone, context.clock.ms())

    def zone_in(self, session: Session | None, given: str | None = None) -> str | None:
        """Returns the zone for a time that names none: `given`, else the session's, else `Settings.timezone`.

        Pass None for a session that does not exist yet. None as the result means that no zone is known, and
        a clock time is refused. Raises `BadSetting` if `given` is not a zone.
        """
        return self._context.zone_in(session, given)

    async def mark_read(self, key: SessionRef, seq: int, *, owner: Asker = OPERATOR) -> int:
        """Marks the messages up to the number `seq` as read by the session's owner, on all of their devices.

        Returns how many are unread. An operator who looks at the session of another user marks nothing.
        Raises `NotFound`.
        """
        context = self._context
        session = await context.session(key, owner)
        if session.owner == owner.own and await context.store.commit(news.mark_read, session.id, seq):
            context.hub.summary_changed(session.id)
        return (await self.overview_of(session.id)).unread

    async def lane_of(self, session: Session) -> Session:
        """Returns the session that a session's turns run in: itself, or in unified mode the common one."""
        return await self._context.lane_of(session)

    async def delete(self, key: SessionRef, *, with_jobs: bool = False, owner: Asker = OPERATOR) -> None:
        """Deletes a session with everything in it; a running turn is stopped.

        Raises `SessionHasJobs` when the session has active or paused jobs of kind `cron`, unless `with_jobs`
        is set; jobs of other kinds are deleted without this check. Raises `NotFound`.
        """
        context = self._context
        session = await context.session(key, owner)
        await context.store.commit(sessions.check_jobs, session, with_jobs=with_jobs)
        await self._stop_first(session)
        left = await context.store.commit(
            sessions.delete,
            session,
            with_jobs=with_jobs,
            now=context.clock.ms(),
            shared=context.is_shared(session.key),
        )
        context.announce(left)
        context.hub.look_again()  # callers that wait for one of its turns now get NotFound

    async def list(self, *, owner: Asker = OPERATOR, limit: int = 100) -> list[Session]:
        """Returns the owner's sessions, the most recently active first."""
        return await self._context.store.sessions(owner, limit)

    async def _stop_first(self, session: Session) -> None:
        context = self._context
        lane_session = await context.lane_of(session)
        running = await context.store.running_turn(lane_session.id)
        if running is None or session.id not in (running.session_id, running.via_id):
            return
        if running.run_id and lane_session.id != session.id:
            run = await context.store.run(running.run_id)
            if run.session_id == lane_session.id:  # a job of all chats: it answers in another one
                return
        await context.store.commit(lane.stop, lane_session.id)
        context.bell.ring(Name.KEEPER)
        if running_here := context.turns.get(running.id):
            running_here.cancel(CancelReason.STOPPED, context.clock.steady_ms())
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                await self._turns.wait(running.id, owner=session.owner)
        except TimeoutError:  # its worker is lost or its agent ignores the stop; the fence rejects its writes
            return


def _policy_from(
    given: AutoCommitPolicy | Mapping[str, Any] | None, stored: AutoCommitPolicy | None
) -> AutoCommitPolicy | None:
    if given is None or isinstance(given, AutoCommitPolicy):
        return given
    for name, value in given.items():
        if value is None:
            raise BadPolicy(
                f"auto_commit_policy.{name} cannot be null; leave it out, or say auto_commit_policy=null"
            )
    return AutoCommitPolicy.from_json({**(stored.to_json() if stored else {}), **given})


def _check_about(about: About) -> None:
    if about.get("title") is not None:
        check_text(about["title"], "a title", longest=MAX_NAME)
    if about.get("timezone") is not None:
        check_zone(about["timezone"])
    check_when_busy(about.get("when_busy"))


# The result as it is stored under an idempotency key, and read back for a repeated request.


def _opened_to_json(opened: SessionOpened) -> Mapping[str, Any]:
    return {"session_id": opened.session.id, "created": opened.created}


def _opened_from_json(data: Mapping[str, Any]) -> Transaction[SessionOpened]:
    found = yield queries.sessions.by_id, {"id": data["session_id"]}
    if not found:
        raise NotFound("the session that this request opened has been deleted since")
    return SessionOpened(rows.session(found[0]), data["created"])
