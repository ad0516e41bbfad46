"""Talking: a user's words in, a turn's end out, and how to stop one in between."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, TypedDict, Unpack

from segue.errors import BadPolicy, BadSetting, BadText, NotFound
from segue.kernel.api.base import OPERATOR, ApiBase
from segue.kernel.live.bell import Name
from segue.kernel.live.hub import Heard, LiveText
from segue.kernel.transactions import deliveries, lane, sessions
from segue.kernel.transactions.idempotency import Request, run_once
from segue.kernel.transactions.lane import Admission, Admitted, Pool, TurnEnd
from segue.kernel.transactions.sessions import UNSAID, MaybePolicy, MessagesWritten, Policies, SessionOpened
from segue.model.auto_commit import AutoCommitPolicy
from segue.model.records import Asker, Event, Session, Source, Turn, user_of
from segue.model.settings import check_zone
from segue.model.states import TurnState, WhenBusy
from segue.model.text_checks import MAX_NAME, check_key, check_text
from segue.model.transcript import Message, message_of
from segue.store import queries
from segue.store.database import Transaction
from segue.store.rows import core as rows

_OVER = (TurnState.DONE, TurnState.FAILED, TurnState.CANCELLED)
_ON_ITS_WAY = frozenset({"stream_start", "tool_started", "tool_call"})


_ROLES = ("user", "assistant", "system")

MOST_AT_ONCE = 100
"""Messages in one write."""


class About(TypedDict, total=False):
    """What people may say about a session."""

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
        """The session of that key, as `session` and `created`: as it is, or made of `title`, `timezone`,
        `when_busy` and `metadata`. Raises `BadKey`, `BadText`, `BadSetting`.
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
        return await self.store.commit(run_once, request, work, now, keep=_opened_kept, again=_opened_again)

    async def change(
        self,
        key: str,
        *,
        owner: Asker = OPERATOR,
        auto_commit_policy: MaybePolicy | Mapping[str, Any] = UNSAID,
        **about: Unpack[About],
    ) -> Session:
        """Change a session's `title`, `timezone`, `when_busy` or `metadata`; None clears. Returns the `Session`.
        Raises `NotFound`, `BadText`, `BadSetting`.
        """
        _check_about(about)
        session = await self.session(key, owner=owner)
        policy = None if auto_commit_policy is UNSAID else partial(_policy_from, auto_commit_policy)
        changed = await self.store.commit(sessions.change, session, self.clock.ms(), policy=policy, **about)
        self.bell.ring(Name.ARCHIVIST)
        return changed

    async def suggest_zone(self, key: str, timezone: str, *, owner: Asker = OPERATOR) -> Session:
        """The zone that a user's device names, for a session that has none: one that it has stays. Makes a
        missing session. Returns the `Session`. Raises `BadKey`, `BadSetting`.
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
    ) -> Admitted:
        """A user's message: it will be a turn of its session, which is made if it is missing. Returns at once,
        with `turn_id`, `session_id` and `position`, the number of turns before it. `metadata` says where in
        the chat it was written, such as a topic: the channel gets it with the answer, and the session keeps
        it (None as a value removes a name). Raises `BadKey`, `BadText`; `SessionBusy` with
        `when_busy="reject"`.
        """
        check_key(key)
        check_text(text, "a message")
        now = self.clock.ms()
        words = Admission(
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
            words,
            now,
            new_id=self.ids(now),
            when_busy=None if when_busy is None else WhenBusy(when_busy),
            default=self.settings.when_busy,
            policy=self.settings.auto_commit_policy,
            common_id=self._common_id(key, now),
        )
        admitted = await self.store.commit(
            run_once, request, work, now, keep=_admitted_kept, again=_admitted_again
        )
        self.hub.publish(admitted.events)
        self.bell.ring(Name.USER)
        if admitted.armed:
            self.bell.ring(Name.TIMER)
        if admitted.position:  # it may have asked the turn before it to stop
            self.bell.ring(Name.KEEPER)
        return admitted

    async def wait(self, turn: str | Admitted, *, owner: Asker = OPERATOR) -> Turn:
        """The `Turn`, when it has ended; `turn` is its id, or what `receive` returned, which saves a look at
        whose it is. One that joined another ends with its host. It hears of turns that end in other processes
        while this process runs. Raises `NotFound`.
        """
        if isinstance(turn, str):
            there = await self.turn(turn, owner=owner)
            return await self._end_of(there.id, there.session_id)
        return await self._end_of(turn.turn_id, turn.session_id)

    async def _end_of(self, turn_id: str, session_id: str) -> Turn:
        with self.hub.listen(session_id) as listener:
            while True:
                turn = await self.store.turn(turn_id)
                if turn.joined_into is not None:
                    turn_id = turn.joined_into
                elif turn.state in _OVER:
                    return turn
                else:
                    while _goes_on(await listener.next()):
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
        """Store a `Message` without running the agent; `role` is `user`, `assistant` or `system`. It is a sign
        of life for `Idle`. Raises `BadKey`, `BadText`, `BadSetting`.
        """
        written = await self.write_all(
            key, [(role, text)], owner=owner, auto_commit_policy=auto_commit_policy
        )
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
    ) -> MessagesWritten:
        """Store up to 100 messages, each a role and a text, together and in their order. Returns `added`, and
        the session's `message_count` and `pending_tokens` after it. Raises as `write` does.
        """
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
            run_once, request, work, now, keep=_written_kept, again=_written_again
        )
        self.hub.publish(written.events)
        self.bell.ring(Name.TIMER, Name.ARCHIVIST)
        return written

    async def say(self, key: str, text: str, *, source: Source, owner: Asker = OPERATOR) -> None:
        """A message to people, now and from outside any turn, by whatever channel the session has. `source` says
        which job it comes from.
        """
        check_key(key)
        check_text(text, "a message")
        now = self.clock.ms()
        lookup = owner.lookup(key, self.networks)
        await self.store.commit(deliveries.say, lookup, key, text, source, now, delivery_id=self.ids(now))
        self.bell.ring(Name.COURIER)

    def _common_id(self, key: str, now: int) -> str | None:
        """In unified mode, an id for the common session, should it have to be made."""
        return self.ids(now) if self.is_shared(key) else None

    async def stop(self, key: str, *, owner: Asker = OPERATOR) -> str | None:
        """Ask the running turn to stop, in whichever process it runs. Returns its id, or None when nothing runs.
        What it had said so far stays, marked as stopped. Raises `NotFound`.
        """
        place = await self.lane_of(await self.session(key, owner=owner))
        stopped = await self.store.commit(lane.stop, place.id)
        self.bell.ring(Name.KEEPER)
        return stopped

    async def cancel(self, turn_id: str, *, owner: Asker = OPERATOR) -> None:
        """Take a turn that waits out of its lane. Raises `AlreadyStarted` when it is too late, `NotFound`."""
        await self.turn(turn_id, owner=owner)
        now = self.clock.ms()
        self._left(await self.store.commit(lane.cancel, turn_id, "cancelled by request", now))

    def _left(self, left: TurnEnd) -> None:
        self.hub.publish(left.events)
        self.bell.ring(Name.USER, Name.SCHEDULE)


def _policy_from(
    given: AutoCommitPolicy | Mapping[str, Any] | None, there: AutoCommitPolicy | None
) -> AutoCommitPolicy | None:
    if given is None or isinstance(given, AutoCommitPolicy):
        return given
    for name, value in given.items():
        if value is None:
            raise BadPolicy(
                f"auto_commit_policy.{name} cannot be null; leave it out, or say auto_commit_policy=null"
            )
    return AutoCommitPolicy.from_json({**(there.to_json() if there else {}), **given})


def _check_about(about: About) -> None:
    if about.get("title") is not None:
        check_text(about["title"], "a title", longest=MAX_NAME)
    if about.get("timezone") is not None:
        check_zone(about["timezone"])
    _check_when_busy(about.get("when_busy"))


def _goes_on(heard: Heard) -> bool:
    """What comes while a turn is on its way ends none: whoever waits need not look it up."""
    return isinstance(heard, LiveText) or (isinstance(heard, Event) and heard.type in _ON_ITS_WAY)


def _check_when_busy(rule: WhenBusy | str | None) -> None:
    if rule is not None and rule not in list(WhenBusy):
        raise BadSetting(f"when_busy is one of {', '.join(WhenBusy)}, got {rule!r}")


# What is kept of a call that may come again, and how its result is made from it.


def _opened_kept(opened: SessionOpened) -> Mapping[str, Any]:
    return {"session_id": opened.session.id, "created": opened.created}


def _opened_again(kept: Mapping[str, Any]) -> Transaction[SessionOpened]:
    found = yield queries.sessions.by_id, {"id": kept["session_id"]}
    if not found:
        raise NotFound("the session that this request opened has been deleted since")
    return SessionOpened(rows.session(found[0]), kept["created"])


def _admitted_kept(admitted: Admitted) -> Mapping[str, Any]:
    return {
        "turn_id": admitted.turn_id,
        "session_id": admitted.session_id,
        "pool": int(admitted.pool),
        "position": admitted.position,
    }


def _admitted_again(kept: Mapping[str, Any]) -> Transaction[Admitted]:
    yield from ()
    return Admitted(**{**kept, "pool": Pool(kept["pool"])})


def _written_kept(written: MessagesWritten) -> Mapping[str, Any]:
    return {
        "added": written.added,
        "message_count": written.message_count,
        "pending_tokens": written.pending_tokens,
    }


def _written_again(kept: Mapping[str, Any]) -> Transaction[MessagesWritten]:
    yield from ()
    return MessagesWritten(**kept)
