"""Recalls: an agent, or its user, schedules the agent to continue a conversation later."""

from functools import partial

from segue.errors import NotFound, NotRecurring
from segue.kernel.api.base import OPERATOR
from segue.kernel.api.job_changes import JobsBase
from segue.kernel.transactions import jobs, recalls
from segue.kernel.transactions.idempotency import Request
from segue.kernel.transactions.recalls import RecallFields
from segue.model.action import Ask
from segue.model.records import NEWEST, Asker, Place, Recall, Source
from segue.model.states import CallType, JobKind, RecallStatus
from segue.model.text_checks import check_text
from segue.times.clock import to_moment

_LONGEST_TITLE = 80


class RecallsApi(JobsBase):
    async def recall(self, key: str, *, owner: Asker = OPERATOR) -> Recall | None:
        """Returns the session's pending `Recall`, else the running one, else None. Raises `NotFound`.

        A recall that waits for a busy session is still pending.
        """
        return await self.store.current_recall((await self.session(key, owner=owner)).id)

    async def recalls(
        self, key: str, *, owner: Asker = OPERATOR, limit: int = 100, before: Place = NEWEST
    ) -> list[Recall]:
        """Returns all recalls that were set in the session, newest first. Raises `NotFound`."""
        return await self.store.recalls((await self.session(key, owner=owner)).id, limit, before)

    async def set_recall(
        self,
        key: str,
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
        session = await self.session(key, owner=owner)
        kind = recalls.call_type_of(call_type)
        check_text(instruction, "the instruction of a recall")
        if comment is not None:
            check_text(comment, "the comment of a recall")
        offset = recalls.check_offset(timezone_offset) if timezone_offset is not None else None
        now = self.clock.ms()
        trigger = recalls.trigger_of(
            kind,
            when,
            interval_seconds,
            now=to_moment(now),
            zone=offset or self.zone_in(session, timezone),
        )
        job = self._draft(
            session,
            trigger,
            Ask(instruction),
            now,
            name=(comment or instruction).strip().splitlines()[0][:_LONGEST_TITLE],
            policy=recalls.policy(self.settings.recall_on_busy),
            kind=JobKind.RECALL,
            account=session.owner.account,
        )
        recall_fields = RecallFields(call_type=kind, comment=comment, set_in=set_in)
        work = partial(recalls.create, session, job, recall_fields)
        stored = await self._create_once(request, work, now)
        return await self.store.recall(stored.id)

    async def cancel_recall(self, key: str, *, owner: Asker = OPERATOR) -> None:
        """Cancels the session's pending recall, also one that is due and waits for a busy session.

        Raises `NotFound`.
        """
        current = await self.recall(key, owner=owner)
        if current is None or not await self._can_be_cancelled(current):
            raise _none(key)
        await self.remove(current.id, owner=owner)

    async def skip_recall(self, key: str, *, owner: Asker = OPERATOR) -> Recall:
        """Skips the next time of a recurring recall, and returns the `Recall`.

        It fires one interval later, counted from the skipped time or from now. If the recall is due and waits
        for a busy session, that time is skipped. Raises `NotRecurring`, `NotFound`.
        """
        current = await self.recall(key, owner=owner)
        if current is None or not await self._can_be_cancelled(current):
            raise _none(key)
        if current.call_type is not CallType.RECURRING:
            raise NotRecurring(
                f"the recall of {key} is {current.call_type}; cancel it instead of skipping it"
            )
        if current.status is RecallStatus.PENDING and await self.store.job_waits(current.id):
            job = await self.job(current.id, owner=owner)
            skip = partial(jobs.skip_waiting, job, "skipped by request", self.clock.ms())
            self.workers.context.announce(await self.store.commit(skip))
        else:
            await self.skip(current.id, owner=owner)
        return await self.store.recall(current.id)

    async def _can_be_cancelled(self, recall: Recall) -> bool:
        """False for a recall that fires once and is running: only its turn can be stopped."""
        if recall.status is RecallStatus.PENDING or recall.call_type is CallType.RECURRING:
            return True
        return await self.store.job_waits(recall.id)


def _none(key: str) -> NotFound:
    return NotFound(f"no recall is pending in {key}")
