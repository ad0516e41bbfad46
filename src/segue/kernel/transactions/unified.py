"""Unified mode: the chats of a user share one conversation, `unified:default`.

A turn then has two sessions. It *runs in* the common one, which has the lane, the memory and the log; it came
*through* a chat, by which it is delivered. Whether there are two is decided where a message or a due job
comes in (`lane_id`), and both are passed on as one `Route`. `session_log` copies the turn's events from the
common log into the chat's, with the chat's own numbers: a chat's log shows what happened in that chat, the
common log everything. Copies never cause archiving: messages are archived once, in the common session.

Invariants
  - the common session's row is locked before a chat's
  - where a turn runs is decided when it is admitted: changing the mode moves no turn
"""

from collections.abc import Sequence
from dataclasses import replace

from segue.kernel.transactions import session_log
from segue.model.auto_commit import AutoCommitPolicy
from segue.model.records import Event, Job, Lookup, Owner, Session, Turn
from segue.model.states import JobKind
from segue.record import positional, record
from segue.store import queries
from segue.store.database import Transaction
from segue.store.rows import core as rows

KEY = "unified:default"
"""Key of the common session; each user has one."""

APART = frozenset({"cron", "system"})
"""Channels of sessions without a user: their turns run in their own session, in every mode."""

SHARED = frozenset({JobKind.CRON, JobKind.RECALL, JobKind.MESSAGE})
"""Kinds of jobs whose turns run in the common session. Legacy and system jobs use their own session."""


def is_chat(key: str) -> bool:
    """Whether the session of that key shares the common session of its user."""
    return key != KEY and key.partition(":")[0] not in APART


@record
class Address:
    """Where a message goes: to the session of a key, which is created if it is missing."""

    lookup: Lookup
    key: str
    new_id: str
    """The id of a session that is created."""
    lane_id: str | None = None
    """In unified mode, the id of a common session that is created. None: turns run in the session itself."""
    policy: AutoCommitPolicy | None = None
    """The archiving policy of a session that is created."""


@positional
class Route:
    """The sessions of a turn, both locked: the chat it came through, and the lane it runs in."""

    chat: Session
    common: Session | None = None

    @property
    def lane(self) -> Session:
        return self.common or self.chat

    @property
    def chat_id(self) -> str | None:
        """The chat into whose log the turn's events are copied."""
        return self.chat.id if self.common else None


def open_route(address: Address, now: int) -> Transaction[Route]:
    """The sessions of an address, locked; created if they are missing. One that exists costs a statement."""
    lookup, key, policy = address.lookup, address.key, address.policy
    if address.lane_id is None:
        return Route((yield from session_log.open_by_lookup(lookup, key, address.new_id, now, policy=policy)))
    owner = lookup.owner
    if lookup.first == owner:
        common = yield queries.sessions.lock_by_key, session_log.key_params(owner, KEY)
        chat = (yield queries.sessions.lock_by_key, session_log.key_params(owner, key)) if common else ()
        if chat:
            return Route(rows.session(chat[0]), rows.session(common[0]))
    owner = yield from session_log.owner_by_lookup(lookup, key)
    lane = yield from session_log.open_session(owner, KEY, address.lane_id, now, policy=policy)
    return Route((yield from session_log.open_session(owner, key, address.new_id, now, policy=policy)), lane)


def lock_route(session_id: str, now: int, *, lane_id: str | None) -> Transaction[Route]:
    """The route of what a session sends, locked. `lane_id`: as in an address."""
    common = None
    found = (yield queries.sessions.by_id, {"id": session_id}) if lane_id else ()
    if lane_id and found and is_chat(found[0]["key"]):
        owner = Owner(found[0]["account"], found[0]["user_id"])
        common = yield from session_log.open_session(owner, KEY, lane_id, now)
    return Route((yield from session_log.lock_session(session_id)), common)


def lock_route_of_job(job: Job, now: int, *, lane_id: str | None) -> Transaction[Route]:
    """The route of a job's turn or message, locked. A job of the common session uses the newest chat."""
    route = yield from lock_route(job.session_id, now, lane_id=lane_id)
    if route.chat.key != KEY or job.kind not in SHARED:
        return route
    chat = yield from newest_chat(route.chat)
    return Route(chat, route.chat) if chat else route


def lock_common_of(session: Session) -> Transaction[Session | None]:
    """The common session of a chat's user, locked; None if there is none."""
    return (yield from session_log.lock_by_lookup(Lookup(session.owner, session.owner), KEY))


def newest_chat(common: Session) -> Transaction[Session | None]:
    """Of the chats that share a common session, the one with the newest user message, locked."""
    found = yield queries.sessions.newest_chat, {"id": common.id}
    return (yield from session_log.lock_session(found[0]["id"])) if found else None


def chat_of_answer(lane: Session, turn: Turn) -> Transaction[Session | None]:
    """The chat through which a turn is answered: the one it came through, or None if that was deleted.

    In its place, a job of the common session uses the newest chat.
    """
    if turn.chat_id is None:
        return lane
    found = yield queries.sessions.by_id, {"id": turn.chat_id}
    if found:
        return rows.session(found[0])
    job = (yield queries.jobs.by_id, {"id": turn.source.job_id}) if turn.source else ()
    return (yield from newest_chat(lane)) if job and job[0]["session_id"] == lane.id else None


def append_events(route: Route, events: Sequence[Event], now: int) -> Transaction[list[Event]]:
    """Append events that belong to no turn to the logs of a chat and of its common session."""
    written = [*(yield from session_log.append_events(route.chat, events, now))]
    if route.common:
        shared = [replace(event, session_id=route.common.id, via_id=route.chat.id) for event in events]
        written += yield from session_log.append_events(route.common, shared, now)
    return written
