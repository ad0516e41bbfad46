"""Recalls: an agent, or its user, schedules the agent to continue a conversation later."""

from functools import partial

from segue.errors import NotFound, NotRecurring
from segue.kernel.api.context import OPERATOR, ApiContext, SessionRef
from segue.kernel.api.jobs import JobsApi, OwnedJob
from segue.kernel.transactions import jobs, recalls
from segue.kernel.transactions.idempotency import Request
from segue.kernel.transactions.recalls import RecallFields
from segue.model.action import Ask
from segue.model.records import NEWEST, Asker, PageStart, Recall, Session, Source
from segue.model.states import CallType, JobKind, JobState, RecallStatus
from segue.model.text_checks import check_text
from segue.times.clock import to_moment

_LONGEST_TITLE = 80


class RecallsApi:
    """Jobs by which an agent calls itself back into a conversation: `kernel.recalls`."""

    def __init__(self, context: ApiContext, jobs: JobsApi) -> None:
        self._context = context
        self._jobs = jobs

    async def get(self, key: SessionRef, *, owner: Asker = OPERATOR) -> Recall | None:
        """Returns the session's pending `Recall`, else the running one, else None. Raises `NotFound`.

        A recall that waits for a busy session is still pending.
        """
        return await self._context.store.current_recall((await self._context.session(key, owner)).id)

    async def add(
        self,
        key: SessionRef,
        instruction: str,
        *,
        call_type: CallType | str = CallType.ONCE,
        when: str | None = None,
        timezone: str | None = None,
        timezone_offset: str | None = None,
        interval_seconds: float | None = None,
        comment: str | None = None,
        set_in: Source | None = None,
        owner: Asker = OPERATOR,
        request: Request | None = None,
    ) -> Recall:
        """Schedules a recall, which calls the agent with an instruction to itself. Returns the `Recall`.

        `when` is for the types `once` and `recurring`, `interval_seconds` for `recurring`; a parameter that
        the type does not use is ignored. `timezone_offset`, or else `timezone`, is for a `when` without a
        zone. `set_in` is the source of the scheduled turn that sets the recall; chains of recalls are counted
        by it. Raises `BadRecall`, `BadTime`, `BadText`, `RecallPending`, `TooManyRecalls`, `NotFound`.
        """
        context = self._context
        session = await context.session(key, owner)
        kind = recalls.call_type_of(call_type)
        check_text(instruction, "the instruction of a recall")
        if comment is not None:
            check_text(comment, "the comment of a recall")
        offset = recalls.check_offset(timezone_offset) if timezone_offset is not None else None
        now = context.clock.ms()
        trigger = recalls.trigger_of(
            kind,
            when,
            interval_seconds,
            now=to_moment(now),
            zone=offset or context.zone_in(session, timezone),
        )
        job = context.draft(
            session,
            trigger,
            Ask(instruction),
            now,
            name=(comment or instruction).strip().splitlines()[0][:_LONGEST_TITLE],
            policy=recalls.policy(context.settings.recall_on_busy),
            kind=JobKind.RECALL,
            owner=session.owner,
        )
        recall_fields = RecallFields(call_type=kind, comment=comment, set_in=set_in)
        work = partial(recalls.create, session, job, recall_fields)
        stored = await context.create_once(request, work, now)
        return await context.store.recall(stored.id)

    async def cancel(self, key: SessionRef, *, owner: Asker = OPERATOR) -> None:
        """Cancels the session's pending recall, also one that is due and waits for a busy session.

        Raises `NotFound`.
        """
        session = await self._context.session(key, owner)
        current = await self._cancellable(session)
        await self._jobs.delete(await self._job_of(current, session))

    async def skip(self, key: SessionRef, *, owner: Asker = OPERATOR) -> Recall:
        """Skips the next time of a recurring recall, and returns the `Recall`.

        It fires one interval later, counted from the skipped time or from now. If the recall is due and waits
        for a busy session, that time is skipped. Raises `NotRecurring`, `NotFound`.
        """
        context = self._context
        session = await context.session(key, owner)
        current = await self._cancellable(session)
        if current.call_type is not CallType.RECURRING:
            raise NotRecurring(
                f"the recall of {session.key} is {current.call_type}; cancel it instead of skipping it"
            )
        found = await self._job_of(current, session)
        if current.status is RecallStatus.PENDING and await context.store.job_waits(current.id):
            skip = partial(jobs.skip_waiting, found.job, "skipped by request", context.clock.ms())
            context.announce(await context.store.commit(skip))
        else:
            await self._jobs.skip(found)
        return await context.store.recall(current.id)

    async def _cancellable(self, session: Session) -> Recall:
        """The session's recall. One that fires once and is running does not count: only its turn can be
        stopped."""
        recall = await self._context.store.current_recall(session.id)
        if recall is None:
            raise _none(session.key)
        if recall.status is RecallStatus.PENDING or recall.call_type is CallType.RECURRING:
            return recall
        if await self._context.store.job_waits(recall.id):
            return recall
        raise _none(session.key)

    async def _job_of(self, recall: Recall, session: Session) -> OwnedJob:
        job = await self._context.store.job(recall.id)
        if job.state is JobState.REMOVED:  # cancelled in between
            raise _none(session.key)
        return OwnedJob(job, session)

    async def list(
        self, key: SessionRef, *, owner: Asker = OPERATOR, limit: int = 100, before: PageStart = NEWEST
    ) -> list[Recall]:
        """Returns all recalls that were set in the session, newest first. Raises `NotFound`."""
        session = await self._context.session(key, owner)
        return await self._context.store.recalls(session.id, limit, before)


def _none(key: str) -> NotFound:
    return NotFound(f"no recall is pending in {key}")
