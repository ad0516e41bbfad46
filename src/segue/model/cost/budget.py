"""Budgets: how much the scheduled runs of a job, a session or an account may use in a period.

A run reserves what it may use when its slot is taken, and settles what it used when it ends. A slot for which
there is no room is skipped. Periods are days, weeks and months of the session's zone.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from segue.errors import BadPolicy
from segue.model.cost.past_runs import MICROS
from segue.record import positional, record
from segue.times.format import quoted

REASON = "budget: "
"""The beginning of the reason of a run that a budget skipped or stopped."""

STOPPED_AFTER = 2
"""A run that used more than this many times its reservation is stopped at its next model step."""

E = TypeVar("E", bound=StrEnum)
_MOST = 1_000_000_000_000


class BudgetUnit(StrEnum):
    """What a budget counts."""

    USD = "usd"
    TOKENS = "tokens"
    RUNS = "runs"


class Scope(StrEnum):
    """Whose budget it is."""

    JOB = "job"
    SESSION = "session"
    ACCOUNT = "account"


class Per(StrEnum):
    """The period of a budget, in the zone of the session."""

    DAY = "day"
    WEEK = "week"
    """From Monday on."""
    MONTH = "month"


class Over(StrEnum):
    """What happens to a slot for which there is no room."""

    SKIP = "skip"
    """It is recorded as skipped; the job goes on with its next slot."""
    PAUSE = "pause"
    """It is recorded as skipped, and the job is paused."""
    ASK = "ask"
    """It is recorded as skipped, and the session is asked whether to raise the budget for this period."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How much scheduled runs may use in a period: `Budget("usd", 0.5, "day")`.

    In JSON it is `{"usd": 0.5, "per": "day", "over": "skip"}`. `docs/guides/budgets.md` explains it. Raises
    `BadPolicy` for a value that cannot be used.
    """

    unit: BudgetUnit
    """`usd`, `tokens` or `runs`."""
    limit: float
    per: Per
    """`day`, `week` or `month`, in the zone of the session."""
    over: Over = Over.SKIP
    """What happens to a slot for which there is no room: `skip`, `pause` or `ask`."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "unit", _member("unit", self.unit, BudgetUnit))
        object.__setattr__(self, "limit", _limit(self.unit, self.limit))
        object.__setattr__(self, "per", _member("per", self.per, Per))
        object.__setattr__(self, "over", _member("over", self.over, Over))

    @property
    def amount(self) -> int:
        """The limit as a whole number of the unit in which uses are stored."""
        return round(self.limit * MICROS) if self.unit is BudgetUnit.USD else int(self.limit)

    def to_json(self) -> dict[str, Any]:
        return {str(self.unit): self.limit, "per": str(self.per), "over": str(self.over)}

    @staticmethod
    def from_json(data: object) -> "Budget":
        """Raises `BadPolicy`."""
        if not isinstance(data, Mapping):
            raise BadPolicy(f"a budget is an object such as {_EXAMPLE}, got {quoted(data)}")
        units = [unit for unit in BudgetUnit if data.get(unit) is not None]
        unknown = [name for name in data if name not in (*BudgetUnit, "per", "over")]
        if len(units) != 1 or unknown:
            raise BadPolicy(
                f"a budget has one of usd, tokens and runs, with per and over, such as {_EXAMPLE}; "
                f"got {quoted(dict(data))}"
            )
        return Budget(units[0], data[units[0]], data.get("per"), data.get("over", Over.SKIP))  # type: ignore[arg-type]


_EXAMPLE = '{"usd": 0.5, "per": "day", "over": "skip"}'


@record
class Estimate:
    """What a run is expected to use, as it is reserved."""

    usd_micros: int = 0
    tokens: int = 0

    def of(self, unit: BudgetUnit) -> int:
        return {BudgetUnit.USD: self.usd_micros, BudgetUnit.TOKENS: self.tokens, BudgetUnit.RUNS: 1}[unit]

    def is_exceeded_by(self, used: "Estimate") -> bool:
        """Whether a run used so much more than it reserved that it is stopped."""
        pairs = ((self.usd_micros, used.usd_micros), (self.tokens, used.tokens))
        return any(reserved and now > STOPPED_AFTER * reserved for reserved, now in pairs)


@positional
class BudgetPeriod:
    """The current period of a budget: its first day, and when it began and ends."""

    first_day: str
    began_at: datetime
    resets_at: datetime


def local_day(now: datetime, zone: str) -> str:
    """The day under which a use is stored."""
    return now.astimezone(ZoneInfo(zone)).date().isoformat()


