"""Job import: reads cron jobs from a `jobs.json` store and schedules them.

    {"version": 1, "jobs": [{"id", "name", "enabled", "schedule": {"kind", "atMs" | "everyMs" | "expr", "tz"},
     "payload": {"kind", "message", "sessionKey", "deliver", "channel", "to", "channelMeta"},
     "state": {"nextRunAtMs", …}, "createdAtMs", …}]}

Names are camelCase; snake_case is accepted. Numbers may be strings or null. The kind of a job follows from
its fields, never from its name: a job with a session and without delivery fields is bound to that session; a
job without a session gets its own, `cron:ID`, and keeps its delivery fields. Nothing else is inferred.

Invariants
  - an invalid record is reported and skipped; the others are imported
  - a job keeps its id, so that a second import of a file changes nothing
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any

from segue.cli.support.progress import Tell
from segue.errors import BadText, DuplicateId, Invalid, NotFound, SegueError
from segue.kernel.kernel import Kernel
from segue.model.action import Ask
from segue.model.records import Asker
from segue.model.states import JobKind, JobState
from segue.model.text_checks import check_key, check_text
from segue.record import record
from segue.times.clock import to_moment
from segue.times.format import quoted
from segue.times.trigger import At, Cron, Every, Trigger, resolve

_TURN = ("agent_turn", "agentturn")
_SYSTEM = ("system_event", "systemevent")


class ImportOutcome(StrEnum):
    """The result for a record."""

    IMPORTED = "imported"
    PAUSED = "paused"
    """Imported as a paused job, because it was paused."""
    THERE = "there"
    """It was imported earlier."""
    OVER = "over"
    """Its only time has passed."""
    SYSTEM = "system"
    """A system job of the other program. Segue has its own."""
    MALFORMED = "malformed"


@record
class Imported:
    """The result for one record of the file."""

    number: int
    """Its number in the file, from 1."""
    id: str | None
    name: str | None
    kind: JobKind | None
    session_key: str | None
    fate: ImportOutcome
    reason: str | None = None


@record
class JobRecord:
    """A valid record."""

    id: str
    name: str
    enabled: bool
    kind: JobKind
    session_key: str
    trigger: Trigger
    action: Ask


@record
class Zones:
    """Zones for cron expressions without a zone."""

    given: str | None = None
    """Takes precedence over the zones of the session and of the settings."""
    otherwise: str | None = None
    """Used if the session and the settings have none."""


_NO_ZONES = Zones()


class _System(Exception):
    """The record is a system job."""


def records_of(text: str) -> list[Any]:
    """The records of a store, not validated. Raises BadText if the text is not a store."""
    try:
        store = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadText(f"the job store is not JSON: {error}") from None
    match store:
        case {"jobs": list(jobs)} | list(jobs):
            return list(jobs)
    raise BadText('a job store is {"version": …, "jobs": […]}, or the list of jobs alone')


async def import_jobs(
    kernel: Kernel,
    records: Sequence[Any],
    *,
    owner: Asker,
    zones: Zones = _NO_ZONES,
    dry_run: bool = False,
    tell: Tell = lambda words: None,
) -> list[Imported]:
    """Import the records one by one. With `dry_run`, return the results without writing."""
    results = []
    for number, each in enumerate(records, start=1):
        tell(f"Importing job {number:,} of {len(records):,}")
        results.append(await _import(kernel, number, each, owner, zones, dry_run))
    return results


async def _import(
    kernel: Kernel, number: int, record: Any, owner: Asker, zones: Zones, dry_run: bool
) -> Imported:
    result = Imported(
        number=number,
        id=_text(record, "id"),
        name=_text(record, "name"),
        kind=None,
        session_key=None,
        fate=ImportOutcome.MALFORMED,
    )
    try:
        job = read_record(record)
    except _System:
        return replace(result, kind=JobKind.SYSTEM, fate=ImportOutcome.SYSTEM, reason="Segue brings its own")
    except SegueError as wrong:
        return replace(result, reason=str(wrong))
    fate, reason = await _import_job(kernel, job, owner, zones, dry_run)
    return replace(result, kind=job.kind, session_key=job.session_key, fate=fate, reason=reason)


async def _import_job(
    kernel: Kernel, job: JobRecord, owner: Asker, zones: Zones, dry_run: bool
) -> tuple[ImportOutcome, str | None]:
    if (known := await _already_imported(kernel, job, owner)) is not None:
        return known
    session = await kernel.sessions.find(job.session_key, owner=owner)
    zone = kernel.sessions.zone_in(session, zones.given) or zones.otherwise
    now = to_moment(kernel.clock.ms())
    try:
        trigger = resolve(job.trigger, now=now, zone=zone)
        if trigger.first(now) is None:
            return ImportOutcome.OVER, "its only moment has passed"
        if not dry_run:
            await _create(kernel, replace(job, trigger=trigger), owner)
    except DuplicateId:  # another process imports the same file at the same time
        return ImportOutcome.THERE, None
    except SegueError as wrong:
        return ImportOutcome.MALFORMED, str(wrong)
    return (ImportOutcome.IMPORTED if job.enabled else ImportOutcome.PAUSED), None


async def _already_imported(
    kernel: Kernel, job: JobRecord, owner: Asker
) -> tuple[ImportOutcome, str | None] | None:
    try:
        existing = (await kernel.jobs.load(job.id, removed=True, owner=owner)).job
    except NotFound:
        if await kernel.jobs.is_taken(job.id):
            return ImportOutcome.MALFORMED, f"the id {job.id} is taken; give the record another one"
        return None
    return ImportOutcome.THERE, "it was removed since" if existing.state is JobState.REMOVED else None


async def _create(kernel: Kernel, job: JobRecord, owner: Asker) -> None:
    created = await kernel.schedule(
        job.session_key,
        job.trigger,
        job.action,
        name=job.name,
        kind=job.kind,
        owner=owner,
        job_id=job.id,
    )
    if not job.enabled:
        await kernel.jobs.pause(created.id, reason="it was paused when it was imported", owner=owner)


def read_record(record: Any) -> JobRecord:
    """Validate a record. Raises Invalid with the reason."""
    job = _object(record, "a record")
    job_id = check_text(_text(job, "id"), "id", longest=200)
    payload = _object(_get(job, "payload"), "payload")
    kind = str(_get(payload, "kind") or _TURN[0]).lower()
    if kind in _SYSTEM:
        raise _System
    if kind not in _TURN:
        raise Invalid(f"payload.kind is agent_turn or system_event, got {quoted(_get(payload, 'kind'))}")
    message = check_text(_get(payload, "message"), "payload.message")
    trigger = _trigger(job)
    session_key, bound, to = _session_of(payload, job_id)
    meta = _object(_get(payload, "channel_meta") or {}, "payload.channelMeta")
    return JobRecord(
        id=job_id,
        name=_text(job, "name") or message.strip().splitlines()[0][:80],
        enabled=_get(job, "enabled") is not False,
        kind=JobKind.CRON if bound else JobKind.LEGACY,
        session_key=session_key,
        trigger=trigger,
        action=Ask(message, to=to, channel_meta=(meta or None) if to else None),
    )


def _session_of(payload: Mapping[str, Any], job_id: str) -> tuple[str, bool, str | None]:
    """The session's key, whether the job is bound to it, and the address for a legacy job's answers."""
    session_key = _get(payload, "session_key") or None
    channel, to, deliver = (_get(payload, name) for name in ("channel", "to", "deliver"))
    bound = bool(session_key) and not any((channel, to, deliver, _get(payload, "channel_meta")))
    address = check_key(f"{channel}:{to}") if deliver and channel and to else None
    return check_key(session_key or f"cron:{job_id}"), bound, address


def _trigger(job: Mapping[str, Any]) -> Trigger:
    schedule = _object(_get(job, "schedule"), "schedule")
    match _get(schedule, "kind"):
        case "at":
            return At(to_moment(_milliseconds(schedule, "at_ms")))
        case "every":
            return _every(job, schedule)
        case "cron":
            expr = check_text(_get(schedule, "expr"), "schedule.expr", longest=500)
            return Cron(expr, tz=_get(schedule, "tz") or None)
        case other:
            raise Invalid(f"schedule.kind is at, every or cron, got {quoted(other)}")


def _every(job: Mapping[str, Any], schedule: Mapping[str, Any]) -> Every:
    """Keeps the phase: counts from the next run, or from the creation of the job."""
    state = _get(job, "state")
    for holder, name in ((state, "next_run_at_ms"), (job, "created_at_ms")):
        if isinstance(holder, Mapping) and _get(holder, name) is not None:
            return Every(
                _milliseconds(schedule, "every_ms") / 1000, start=to_moment(_milliseconds(holder, name))
            )
    return Every(_milliseconds(schedule, "every_ms") / 1000)


def _milliseconds(holder: Mapping[str, Any], name: str) -> int:
    """Accepts a number or its text. Raises Invalid."""
    value = _get(holder, name)
    try:
        number = None if isinstance(value, bool) else round(float(value))
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None or not 0 < number < _LARGEST:
        raise Invalid(f"{_camel(name)} is a number of milliseconds, got {quoted(value)}")
    return number


_LARGEST = 1 << 47
"""Milliseconds; the year 6429. A larger value is an error in the store."""


def _get(holder: Mapping[str, Any], name: str) -> Any:
    """The field by its camelCase name, else by its snake_case name."""
    camel = _camel(name)
    return holder[camel] if camel in holder else holder.get(name)


def _camel(name: str) -> str:
    return re.sub(r"_([a-z])", lambda match: match[1].upper(), name)


def _text(holder: Any, name: str) -> str | None:
    """The id or the name for the report. Some stores have numbers as ids."""
    value = holder.get(name) if isinstance(holder, Mapping) else None
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value.strip() else None


def _object(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise Invalid(f"{what} is an object, got {quoted(value)}")
    return value
