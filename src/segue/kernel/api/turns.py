"""Opens sessions, admits users' messages as turns, waits for turns and stops them."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, TypedDict, Unpack

from segue.errors import BadPolicy, BadSetting, BadText, NotFound
from segue.kernel.api.base import OPERATOR, ApiBase
from segue.kernel.live.hub import Heard, LiveText
from segue.kernel.transactions import deliveries, lane, sessions
from segue.kernel.transactions.idempotency import Request, run_once
from segue.kernel.transactions.lane import Admission, QueuedTurn
from segue.kernel.transactions.result import Name, Result
from segue.kernel.transactions.sessions import UNSAID, MaybePolicy, Policies, SessionOpened, StoredMessages
from segue.model.auto_commit import AutoCommitPolicy
from segue.model.records import Asker, Event, Session, Source, Turn, user_of
from segue.model.settings import check_zone
from segue.model.states import TurnState, WhenBusy
from segue.model.text_checks import MAX_NAME, check_key, check_text
from segue.model.transcript import Message, message_of
from segue.store import queries
from segue.store.database import Transaction
from segue.store.rows import core as rows

_ENDED = (TurnState.DONE, TurnState.FAILED, TurnState.CANCELLED)
_BEFORE_THE_END = frozenset({"stream_start", "tool_started", "tool_call"})

_ROLES = ("user", "assistant", "system")

MOST_AT_ONCE = 100
"""Messages in one write."""


class About(TypedDict, total=False):
    """The fields of a session that users set."""

    title: str | None
    timezone: str | None
    when_busy: WhenBusy | str | None
    metadata: Mapping[str, Any]


class TurnsApi(ApiBase):
    async def open(
        self,
        key: str,
        *,
        owner: Asker = OPERATOR,
        chat_type: str = "private",
        auto_commit_policy: MaybePolicy = UNSAID,
        request: Request | None = None,
        **about: Unpack[About],
    ) -> SessionOpened:
        """Returns the session of a key, and makes it if it is missing.

        The result has `session` and `created`. `title`, `timezone`, `when_busy` and `metadata` apply to a new
        session only. Raises `BadKey`, `BadText`, `BadSetting`.
        """
        check_key(key)
        _check_about(about)
        if chat_type not in ("private", "group"):
            raise BadSetting(f"a chat is private or group, got {chat_type!r}")
        now = self.clock.ms()
        default = self.settings.auto_commit_policy
        policy = default if auto_commit_policy is UNSAID else auto_commit_policy
        work = partial(
            sessions.open_new,
            owner.lookup(key, self.networks),
            key,
            now,
            new_id=self.ids(now),
            policy=policy,
            chat_type=chat_type,
            **about,
        )
        return await self.store.commit(
            run_once, request, work, now, keep=_opened_to_json, again=_opened_from_json
        )

    async def change(
        self,
        key: str,
        *,
        owner: Asker = OPERATOR,
        auto_commit_policy: MaybePolicy | Mapping[str, Any] = UNSAID,
        **about: Unpack[About],
    ) -> Session:
        """Changes a session's `title`, `timezone`, `when_busy` or `metadata`; None clears a field.

        Returns the changed `Session`. Raises `NotFound`, `BadText`, `BadSetting`, `BadPolicy`.
        """
        _check_about(about)
        session = await self.session(key, owner=owner)
        policy = None if auto_commit_policy is UNSAID else partial(_policy_from, auto_commit_policy)
        changed = await self.store.commit(sessions.change, session, self.clock.ms(), policy=policy, **about)
        self.bell.ring(Name.ARCHIVIST)
        return changed

    async def suggest_zone(self, key: str, timezone: str, *, owner: Asker = OPERATOR) -> Session:
        """Sets the zone of a user's device in a session that has no zone yet; an existing zone stays.

        Makes a missing session. Returns the `Session`. Raises `BadKey`, `BadSetting`.
        """
        check_zone(timezone)
        session = await self.find(key, owner=owner) or (await self.open(key, owner=owner)).session
        if session.timezone is not None or user_of(key, self.networks) is not None:
            return session
        return await self.store.commit(sessions.suggest_zone, session, timezone, self.clock.ms())

    async def receive(
        self,
        key: str,
        text: str,
        *,
        owner: Asker = OPERATOR,
        when_busy: WhenBusy | str | None = None,
        metadata: Mapping[str, Any] | None = None,
        request: Request | None = None,
    ) -> QueuedTurn:
        """Admits a user's message as a turn of its session, and makes a missing session.

        Returns at once, with `turn_id`, `session_id` and `position`, the number of turns before it.
        `metadata` says where in the chat the message was written, such as a topic: the channel gets it with
        the answer, and the session keeps it (None as a value removes a name). Raises `BadKey`, `BadText`,
        `BadSetting`; `SessionBusy` with `when_busy="reject"`.
        """
        check_key(key)
        check_text(text, "a message")
        now = self.clock.ms()
        admission = Admission(
            turn_id=self.ids(now),
            content=text,
            rank=now,
            not_before=now,
            timeout_ms=round(self.settings.turn_timeout_seconds * 1000),
            metadata=metadata,
        )
        _check_when_busy(when_busy)
        work = partial(
            lane.receive,
            owner.lookup(key, self.networks),
            key,
            admission,
            now,
            new_id=self.ids(now),
            when_busy=None if when_busy is None else WhenBusy(when_busy),
            default=self.settings.when_busy,
            policy=self.settings.auto_commit_policy,
            common_id=self._common_id(key, now),
        )
        return self.workers.context.announce(
            await self.store.commit(
                run_once, request, work, now, keep=_queued_to_json, again=_queued_from_json
            )
        )

    async def wait(self, turn: str | QueuedTurn, *, owner: Asker = OPERATOR) -> Turn:
        """Waits until a turn has ended, and returns it.

        `turn` is an id, or the result of `receive`, which saves the owner check. A turn that joined another
        ends with that one. The turn may run in another process. Raises `NotFound`.
        """
        if isinstance(turn, str):
            stored = await self.turn(turn, owner=owner)
            return await self._end_of(stored.id, stored.session_id)
        return await self._end_of(turn.turn_id, turn.session_id)

    async def _end_of(self, turn_id: str, session_id: str) -> Turn:
        with self.hub.listen(session_id) as listener:
            while True:
                turn = await self.store.turn(turn_id)
                if turn.joined_into is not None:
                    turn_id = turn.joined_into
                elif turn.state in _ENDED:
                    return turn
                else:
                    while _ends_no_turn(await listener.next()):
                        pass

    async def write(
        self,
        key: str,
        role: str,
        text: str,
        *,
        owner: Asker = OPERATOR,
        auto_commit_policy: MaybePolicy = UNSAID,
    ) -> Message:
        """Stores a message without running the agent, and returns it as a `Message`.

        `role` is `user`, `assistant` or `system`. The message counts as activity for `Idle` triggers. Raises
        `BadKey`, `BadText`, `BadSetting`.
        """
        written = await self._write(key, [(role, text)], owner, auto_commit_policy)
        message = message_of(written.events[0])
        assert message is not None  # it was written as one
        return message

    async def write_all(
        self,
        key: str,
        messages: Sequence[tuple[str, str]],
        *,
        owner: Asker = OPERATOR,
        auto_commit_policy: MaybePolicy = UNSAID,
        request: Request | None = None,
    ) -> StoredMessages:
        """Stores up to 100 messages, each a role and a text, in one transaction and in their order.

        Returns `added`, and the session's `message_count` and `pending_tokens` afterwards. Raises `BadKey`,
        `BadText`, `BadSetting`.
        """
        return (await self._write(key, messages, owner, auto_commit_policy, request)).value

    async def _write(
        self,
        key: str,
        messages: Sequence[tuple[str, str]],
        owner: Asker,
        auto_commit_policy: MaybePolicy,
        request: Request | None = None,
    ) -> Result[StoredMessages]:
        check_key(key)
        if not 1 <= len(messages) <= MOST_AT_ONCE:
            raise BadText(f"from 1 to {MOST_AT_ONCE} messages are stored at once, got {len(messages)}")
        for role, text in messages:
            check_text(text, "a message")
            if role not in _ROLES:
                raise BadSetting(f"a role is user, assistant or system, got {role!r}")
        now = self.clock.ms()
        policies = Policies(auto_commit_policy, self.settings.auto_commit_policy)
        work = partial(
            sessions.write,
            owner.lookup(key, self.networks),
            key,
            messages,
            now,
            new_id=self.ids(now),
            policies=policies,
            common_id=self._common_id(key, now),
        )
        written = await self.store.commit(
            run_once, request, work, now, keep=_written_to_json, again=_written_from_json
        )
        self.workers.context.announce(written)
        return written

    async def say(self, key: str, text: str, *, source: Source, owner: Asker = OPERATOR) -> None:
        """Sends a message through the session's channel now, outside of any turn.

        `source` is the job that the message comes from. Returns nothing; the message is queued for delivery.
        Raises `BadKey`, `BadText`.
        """
        check_key(key)
        check_text(text, "a message")
        now = self.clock.ms()
        lookup = owner.lookup(key, self.networks)
        await self.store.commit(deliveries.say, lookup, key, text, source, now, delivery_id=self.ids(now))
        self.bell.ring(Name.COURIER)

    def _common_id(self, key: str, now: int) -> str | None:
        """In unified mode, an id for the common session, in case it has to be made."""
        return self.ids(now) if self.is_shared(key) else None

    async def stop(self, key: str, *, owner: Asker = OPERATOR) -> str | None:
        """Asks the session's running turn to stop, in whichever process it runs.

        Returns the turn's id, or None when no turn runs. The text so far stays, marked as stopped. Raises
        `NotFound`.
        """
        lane_session = await self.lane_of(await self.session(key, owner=owner))
        stopped = await self.store.commit(lane.stop, lane_session.id)
        self.bell.ring(Name.KEEPER)
        return stopped

    async def cancel(self, turn_id: str, *, owner: Asker = OPERATOR) -> None:
        """Cancels a waiting turn. Raises `AlreadyStarted` when the turn has started or ended, `NotFound`."""
        await self.turn(turn_id, owner=owner)
        now = self.clock.ms()
        cancelled = await self.store.commit(lane.cancel, turn_id, "cancelled by request", now)
        self.workers.context.announce(cancelled)


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
    _check_when_busy(about.get("when_busy"))


def _ends_no_turn(heard: Heard) -> bool:
    """True for what a running turn produces before its end: a waiting caller need not read the turn again."""
    return isinstance(heard, LiveText) or (isinstance(heard, Event) and heard.type in _BEFORE_THE_END)


def _check_when_busy(rule: WhenBusy | str | None) -> None:
    if rule is not None and rule not in list(WhenBusy):
        raise BadSetting(f"when_busy is one of {', '.join(WhenBusy)}, got {rule!r}")


# Results as they are stored under an idempotency key, and read back for a repeated request.


def _opened_to_json(opened: SessionOpened) -> Mapping[str, Any]:
    return {"session_id": opened.session.id, "created": opened.created}


def _opened_from_json(data: Mapping[str, Any]) -> Transaction[SessionOpened]:
    found = yield queries.sessions.by_id, {"id": data["session_id"]}
    if not found:
        raise NotFound("the session that this request opened has been deleted since")
    return SessionOpened(rows.session(found[0]), data["created"])


def _queued_to_json(queued: Result[QueuedTurn]) -> Mapping[str, Any]:
    turn = queued.value
    return {"turn_id": turn.turn_id, "session_id": turn.session_id, "position": turn.position}


def _queued_from_json(data: Mapping[str, Any]) -> Transaction[Result[QueuedTurn]]:
    yield from ()
    return Result(value=QueuedTurn(**data))


def _written_to_json(written: Result[StoredMessages]) -> Mapping[str, Any]:
    stored = written.value
    return {
        "added": stored.added,
        "message_count": stored.message_count,
        "pending_tokens": stored.pending_tokens,
    }


def _written_from_json(data: Mapping[str, Any]) -> Transaction[Result[StoredMessages]]:
    yield from ()
    return Result(value=StoredMessages(**data))
