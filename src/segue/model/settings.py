"""The kernel's settings, checked when they are made."""

from dataclasses import dataclass
from zoneinfo import ZoneInfo

from segue.errors import BadSetting
from segue.model.auto_commit import AutoCommitPolicy
from segue.model.policy import Busy
from segue.model.states import UnifiedOwner, WhenBusy

_LARGEST = 1_000_000
_LEAST = {
    "runners": 0,
    "user_runners": 0,
    "lease_seconds": 0.1,
    "patience_seconds": 0,
    "turn_timeout_seconds": 1,
    "shutdown_grace_seconds": 0,
    "send_timeout_seconds": 0.1,
    "runs_per_job": 1,
    "retention_days": 1,
    "jobs_per_session": 1,
    "least_interval_seconds": 1,
    "commit_check_seconds": 0.1,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    runners: int = 3
    """Scheduled turns at once in this process."""
    user_runners: int = 32
    """Users' turns at once in this process."""
    lease_seconds: float = 15
    """How long a lane stays with a worker that went silent. Renewed every third of it; a worker that cannot
    renew it stops its turn a third of it before the end."""
    patience_seconds: float = 120
    """How long a scheduled turn lets users go first in its lane."""
    turn_timeout_seconds: float = 900
    """For users' turns; a scheduled one has its job's."""
    shutdown_grace_seconds: float = 20
    """How long running turns may take to end before the crash rule ends them."""
    send_timeout_seconds: float = 60
    """How long a channel may take over one message; after that nobody knows whether it arrived."""
    when_busy: WhenBusy = WhenBusy.ENQUEUE
    """For sessions that have no rule of their own."""
    recall_on_busy: Busy = Busy.WAIT
    """What a recall does when it is due in a busy session."""
    unified_session: bool = False
    """Whether all chats of a user share one conversation, `unified:default`."""
    unified_owner: UnifiedOwner = UnifiedOwner.CHAT
    """Who owns a cron job that is made while they do."""
    timezone: str | None = None
    """For times that name no zone in sessions that have none. Unset, such times are refused."""
    runs_per_job: int = 200
    """Run records kept of each job."""
    retention_days: int = 90
    """How long records of turns and runs are kept; the newest run of a job stays."""
    jobs_per_session: int = 50
    """Automations that users may have in one session."""
    least_interval_seconds: float = 10
    """How close together the runs of a user's automation may be."""
    auto_commit_policy: AutoCommitPolicy | None = None
    """For sessions that are made without a word about it."""
    idle_commits: bool = True
    """Whether quiet sessions are committed at all."""
    commit_check_seconds: float = 60
    """The longest time between two looks for sessions to commit; due moments need none."""

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            value = getattr(self, name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not least <= value <= _LARGEST:
                raise BadSetting(f"{name} is a number from {least:g} to {_LARGEST:,}, got {value!r}")
        if self.when_busy not in list(WhenBusy):
            raise BadSetting(f"when_busy is one of {', '.join(WhenBusy)}, got {self.when_busy!r}")
        if self.unified_owner not in list(UnifiedOwner):
            raise BadSetting(f"unified_owner is one of {', '.join(UnifiedOwner)}, got {self.unified_owner!r}")
        if self.recall_on_busy not in list(Busy):
            raise BadSetting(f"recall_on_busy is one of {', '.join(Busy)}, got {self.recall_on_busy!r}")
        if self.timezone is not None:
            check_zone(self.timezone)


def check_zone(name: object) -> None:
    try:
        ZoneInfo(name)  # type: ignore[arg-type]
    except (KeyError, TypeError, ValueError, OSError) as error:  # not found · not a name · a folder
        raise BadSetting(f"timezone is an IANA name such as 'Europe/Berlin', got {name!r}") from error
