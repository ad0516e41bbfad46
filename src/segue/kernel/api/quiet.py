"""Quiet hours of sessions: checks what a caller sets, and says what holds now."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from segue.errors import BadSetting
from segue.kernel.api.context import ApiContext
from segue.kernel.transactions.quiet.held import DefaultHours, hours_of
from segue.model.quiet.digest import Digest
from segue.model.quiet.holding import SpeakingHours
from segue.model.quiet.hours import NONE, QuietHours
from segue.model.records import Overview, Session
from segue.times.clock import to_moment, to_ms

GivenQuiet: TypeAlias = QuietHours | Mapping[str, Any] | None
GivenDigest: TypeAlias = Digest | Mapping[str, Any] | None

NO_PUSH = "The digest has no effect: no channel sends the messages of this session, so nothing waits."


def quiet_text(given: GivenQuiet) -> str:
    """The stored text; None means that there are no quiet hours, whatever the settings say."""
    hours = given if isinstance(given, QuietHours) else NONE if given is None else QuietHours.from_json(given)
    return json.dumps(hours.to_json())


def digest_text(given: GivenDigest) -> str | None:
    if given is None:
        return None
    return json.dumps((given if isinstance(given, Digest) else Digest.from_json(given)).to_json())


def default_hours(context: ApiContext) -> DefaultHours:
    return DefaultHours(context.settings.quiet, context.settings.timezone or "UTC")


def speaking_hours(context: ApiContext, lane: Session) -> SpeakingHours:
    """When a session may be spoken to; without what this version cannot read."""
    try:
        return hours_of(lane, default_hours(context))
    except BadSetting:
        return SpeakingHours(quiet=None, digest=None, zone="UTC")


def with_hours(context: ApiContext, overview: Overview, lane: Session) -> Overview:
    """The overview of a session whose turns run in `lane`, with what holds there now."""
    if not (lane.quiet or lane.digest or context.settings.quiet):
        return overview
    hours = speaking_hours(context, lane)
    window = hours.window_at(to_moment(context.clock.ms()))
    return replace(
        overview,
        quiet=hours.quiet.to_json() if hours.quiet and hours.quiet.days else None,
        digest=hours.digest.to_json() if hours.digest else None,
        quiet_until=to_ms(window.end) if window else None,
    )
