"""Importing cron jobs from the public JSON store of this design.

    {"version": 1, "jobs": [{"id", "name", "enabled", "schedule": {"kind", "atMs" | "everyMs" | "expr", "tz"},
     "payload": {"kind", "message", "sessionKey", "deliver", "channel", "to", "channelMeta"},
     "state": {"nextRunAtMs", …}, "createdAtMs", …}]}

camelCase as that store writes it, with snake_case tolerated; numbers may be strings or null. What a job is
comes from its stored fields, never from its name: with a session and no delivery fields it is bound to that
session; without a session it keeps one of its own, `cron:ID`, and its old way of delivery. Nothing is
migrated or inferred.

Invariants
  - a record that cannot be read is reported and skipped; the others are imported
  - a job keeps its id, so that importing a file twice imports it once
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any

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
    """What became of a record."""

    IMPORTED = "imported"
    PAUSED = "paused"
    """Imported, and paused as it was."""
    THERE = "there"
    """It was imported before."""
    OVER = "over"
    """Its only moment has passed."""
    SYSTEM = "system"
    """A job of the other system's own. Segue brings its own."""
    MALFORMED = "malformed"


@record
class Imported:
    """A record of the file, and what became of it."""

    place: int
    """Its number in the file, from 1."""
    id: str | None
    name: str | None
    kind: JobKind | None
    session_key: str | None
    fate: ImportOutcome
    reason: str | None = None


@record
class JobRecord:
    """A record that could be read."""

    id: str
    name: str
    enabled: bool
    kind: JobKind
    session_key: str
    trigger: Trigger
    action: Ask


@record
class Zones:
    """For cron lines that name no zone."""

    given: str | None = None
    """Goes before the zone of the session and of the settings."""
    otherwise: str | None = None
    """Where they have none."""


_NO_ZONES = Zones()


class _System(Exception):
    """The record is of a job of the system's own."""


def records_of(text: str) -> list[Any]:
    """The records of a store, unread. BadText when it is no store at all."""
    try:
        store = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadText(f"the job store is not JSON: {error}") from None
    match store:
        case {"jobs": list(jobs)} | list(jobs):
            return list(jobs)
    raise BadText('a job store is {"version": …, "jobs": […]}, or the list of jobs alone')


async def import_jobs(
    kernel: Kernel, records: Iterable[Any], *, owner: Asker, zones: Zones = _NO_ZONES, dry_run: bool = False
) -> list[Imported]:
    """Import them one by one. `dry_run` writes nothing and tells what would become of each."""
    return [
        await _import(kernel, place, record, owner, zones, dry_run)
        for place, record in enumerate(records, start=1)
    ]


async def _import(
    kernel: Kernel, place: int, record: Any, owner: Asker, zones: Zones, dry_run: bool
) -> Imported:
    unread = Imported(
        place=place,
        id=_text(record, "id"),
        name=_text(record, "name"),
        kind=None,
        session_key=None,
        fate=ImportOutcome.MALFORMED,
    )
    try:
        found = read_record(record)
    except _System:
        return replace(unread, kind=JobKind.SYSTEM, fate=ImportOutcome.SYSTEM, reason="Segue brings its own")
    except SegueError as wrong:
        return replace(unread, reason=str(wrong))
    fate, reason = await _settled(kernel, found, owner, zones, dry_run)
    return replace(unread, kind=found.kind, session_key=found.session_key, fate=fate, reason=reason)


async def _settled(
    kernel: Kernel, found: JobRecord, owner: Asker, zones: Zones, dry_run: bool
) -> tuple[ImportOutcome, str | None]:
    if (known := await _known(kernel, found, owner)) is not None:
        return known
    session = await kernel.find(found.session_key, owner=owner)
    zone = kernel.zone_in(session, zones.given) or zones.otherwise
    now = to_moment(kernel.clock.ms())
    try:
        trigger = resolve(found.trigger, now=now, zone=zone)
        if trigger.first(now) is None:
            return ImportOutcome.OVER, "its only moment has passed"
        if not dry_run:
            await _make(kernel, replace(found, trigger=trigger), owner)
    except DuplicateId:  # somebody imports the same file just now
        return ImportOutcome.THERE, None
    except SegueError as wrong:
        return ImportOutcome.MALFORMED, str(wrong)
    return (ImportOutcome.IMPORTED if found.enabled else ImportOutcome.PAUSED), None


async def _known(kernel: Kernel, found: JobRecord, owner: Asker) -> tuple[ImportOutcome, str | None] | None:
    try:
        there = await kernel.store.job(found.id)
        session = await kernel.store.session_by_id(there.session_id)
    except NotFound:
        return None
    if not owner.reaches(session.owner):
        return ImportOutcome.MALFORMED, f"the id {found.id} is taken; give the record another one"
    return ImportOutcome.THERE, "it was removed since" if there.state is JobState.REMOVED else None


async def _make(kernel: Kernel, found: JobRecord, owner: Asker) -> None:
    job = await kernel.schedule(
        found.session_key,
        found.trigger,
        found.action,
        name=found.name,
        kind=found.kind,
        owner=owner,
        job_id=found.id,
    )
    if not found.enabled:
        await kernel.pause(job.id, reason="it was paused when it was imported", owner=owner)


def read_record(record: Any) -> JobRecord:
    """A record as a job of ours, or Invalid with what is wrong with it."""
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
    session_key, bound, to = _place(payload, job_id)
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


def _place(payload: Mapping[str, Any], job_id: str) -> tuple[str, bool, str | None]:
    """The session, whether the job is bound to it, and where a legacy one's answer is said."""
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
    """In the rhythm that it had: from its next run, or from when it was made."""
    state = _get(job, "state")
    for holder, name in ((state, "next_run_at_ms"), (job, "created_at_ms")):
        if isinstance(holder, Mapping) and _get(holder, name) is not None:
            return Every(
                _milliseconds(schedule, "every_ms") / 1000, start=to_moment(_milliseconds(holder, name))
            )
    return Every(_milliseconds(schedule, "every_ms") / 1000)


def _milliseconds(holder: Mapping[str, Any], name: str) -> int:
    """A number, or its text."""
    value = _get(holder, name)
    try:
        number = None if isinstance(value, bool) else round(float(value))
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None or not 0 < number < _LARGEST:
        raise Invalid(f"{_camel(name)} is a number of milliseconds, got {quoted(value)}")
    return number


_LARGEST = 1 << 47
"""Milliseconds; the year 6429, beyond which no store means what it says."""


def _get(holder: Mapping[str, Any], name: str) -> Any:
    """By its camelCase name, else by its snake_case one."""
    camel = _camel(name)
    return holder[camel] if camel in holder else holder.get(name)


def _camel(name: str) -> str:
    return re.sub(r"_([a-z])", lambda found: found[1].upper(), name)


def _text(holder: Any, name: str) -> str | None:
    """The id or the name, for whoever reads the report; numbers were seen as ids."""
    value = holder.get(name) if isinstance(holder, Mapping) else None
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value.strip() else None


def _object(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise Invalid(f"{what} is an object, got {quoted(value)}")
    return value
