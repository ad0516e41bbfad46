"""Job policies: what a job does when it is late, its session is busy, it overlaps itself or it fails.

`decision` applies a policy to a due slot.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from segue.errors import BadPolicy, BadTrigger
from segue.model.conditions.vocabulary import Condition, Otherwise, read_conditions
from segue.model.cost.budget import Budget
from segue.model.quiet.choices import Quiet, Tell
from segue.times.format import quoted
from segue.times.moment import storable

if TYPE_CHECKING:
    import random

PAUSE_AFTER_FAILURES = 10
"""A job that failed this often in a row is paused, and its session is told."""

_FIRST_BACKOFF_SECONDS = 10
_LONGEST_BACKOFF_SECONDS = 600

JSON: TypeAlias = dict[str, Any]


class Late(StrEnum):
    """What happens to slots that passed while no worker was running."""

    RUN_ONCE = "run_once"
    """The newest one runs, if it is within the grace; the others are recorded as missed."""
    SKIP = "skip"
    """None of them runs; the job goes on with its next slot."""
    ALL = "all"
    """Those within the grace run in order, at most the newest `catch_up` of them, even if others wait."""


class Busy(StrEnum):
    """What happens to a due slot while its session is busy with something else."""

    WAIT = "wait"
    """It joins the lane and runs after the turns before it."""
    POSTPONE = "postpone"
    """It stays out of the lane and is tried again a minute later."""
    SKIP = "skip"
    """It is recorded as skipped."""


class Overlap(StrEnum):
    """What happens to a due slot while an earlier run of the same job has not ended."""

    BUFFER_ONE = "buffer_one"
    """One run may wait behind the running one; slots beyond that are recorded as skipped."""
    SKIP = "skip"
    """It is recorded as skipped."""
    BUFFER_ALL = "buffer_all"
    """It waits, no matter how many wait already."""


class Crash(StrEnum):
    """What happens to a running turn whose worker was lost."""

    AUTO = "auto"
    """It runs again if it had started no tool call; otherwise it ends as interrupted."""
    CLOSE = "close"
    """It ends as interrupted."""
    RERUN = "rerun"
    """It runs again, even if it may have acted."""


class _Range(NamedTuple):
    low: int
    high: int
    whole: bool = False
    optional: bool = False


_ENUMS: dict[str, type[StrEnum]] = {
    "late": Late,
    "busy": Busy,
    "overlap": Overlap,
    "crash": Crash,
    "otherwise": Otherwise,
    "tell": Tell,
}
_RANGES = {
    "grace_seconds": _Range(1, 10 * 365 * 86_400),
    "retries": _Range(0, 100, whole=True),
    "jitter_seconds": _Range(0, 86_400),
    "max_runs": _Range(1, 1_000_000_000, whole=True, optional=True),
    "timeout_seconds": _Range(1, 7 * 86_400),
    "catch_up": _Range(1, 100, whole=True),
    "renew_after": _Range(1, 1000, whole=True, optional=True),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What a job does when it is late, its session is busy, it overlaps itself or it fails.

    `docs/guides/policies.md` explains every field. Raises `BadPolicy` for a value that cannot be used.
    """

    late: Late = Late.RUN_ONCE
    grace_seconds: float = 86_400
    """How late a slot may still run."""
    busy: Busy = Busy.WAIT
    overlap: Overlap = Overlap.BUFFER_ONE
    retries: int = 0
    """How often a failed turn is tried again, at growing intervals."""
    jitter_seconds: float = 0
    """Each slot fires up to this much later, so that many jobs are not due at once. Keep it below the job's
    interval: slots that pass in that time count as late."""
    max_runs: int | None = None
    """The job ends after this many runs; missed and skipped slots do not count."""
    until: datetime | None = None
    """The job ends with its last slot at or before this moment."""
    timeout_seconds: float = 900
    """How long a turn may take."""
    crash: Crash = Crash.AUTO
    catch_up: int = 10
    """The most slots that `late = all` runs after a gap."""
    budget: Budget | None = None
    """How much its runs may use in a period: a `Budget`, or `{"usd": 0.5, "per": "day", "over": "skip"}`."""
    when: tuple[Condition, ...] | None = None
    """Conditions on the conversation: a slot runs only if all of them hold."""
    otherwise: Otherwise = Otherwise.SKIP
    """What happens to a slot whose conditions do not hold."""
    renew_after: int | None = None
    """After this many reports in a row without an answer, the job asks whether to go on, and is paused."""
    quiet: Quiet | None = None
    """What it does in the quiet hours of its session; None: what is usual for such a job (`choice_of`)."""
    tell: Tell = Tell.NOW
    """When its answers are sent."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "otherwise", self.otherwise or Otherwise.SKIP)  # null without `when`
        object.__setattr__(self, "tell", self.tell or Tell.NOW)
        if self.quiet is not None:
            object.__setattr__(self, "quiet", _member("quiet", self.quiet, Quiet))
        for name, kind in _ENUMS.items():
            object.__setattr__(self, name, _member(name, getattr(self, name), kind))
        for name, limits in _RANGES.items():
            _check_number(name, getattr(self, name), limits)
        if self.until is not None:
            object.__setattr__(self, "until", _moment(self.until))
        if self.budget is not None:
            object.__setattr__(self, "budget", _budget(self.budget))
        if self.when is not None:
            object.__setattr__(self, "when", read_conditions(self.when))

    def to_json(self) -> JSON:
        # A default is written as null: an older worker pauses a job with values that it cannot read.
        return asdict(self) | {
            "until": self.until.isoformat() if self.until else None,
            "budget": self.budget.to_json() if self.budget else None,
            "when": [one.to_json() for one in self.when] if self.when else None,
            "otherwise": str(self.otherwise) if self.when else None,
            "quiet": str(self.quiet) if self.quiet else None,
            "tell": None if self.tell is Tell.NOW else str(self.tell),
        }

    @property
    def unreadable(self) -> str | None:
        """A sentence about the parts that this version cannot read. A job with such a policy is paused."""
        return None

    def changed(self, given: Mapping[str, Any]) -> "Policy":
        """The policy with these fields changed. Raises BadPolicy."""
        return Policy.from_json({**self.to_json(), **given})

    @staticmethod
    def stored(data: object) -> "Policy":
        """The policy of a stored object. Parts that this version cannot read are kept for newer versions."""
        if not isinstance(data, Mapping):
            raise BadPolicy(f"a stored policy is an object, got {quoted(data)}")
        known = {name: value for name, value in data.items() if name in _FIELDS}
        try:
            policy = Policy(**known)
        except BadPolicy:
            known = {name: value for name, value in known.items() if _is_read(name, value)}
            policy = Policy(**known)
        if len(known) == len(data):
            return policy
        return NewerPolicy(**known, unread={name: data[name] for name in data if name not in known})

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Policy":
        if not isinstance(data, Mapping):
            raise BadPolicy(f"a policy is an object such as {{'late': 'skip'}}, got {quoted(data)}")
        for name in data:
            if name not in _FIELDS:
                raise BadPolicy(f"a policy has no field {quoted(name)}; {_nearest(name, _FIELDS)}")
        return cls(**data)


_FIELDS = tuple(each.name for each in fields(Policy))


@dataclass(frozen=True, slots=True, kw_only=True)
class NewerPolicy(Policy):
    """A stored policy with parts that this version cannot read. They are written back unchanged."""

    unread: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def unreadable(self) -> str | None:
        # A field without a value has no effect: a newer version writes it with every policy.
        parts = [f"{name}={quoted(value)}" for name, value in self.unread.items() if value is not None]
        if not parts:
            return None
        return (
            f"its policy has {', '.join(parts)}, which this version of Segue cannot read; run it with a "
            "newer version, or give it another policy"
        )

    def to_json(self) -> JSON:
        known = Policy.to_json(self)
        del known["unread"]
        return {**known, **self.unread}

    def changed(self, given: Mapping[str, Any]) -> Policy:
        """As for every policy. An unread part is dropped if it is given as null or as a readable value."""
        unread = {name: value for name, value in self.unread.items() if name not in given}
        known = {name: value for name, value in self.to_json().items() if name not in self.unread}
        dropped = {name for name in self.unread if name not in _FIELDS and given.get(name) is None}
        read = Policy.from_json(known | {name: given[name] for name in given if name not in dropped})
        return Policy.stored({**read.to_json(), **unread})


def jittered(slot: datetime, policy: Policy, job_id: str) -> datetime:
    """When the timer looks at a slot. The same job and slot give the same moment in every process."""
    if not policy.jitter_seconds:
        return slot
    digest = hashlib.sha256(f"{job_id} {slot.timestamp():.3f}".encode()).digest()
    share = int.from_bytes(digest[:4]) / 2**32
    return slot + timedelta(milliseconds=int(share * policy.jitter_seconds * 1000))


def backoff(attempt: int, rng: "random.Random") -> timedelta:
    """How long to wait after the failure of an attempt (1 is the first).

    A random time up to a limit that doubles, so that a thousand turns that fail at once are not retried at
    once.
    """
    doublings = min(attempt - 1, 10)
    limit = min(_LONGEST_BACKOFF_SECONDS, _FIRST_BACKOFF_SECONDS * 2**doublings)
    return timedelta(seconds=rng.uniform(0, limit))


def _member(name: str, value: object, kind: type[StrEnum]) -> StrEnum:
    for member in kind:
        if value == member:
            return member
    raise BadPolicy(f"{name} is one of {', '.join(kind)}; got {quoted(value)}")


def _check_number(name: str, value: object, limits: _Range) -> None:
    if value is None and limits.optional:
        return
    number = isinstance(value, int if limits.whole else int | float) and not isinstance(value, bool)
    # NaN is refused here too: every comparison with it is false.
    if not number or not limits.low <= value <= limits.high:  # type: ignore[operator]
        what = "a whole number" if limits.whole else "a number"
        raise BadPolicy(f"{name} is {what} from {limits.low:,} to {limits.high:,}; got {quoted(value)}")


def _moment(value: object) -> datetime:
    try:
        return storable(datetime.fromisoformat(value) if isinstance(value, str) else value, "until")
    except (ValueError, BadTrigger):
        raise BadPolicy(
            f"until is a moment with a zone, for example '2030-01-01T00:00:00+00:00'; got {quoted(value)}"
        ) from None


def _budget(value: object) -> Budget:
    return value if isinstance(value, Budget) else Budget.from_json(value)


def _is_read(name: str, value: object) -> bool:
    try:
        Policy(**{name: value})  # type: ignore[arg-type]
    except BadPolicy:
        return False
    return True


def _nearest(name: object, known: Sequence[str]) -> str:
    from difflib import get_close_matches  # only a mistake needs it

    close = get_close_matches(quoted(name), known, n=1, cutoff=0.45)
    return f"did you mean {close[0]}?" if close else f"it has {', '.join(known)}"
