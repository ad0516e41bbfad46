"""Settings of a kernel, checked when they are made."""

from collections.abc import Mapping
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from segue.errors import BadSetting, UnknownModel
from segue.model.auto_commit import AutoCommitPolicy
from segue.model.cost.budget import Budget
from segue.model.cost.prices import Price, PriceTable, built_in_prices
from segue.model.policy import Busy
from segue.model.quiet.hours import QuietHours
from segue.model.states import UnifiedOwner, WhenBusy
from segue.times.format import quoted

DEFAULT_MODEL = "default"
"""The name of the default model in `max_running_turns_by_model`."""
_LARGEST = 1_000_000
LARGEST_FILE_MEGABYTES = 200
_LEAST = {
    "runners": 0,
    "user_runners": 0,
    "max_running_turns": 0,
    "lease_seconds": 0.1,
    "patience_seconds": 0,
    "turn_timeout_seconds": 1,
    "shutdown_grace_seconds": 0,
    "send_timeout_seconds": 0.1,
    "runs_per_job": 1,
    "retention_days": 1,
    "jobs_per_session": 1,
    "least_interval_seconds": 1,
    "file_megabytes": 0.001,
    "session_files_megabytes": 0.001,
    "commit_check_seconds": 0.1,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of a kernel: `docs/reference/settings.md`. Raises `BadSetting`."""

    runners: int = 3
    """Scheduled turns that run at once in this process."""
    user_runners: int = 32
    """Users' turns that run at once in this process."""
    max_running_turns: int = 0
    """Turns that run at once in all processes on the database, which all need the same value; 0: no limit."""
    max_running_turns_by_model: Mapping[str, int] | None = None
    """The same for single models, by their names in `models`; `default` is the default model."""
    lease_seconds: float = 15
    """How long a lane stays with a worker that stopped responding. A worker renews it after each third, and
    stops its turn a third before the end if it cannot renew it."""
    patience_seconds: float = 120
    """How long users' turns go before a waiting scheduled turn in the same lane."""
    turn_timeout_seconds: float = 900
    """For users' turns; a scheduled turn has the timeout of its job."""
    shutdown_grace_seconds: float = 20
    """How long running turns may take to end before the crash rule ends them."""
    send_timeout_seconds: float = 60
    """How long a channel may take to send one message; after that it is unknown whether it arrived."""
    when_busy: WhenBusy = WhenBusy.ENQUEUE
    """For sessions without a rule of their own."""
    recall_on_busy: Busy = Busy.WAIT
    """What a recall does when it is due in a busy session."""
    unified_session: bool = False
    """Whether all chats of a user share one conversation, `unified:default`."""
    unified_owner: UnifiedOwner = UnifiedOwner.CHAT
    """The session that owns a cron job that is made in this mode."""
    timezone: str | None = None
    """For times without a zone in sessions without a zone. If unset, such times are refused."""
    runs_per_job: int = 200
    """How many runs of each job are stored."""
    retention_days: int = 90
    """How long turns and runs are stored; the newest run of a job stays."""
    jobs_per_session: int = 50
    """Automations that users may have in one session."""
    least_interval_seconds: float = 10
    """The least time between two runs of a user's cron job."""
    file_megabytes: float = 20
    """The largest file that a message may have; at most 200."""
    session_files_megabytes: float = 100
    """What all files of a session may have together."""
    auto_commit_policy: AutoCommitPolicy | None = None
    """For sessions that are made without a policy."""
    account_budget: Budget | None = None
    """What the scheduled runs of each account may use in a period."""
    quiet: QuietHours | None = None
    """The quiet hours of sessions that have none of their own."""
    idle_commits: bool = True
    """Whether sessions are archived after a silence."""
    commit_check_seconds: float = 60
    """The longest time between two checks for sessions to archive; due sessions do not wait for it."""

    models: Mapping[str, str] | None = None
    """Models that a job may name, as `provider:name` by their short names: `{"fast": "openai-chat:…"}`."""
    model: str | None = None
    """The `provider:name` of the model that answers by default. Unset: not known."""
    prices: PriceTable | None = None
    """What models cost. Unset: the built-in prices."""

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            value = getattr(self, name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not least <= value <= _LARGEST:
                raise BadSetting(f"{name} is a number from {least:g} to {_LARGEST:,}, got {value!r}")
        if self.file_megabytes > LARGEST_FILE_MEGABYTES:
            raise BadSetting(
                f"file_megabytes is at most {LARGEST_FILE_MEGABYTES}, because a file is held in memory as a "
                f"whole; got {self.file_megabytes!r}"
            )
        if self.when_busy not in list(WhenBusy):
            raise BadSetting(f"when_busy is one of {', '.join(WhenBusy)}, got {self.when_busy!r}")
        if self.unified_owner not in list(UnifiedOwner):
            raise BadSetting(f"unified_owner is one of {', '.join(UnifiedOwner)}, got {self.unified_owner!r}")
        if self.recall_on_busy not in list(Busy):
            raise BadSetting(f"recall_on_busy is one of {', '.join(Busy)}, got {self.recall_on_busy!r}")
        if self.timezone is not None:
            check_zone(self.timezone)
        check_model_limits(self.max_running_turns_by_model or {}, self.models or {}, self.model)

    @property
    def limits_turns(self) -> bool:
        """Whether the turns of all processes are counted before one starts."""
        return bool(self.max_running_turns or self.max_running_turns_by_model)

    @property
    def model_limits(self) -> Mapping[str | None, int]:
        """The limits by `provider:name`; None is the default model, if its name is not known."""
        limits = self.max_running_turns_by_model or {}
        return {
            self.full_model(None if name == DEFAULT_MODEL else name): most for name, most in limits.items()
        }

    def asked_models(self, model: str | None, look: str | None) -> frozenset[str | None]:
        """The models that a turn of the agent asks, as `provider:name`, by the short names of its job."""
        return frozenset({self.full_model(model), self.full_model(look or model)})

    @property
    def default_name(self) -> str | None:
        """The short name of the default model, if it has one."""
        return next((name for name, full in (self.models or {}).items() if full == self.model), None)

    def full_model(self, name: str | None) -> str | None:
        """The `provider:name` of a job's model, or of the default for None; None if it is not known."""
        return self.model if name is None else (self.models or {}).get(name)

    def check_model(self, name: str | None) -> None:
        """Raises `UnknownModel` for a short name that `models` does not have."""
        names = ", ".join(self.models or ())
        if name is not None and name not in (self.models or {}):
            there = f"there are: {names}" if names else "no models are named; set SEGUE_MODELS"
            raise UnknownModel(f"there is no model {quoted(name)}; {there}")

    def price_of(self, name: str | None) -> Price | None:
        """The price of a job's model, or of the default for None; None if it is not known."""
        return (self.prices or built_in_prices()).of(self.full_model(name))


def check_model_limits(limits: Mapping[str, object], models: Mapping[str, str], default: str | None) -> None:
    """Raises `BadSetting` unless each limit is of a model that exists, and each model has one limit."""
    setting = "max_running_turns_by_model"
    if limits and DEFAULT_MODEL in models:
        raise BadSetting(f"{setting}: a model of SEGUE_MODELS has the name {DEFAULT_MODEL}; rename it")
    full = {**models, DEFAULT_MODEL: default}
    limited: dict[str | None, str] = {}
    for name, most in limits.items():
        if name not in full:
            raise BadSetting(f"{setting}: there is no model {quoted(name)}; there are: {', '.join(full)}")
        if not isinstance(most, int) or isinstance(most, bool) or not 1 <= most <= _LARGEST:
            raise BadSetting(
                f"{setting}: the limit of {name} is a whole number from 1 to {_LARGEST:,}, got {most!r}"
            )
        if (other := limited.setdefault(full[name], name)) != name:
            raise BadSetting(
                f"{setting}: {other} and {name} are the same model, {full[name]}; limit one name"
            )


def check_zone(name: object) -> None:
    """Raises BadSetting unless this is the IANA name of a zone."""
    try:
        ZoneInfo(name)  # type: ignore[arg-type]
    except (KeyError, TypeError, ValueError, OSError) as error:  # not found · not a name · a folder
        raise BadSetting(f"timezone is an IANA name such as 'Europe/Berlin', got {name!r}") from error
