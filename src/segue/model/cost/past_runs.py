"""Past runs of a job: how long they took, and what they used. Estimates for coming runs are made of them."""

from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from typing import Any, TypeVar

from segue.model.cost.usage import RunUsage, run_usage
from segue.record import positional, record

MOST_PAST_RUNS = 20
"""How many of a job's newest runs an estimate looks at."""

MICROS = 1_000_000
"""Amounts of money are stored in millionths of a US dollar."""

T = TypeVar("T", int, float)


@positional
class PastRun:
    """A run that has ended: how long it ran, and its usage as the agent reported it."""

    length_ms: int
    usage: Mapping[str, Any]


@positional
class Spread:
    """An amount that half of the runs, and 19 of 20, do not exceed."""

    p50: float
    p95: float

    def times(self, count: int) -> "Spread":
        return Spread(self.p50 * count, self.p95 * count)

    def plus(self, other: "Spread | None") -> "Spread":
        return self if other is None else Spread(self.p50 + other.p50, self.p95 + other.p95)


@record
class PastRuns:
    """The newest runs of a job. Runs whose agent did not report an amount do not count in its spread."""

    runs: int
    length_ms: int
    """Median; 0 without runs."""
    tokens: Spread | None
    usd: Spread | None
    without_price: int
    """Runs whose price is not known."""


def used(usage: RunUsage | None) -> tuple[int | None, int | None]:
    """The price in millionths of a US dollar, rounded up, and the tokens in and out; None: not known."""
    if usage is None:
        return None, None
    return (None if usage.cost_usd is None else ceil(usage.cost_usd * MICROS)), usage.tokens


def past_runs(found: Sequence[PastRun]) -> PastRuns:
    prices, tokens = zip(*(used(run_usage(run.usage)) for run in found), strict=True) if found else ((), ())
    dollars = spread(_known(prices))
    return PastRuns(
        runs=len(found),
        length_ms=quantile([run.length_ms for run in found], 0.5) if found else 0,
        tokens=spread(_known(tokens)),
        usd=Spread(dollars.p50 / MICROS, dollars.p95 / MICROS) if dollars else None,
        without_price=prices.count(None),
    )


def spread(values: Sequence[int]) -> Spread | None:
    return Spread(quantile(values, 0.5), quantile(values, 0.95)) if values else None


def quantile(values: Sequence[T], share: float) -> T:
    """The smallest value that this share of the values does not exceed."""
    return sorted(values)[max(0, ceil(share * len(values)) - 1)]


def _known(values: Iterable[int | None]) -> list[int]:
    return [value for value in values if value is not None]
