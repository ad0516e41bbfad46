"""API context: what the parts of the API share. It checks owners, and decides in which session a turn runs.

A session or a job that a caller has loaded may be passed on instead of its key or id. Its owner was checked
when it was loaded, so it is neither read nor checked again.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from segue.errors import BadSetting, NotFound
from segue.kernel.transactions import jobs, unified
from segue.kernel.transactions.idempotency import Request, run_once
from segue.kernel.transactions.result import Result
from segue.kernel.workers.worker_context import WorkerContext
from segue.model.action import Action, Ask, Call
from segue.model.policy import Policy
from segue.model.records import Asker, Job, Operator, Owner, Session
from segue.model.schedule import draft
from segue.model.settings import check_zone
from segue.model.states import JobKind, UnifiedOwner
from segue.model.text_checks import check_key
from segue.record import record
from segue.store.database import T, Transaction
from segue.times.clock import to_moment
from segue.times.days.day_sets import shipped_names, unknown_days
from segue.times.trigger import Cron, Trigger, resolve

OPERATOR = Operator()
"""A call without `owner=`: it reaches the sessions of every user of the account `default`."""

SessionRef: TypeAlias = str | Session
"""A session's key, or a session that the caller has loaded."""


@record
class ApiContext(WorkerContext):
    """What every part of the API needs: what the workers share, and what is only read."""

    networks: frozenset[str]
    """The channels on which each chat is a user of its own."""

    def is_sent(self, key: str) -> bool:
        """Whether messages of a session are sent through a channel, and so are read there."""
        channel = (self.channels or {}).get(key.partition(":")[0])
        return channel is not None and not channel.capabilities.stored

    # Owners

    async def find(self, key: str, owner: Asker) -> Session | None:
        return await self.store.find_session(owner.lookup(check_key(key), self.networks), key)

    async def session(self, session: SessionRef, owner: Asker) -> Session:
        """The session of a key that the owner reaches, or the loaded session as it is."""
        if isinstance(session, Session):
            return session
        found = await self.find(session, owner)
        if found is None:
            raise NotFound(f"there is no session {session}")
        return found

    async def session_of(self, session_id: str, owner: Asker, what: str) -> Session:
        """The session that something belongs to. Raises `NotFound` for it if the owner does not reach it."""
        session = await self.store.session_by_id(session_id)
        if not owner.reaches(session.owner):
            raise NotFound(f"there is no {what}")
        return session

    # Unified mode: in which session a turn runs, and which session owns a job

    def is_shared(self, key: str) -> bool:
        """Whether a chat shares one conversation with its owner's other chats."""
        return self.settings.unified_session and unified.is_chat(key)

    async def lane_of(self, session: Session) -> Session:
        """The session that a session's turns run in: itself, or in unified mode the common one."""
        if not self.is_shared(session.key):
            return session
        return await self.store.session(session.owner, unified.KEY) or session

    def address(self, key: str, owner: Asker, now: int) -> unified.Address:
        """Where a message goes that the owner sends to a key, and in which session its turn runs."""
        return unified.Address(
            lookup=owner.lookup(key, self.networks),
            key=key,
            new_id=self.ids(now),
            lane_id=self.ids(now) if self.is_shared(key) else None,
            policy=self.settings.auto_commit_policy,
        )

    def owning_key(self, key: str, kind: JobKind) -> str:
        """The key of the session that owns a new job: the given one, or in unified mode the common one."""
        shared = self.settings.unified_owner is UnifiedOwner.UNIFIED and self.is_shared(key)
        return unified.KEY if shared and kind is JobKind.CRON else key

    async def shared_jobs_of(self, session: Session) -> Session | None:
        """The session whose jobs a chat lists beside its own: in unified mode, if it owns them."""
        if self.settings.unified_owner is not UnifiedOwner.UNIFIED:
            return None
        lane = await self.lane_of(session)
        return None if lane.id == session.id else lane

    # Making and changing jobs, for jobs, recalls and scheduled messages

    def draft(
        self,
        session: Session | None,
        trigger: Trigger,
        action: Action,
        now: int,
        *,
        owner: Owner,
        name: str | None = None,
        policy: Policy | None = None,
        kind: JobKind | None = None,
        job_id: str | None = None,
    ) -> Job:
        """A checked job with its first slot, not stored yet."""
        self.check_action(action)
        if isinstance(action, Ask) and kind in (None, JobKind.CRON) and action.model is None:
            # The job keeps the model of today: a later change of the default must not move it silently.
            action = replace(action, model=self.settings.default_name)
        return draft(
            self.ids(now) if job_id is None else job_id,
            self.resolve(trigger, session, now),
            action,
            now,
            account=owner.account,
            name=name,
            policy=policy,
            kind=kind,
        )

    def check_action(self, action: Action | None) -> None:
        """Raises `BadSetting` for a function, `UnknownModel` for a model that this kernel does not have."""
        if isinstance(action, Ask):
            self.settings.check_model(action.model)
            self.settings.check_model(action.look)
        if isinstance(action, Call) and action.function not in self.functions:
            raise BadSetting(
                f"no function is registered as {action.function!r}; give it to Kernel(functions=…)"
            )

    def resolve(self, trigger: Trigger, session: Session | None, now: int) -> Trigger:
        return resolve(trigger, now=to_moment(now), zone=self.zone_in(session))

    async def with_days(self, trigger: Trigger, account: str) -> Trigger:
        """The trigger with the day set that it names, if that is one of the account. Raises `UnknownDays`."""
        if not isinstance(trigger, Cron) or trigger.days is None or trigger.days in shipped_names():
            return trigger
        if found := await self.store.day_set(account, trigger.days):
            return replace(trigger, own_days=found[0])
        own = (each.name for each in await self.store.day_sets(account))
        raise unknown_days(trigger.days, (*shipped_names(), *own))

    def zone_in(self, session: Session | None, given: str | None = None) -> str | None:
        """The zone for a time that names none: `given`, else the session's, else that of the settings."""
        if given is not None:
            check_zone(given)
            return given
        return (session.timezone if session else None) or self.settings.timezone

    async def commit_once(
        self,
        request: Request | None,
        work: Callable[[], Transaction[T]],
        now: int,
        *,
        keep: Callable[[T], Mapping[str, Any]],
        again: Callable[[Mapping[str, Any]], Transaction[T]],
        alone: bool = False,
    ) -> T:
        """Commits the work; if the caller named the request, once (see `run_once`).

        `alone`: in a commit of its own, because its values are large.
        """
        if request is not None:
            work = partial(run_once, request, work, now, keep=keep, again=again)
        return await (self.store.commit_alone(work) if alone else self.store.commit(work))

    async def create_once(
        self, request: Request | None, work: Callable[[], Transaction[Result[Job]]], now: int
    ) -> Job:
        """The job that the work makes, or that the first request of the same name made."""
        return self.announce(await self.commit_once(request, work, now, keep=_to_json, again=_from_json))


def _to_json(changed: Result[Job]) -> Mapping[str, Any]:
    return {"job_id": changed.value.id}


def _from_json(data: Mapping[str, Any]) -> Transaction[Result[Job]]:
    return Result(value=(yield from jobs.load(data["job_id"])))
