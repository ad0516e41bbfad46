"""Calendar of a session: shares what is coming at a private address, and makes jobs from calendar files."""

import asyncio
import secrets
from collections.abc import Sequence
from datetime import timedelta
from hashlib import sha256

from segue.errors import Conflict, DuplicateId, Invalid, NotFound
from segue.kernel.api.calendar.coming_events import coming_events
from segue.kernel.api.context import OPERATOR, ApiContext, SessionRef
from segue.kernel.api.cost.forecasts import all_jobs
from segue.kernel.api.jobs import JobsApi
from segue.kernel.transactions import sessions
from segue.model.action import Ask
from segue.model.prompts import Mode
from segue.model.records import Asker, Job, Session
from segue.model.schedule import check_rhythm
from segue.model.states import JobKind
from segue.record import record
from segue.times.clock import to_moment
from segue.times.icalendar.calendar_text import calendar_text
from segue.times.icalendar.timed_events import LeftOut, TimedEvent, timed_events

_TOKEN_BYTES = 32
_BEFORE = "it was imported before; change or remove its job instead"


@record
class ImportedEvents:
    """The jobs that an import has made, or would make, and the events that it leaves out."""

    jobs: Sequence[Job]
    left_out: Sequence[LeftOut]
    made: bool


class CalendarApi:
    """What is coming in a session, for calendar programs: `kernel.calendar`."""

    def __init__(self, context: ApiContext, jobs: JobsApi) -> None:
        self._context = context
        self._jobs = jobs

    async def share(self, key: SessionRef, *, owner: Asker = OPERATOR) -> str:
        """Makes a private address for the session's calendar, and returns its token, which is shown once.

        The server answers at `/calendar/TOKEN.ics`. An address that the session had is void. Raises
        `NotFound`.
        """
        session = await self._context.session(key, owner)
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        await self._context.store.commit(
            sessions.share_calendar, session.id, _hash_of(token), self._context.clock.ms()
        )
        return token

    async def shared_at(self, key: SessionRef, *, owner: Asker = OPERATOR) -> int | None:
        """Returns when the address of the session's calendar was made, in milliseconds; None: there is none.

        Raises `NotFound`.
        """
        session = await self._context.session(key, owner)
        return await self._context.store.calendar_shared_at(session.id)

    async def revoke(self, key: SessionRef, *, owner: Asker = OPERATOR) -> None:
        """Takes the address of the session's calendar back. Raises `NotFound`, also if there is none."""
        session = await self._context.session(key, owner)
        if not await self._context.store.commit(sessions.revoke_calendar, session.id):
            raise NotFound(f"{session.key} has no calendar address")

    async def read(self, token: str) -> str:
        """Returns the `.ics` file at the address with this token. Raises `NotFound`."""
        session_id = await self._context.store.session_of_calendar(_hash_of(token))
        if session_id is None:
            raise NotFound("there is no calendar at this address")
        return await self.export(await self._context.store.session_by_id(session_id))

    async def export(self, key: SessionRef, *, owner: Asker = OPERATOR) -> str:
        """Returns what is coming in the session as the text of an `.ics` file. Raises `NotFound`.

        It has the active jobs, the pending recall and the scheduled messages.
        """
        context = self._context
        session = await context.session(key, owner)
        jobs = await all_jobs(context, session)
        if (shared := await context.shared_jobs_of(session)) is not None:
            jobs += await all_jobs(context, shared)
        now = to_moment(context.clock.ms())
        name = session.title or session.key
        # In a thread: rules of many jobs may take longer than other callers should wait.
        return await asyncio.to_thread(lambda: calendar_text(name, coming_events(jobs, now)))

    async def import_events(
        self, key: SessionRef, ics: str, *, make: bool = False, owner: Asker = OPERATOR
    ) -> ImportedEvents:
        """Returns the jobs that the timed events of an `.ics` file would be, and with `make` makes them.

        Each job reminds the session of an event at its start: it says the title and the place, in a group by
        a turn of the agent. The result has the `jobs` and the events that are `left_out`, each with a reason:
        all-day events, past ones, those that were imported before. The limits for users apply. Raises
        `BadCalendar`, `ZoneNeeded` for an event without a zone in a session without one, `NotFound`.
        """
        context = self._context
        session = await context.session(key, owner)
        now = to_moment(context.clock.ms())
        found = await asyncio.to_thread(timed_events, ics, now=now, zone=context.zone_in(session))
        jobs: dict[str, Job] = {}
        left_out = list(found.left_out)
        room = context.settings.jobs_per_session - await self._count(session)
        for event in found.events:
            job_id = _job_id(session, event.uid)
            try:
                if job_id in jobs or await self._jobs.is_taken(job_id):
                    raise DuplicateId(_BEFORE)
                if len(jobs) >= room:
                    raise Conflict("the session has as many automations as it may have; remove some first")
                jobs[job_id] = await (self._add if make else self._draft)(session, event, job_id)
            except DuplicateId:
                left_out.append(LeftOut(title=event.title, reason=_BEFORE))
            except (Invalid, Conflict) as reason:
                left_out.append(LeftOut(title=event.title, reason=str(reason)))
        return ImportedEvents(jobs=list(jobs.values()), left_out=left_out, made=make)

    async def _count(self, session: Session) -> int:
        jobs = await all_jobs(self._context, session)
        return sum(job.kind is JobKind.CRON for job in jobs)

    async def _add(self, session: Session, event: TimedEvent, job_id: str) -> Job:
        return await self._jobs.add(
            session, event.trigger, _reminder(session, event), name=event.title, job_id=job_id, limits=True
        )

    async def _draft(self, session: Session, event: TimedEvent, job_id: str) -> Job:
        context = self._context
        now = context.clock.ms()
        least = timedelta(seconds=context.settings.least_interval_seconds)
        check_rhythm(event.trigger, least, to_moment(now))
        return context.draft(
            session,
            event.trigger,
            _reminder(session, event),
            now,
            owner=session.owner,
            name=event.title,
            job_id=job_id,
        )


def _reminder(session: Session, event: TimedEvent) -> Ask:
    """Of the file only the title and the place are taken: an invitation is a text of strangers."""
    text = f"{event.title} ({event.place})" if event.place else event.title
    if session.chat_type == "private":
        return Ask(text, mode=Mode.SAY)
    return Ask(f"Remind this chat that this begins now: {text}")


def _job_id(session: Session, uid: str) -> str:
    """The same event of a file is the same job, so that a repeated import finds it."""
    return sha256(f"{session.id}\n{uid}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _hash_of(token: str) -> str:
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
