"""Renders a prompt from its facts: the same facts give the same text, in every process and at any time."""

import hashlib
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from segue.model.prompts.templates import Mode, published
from segue.record import record
from segue.times.clock import to_moment
from segue.times.format import spoken

ON_TIME_MS = 60_000
"""Lanes, timers and restarts take some seconds, which do not count as late."""


@record
class PromptFacts:
    """The facts of a scheduled turn that are known when its slot fires. The others are known at its start."""

    template: str
    version: int
    slot: int
    zone: str
    missed: int = 0
    previous: str | None = None
    """How the job's last run ended; None when there was none."""
    mode: str = Mode.TURN
    to: str | None = None
    """The key of the session that gets a legacy job's answer."""
    model: str | None = None
    """The short name of the model that the job asks for."""
    look: str | None = None
    """The short name of the model that looks first."""
    guarded: bool = False
    """The job has conditions, which are checked again when the turn starts."""
    through: bool = False
    """A user asked for this very run: its answer does not wait."""

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _FIELDS}


_FIELDS = tuple(field.name for field in fields(PromptFacts))


@record
class PromptRef:
    id: str
    version: int
    sha256: str
    """Of the rendered text."""

    def to_json(self) -> dict[str, Any]:
        return {"id": self.id, "version": self.version, "sha256": self.sha256}


@record
class RenderedPrompt:
    ref: PromptRef
    vars: Mapping[str, Any]
    """The values of the template, without the job's message, with which the text ends."""
    text: str


def prompt_facts_from_json(data: Mapping[str, Any]) -> PromptFacts:
    """The facts of a stored object, without fields that a newer version added."""
    return PromptFacts(**{name: data[name] for name in _FIELDS if name in data})


@lru_cache(128)  # each turn needs it at its start, for its agent and at its end
def render(brief: PromptFacts, *, job: str, message: str, now: int) -> RenderedPrompt | None:
    """The prompt of a turn that starts now; None when this version knows no such template."""
    template = published(brief.template, brief.version)
    if template is None:
        return None
    values = _values(brief, job, now)
    text = template.fill({**values, "message": message})
    return RenderedPrompt(ref=_ref(template.id, template.version, text), vars=values, text=text)


def kept(brief: PromptFacts, *, version: int, job: str, text: str, now: int) -> RenderedPrompt:
    """The prompt of a turn that started at `now`, from its stored text and template version."""
    return RenderedPrompt(ref=_ref(brief.template, version, text), vars=_values(brief, job, now), text=text)


def _ref(template_id: str, version: int, text: str) -> PromptRef:
    return PromptRef(id=template_id, version=version, sha256=hashlib.sha256(text.encode()).hexdigest())


def _values(brief: PromptFacts, job: str, now: int) -> dict[str, Any]:
    zone = _zone(brief.zone)
    return {
        "job": job,
        "scheduled_for": _local(brief.slot // 1000, zone),
        "now": _local(now // 1000, zone),
        "zone": str(zone),
        "lateness": _lateness(now - brief.slot),
        "missed_count": brief.missed,
        "previous_outcome": brief.previous or "none, this is the first",
    }


@lru_cache(64)
def _zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # stored by a machine with a newer zone database
        return UTC


@lru_cache(256)  # many turns are due, and start, in the same second
def _local(second: int, zone: tzinfo) -> str:
    moment: datetime = to_moment(second * 1000).astimezone(zone)
    return f"{moment:%A} {moment.isoformat(timespec='seconds')}"


def _lateness(ms: int) -> str:
    if ms < ON_TIME_MS:
        return "on time"
    return f"{spoken(timedelta(milliseconds=ms), units=2)} late"
