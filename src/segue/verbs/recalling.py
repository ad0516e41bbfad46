"""Recalling: how an agent, or its user, has a conversation called back."""

from functools import partial

from segue import recalls
from segue.action import Ask
from segue.clock import to_moment
from segue.errors import NotFound, NotRecurring
from segue.model import NEWEST, Owner, Place, Recall, Session, Source
from segue.once import Request
from segue.recalls import Facts
from segue.states import CallType, JobKind
from segue.text import check_text
from segue.verbs.looking import ME
from segue.verbs.ordering import Ordering

_LONGEST_TITLE = 80


class Recalling(Ordering):
    async def recall(self, key: str, *, owner: Owner = ME) -> Recall | None:
        """The pending one."""
        return await self.store.pending_recall((await self.session(key, owner=owner)).id)

    async def recalls(
        self, key: str, *, owner: Owner = ME, limit: int = 100, before: Place = NEWEST
    ) -> list[Recall]:
        """All that were set in the session, newest first, whatever became of them."""
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
        owner: Owner = ME,
        request: Request | None = None,
    ) -> Recall:
        """Call the agent back with an instruction to itself. `set_in`: the scheduled turn that asks.

        `timezone_offset`, else `timezone`, is for a `when` that names no zone; it goes before the session's.
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
        job = await self._drafted(
            key,
            trigger,
            Ask(instruction),
            now,
            name=(comment or instruction).strip().splitlines()[0][:_LONGEST_TITLE],
            policy=recalls.policy(self.settings.recall_on_busy),
            kind=JobKind.RECALL,
            owner=owner,
        )
        facts = Facts(call_type=kind, comment=comment, set_in=set_in)
        work = partial(recalls.create, session, job, facts)
        stored = await self._made_once(request, work, now)
        return await self.store.recall(stored.id)

    async def cancel_recall(self, key: str, *, owner: Owner = ME) -> None:
        """No start after this returns: neither of the pending one nor of one that waits in the lane."""
        session = await self.session(key, owner=owner)
        pending = await self.store.pending_recall(session.id)
        job_id = pending.id if pending else await self._waiting(session)
        if job_id is None:
            raise _none(key)
        await self.remove(job_id, owner=owner)

    async def skip_recall(self, key: str, *, owner: Owner = ME) -> Recall:
        """Let the next time of the pending one go by: it fires an interval later, and never in the past."""
        pending = await self.recall(key, owner=owner)
        if pending is None:
            raise _none(key)
        if pending.call_type is not CallType.RECURRING:
            raise NotRecurring(
                f"the recall of {key} is {pending.call_type}; cancel it instead of skipping it"
            )
        await self.skip(pending.id, owner=owner)
        return await self.store.recall(pending.id)

    async def _waiting(self, session: Session) -> str | None:
        return await self.store.waiting_recall(session.id, lane_id=(await self.lane_of(session)).id)


def _none(key: str) -> NotFound:
    return NotFound(f"no recall is pending in {key}")