def window(per: Per, now: datetime, zone: str) -> BudgetPeriod:
    today = now.astimezone(ZoneInfo(zone)).date()
    match per:
        case Per.DAY:
            first, following = today, today + timedelta(days=1)
        case Per.WEEK:
            first = today - timedelta(days=today.weekday())
            following = first + timedelta(days=7)
        case Per.MONTH:
            first = today.replace(day=1)
            following = (first + timedelta(days=32)).replace(day=1)
    return BudgetPeriod(first.isoformat(), _midnight(first, zone), _midnight(following, zone))


def has_room(budget: Budget, used: int, needed: int) -> bool:
    return used + needed <= budget.amount


def no_room(budget: Budget, used: int, needed: int, scope: Scope) -> str:
    """Why a slot is skipped: `budget: $0.48 of $0.50 used today, a run takes about $0.04`."""
    unit = budget.unit
    spent = f"{shown(unit, used)} of {shown(unit, budget.amount)}"
    kind = {BudgetUnit.USD: "", BudgetUnit.TOKENS: " tokens", BudgetUnit.RUNS: " runs"}[unit]
    takes = "" if unit is BudgetUnit.RUNS else f", a run takes about {shown(unit, needed)}"
    return f"{REASON}{spent}{kind} used {_WHEN[budget.per]}{_BY[scope]}{takes}"


_BY = {Scope.JOB: "", Scope.SESSION: " by the session", Scope.ACCOUNT: " by the account"}


def refused_by(reason: str) -> Scope:
    """Whose budget had no room, by the reason of the skipped run."""
    return next((scope for scope in (Scope.SESSION, Scope.ACCOUNT) if _BY[scope] in reason), Scope.JOB)


def over_reservation(reserved: Estimate, spent: Estimate) -> str:
    """Why a running run is stopped: `budget: it used $0.09, more than twice the $0.04 it had reserved`."""
    unit = (
        BudgetUnit.USD
        if reserved.usd_micros and spent.usd_micros > 2 * reserved.usd_micros
        else BudgetUnit.TOKENS
    )
    kind = " tokens" if unit is BudgetUnit.TOKENS else ""
    took, held = shown(unit, spent.of(unit)), shown(unit, reserved.of(unit))
    return f"{REASON}it used {took}{kind}, more than twice the {held}{kind} it had reserved"


def over_budget(job: str, reason: str, budget: Budget, scope: Scope) -> str:
    """What the session is told when a slot is skipped. The budget of an account is the operator's."""
    why = f"because its budget has no room left ({reason.removeprefix(REASON)})"
    match budget.over:
        case Over.SKIP:
            return f"{job}: skipped, {why}."
        case Over.PAUSE:
            return f"{job}: paused, {why}. Resume it to go on."
        case Over.ASK if scope is Scope.ACCOUNT:
            return f"{job}: skipped, {why}. Only an operator can raise it."
        case Over.ASK:
            return f"{job}: skipped, {why}. Raise it for {_WHEN[budget.per]}?"


def amount_of(budget: Budget) -> str:
    """The limit for a sentence: `$0.50`, `1 run`, `12,000 tokens`."""
    if budget.unit is BudgetUnit.USD:
        return shown(budget.unit, budget.amount)
    kind = str(budget.unit) if budget.amount != 1 else str(budget.unit).removesuffix("s")
    return f"{shown(budget.unit, budget.amount)} {kind}"


def shown(unit: BudgetUnit, amount: int) -> str:
    """An amount for a sentence: `$0.48`, `12,000`."""
    if unit is not BudgetUnit.USD:
        return f"{amount:,}"
    dollars = amount / MICROS
    digits = 2 if dollars >= 0.1 or not amount else 4
    text = f"{dollars:,.{digits}f}"
    return f"${text[:-2] if digits == 4 and text.endswith('00') else text}"


_WHEN = {Per.DAY: "today", Per.WEEK: "this week", Per.MONTH: "this month"}


def period_name(per: Per) -> str:
    return _WHEN[per]


def _midnight(day: date, zone: str) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(zone))


def _limit(unit: BudgetUnit, value: object) -> float:
    whole = unit is not BudgetUnit.USD
    number = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
    least = 1 if whole else 1 / MICROS
    # NaN is refused here too: every comparison with it is false.
    if not number or not least <= value <= _MOST:  # type: ignore[operator]
        what = "a whole number of at least 1" if whole else "a number of US dollars above 0"
        raise BadPolicy(f"budget.{unit} is {what}; got {quoted(value)}")
    return value  # type: ignore[return-value]


def _member(name: str, value: object, kind: type[E]) -> E:
    for member in kind:
        if value == member:
            return member
    raise BadPolicy(f"budget.{name} is one of {', '.join(kind)}; got {quoted(value)}")


def units_of(budgets: Iterable[Budget]) -> frozenset[BudgetUnit]:
    return frozenset(budget.unit for budget in budgets)
