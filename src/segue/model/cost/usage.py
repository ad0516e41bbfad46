"""Usage record: what a run or a turn used of models, as its agent reported it.

It is the JSON column `turns.usage`. An agent may report more than these fields; they are stored as they are.
"""

from collections.abc import Mapping
from typing import Any

from segue.record import record

TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
UNNAMED = "unnamed"
"""Stands for the model of an agent that counts requests and does not name its model."""


@record
class RunUsage:
    """The usage of one turn. For a run with several attempts: that of its last attempt."""

    requests: Mapping[str, int]
    """Requests by model: by its name in `SEGUE_MODELS`, or as the provider calls it."""
    input_tokens: int = 0
    """All tokens of the prompts, those of the provider's cache included."""
    output_tokens: int = 0
    cache_read_tokens: int = 0
    """Part of `input_tokens` that the provider's cache had."""
    cache_write_tokens: int = 0
    """Part of `input_tokens` that was written to the provider's cache."""
    cost_usd: float | None = None
    """None if the price of one of the requests is unknown."""

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    @property
    def uncached_tokens(self) -> int:
        return max(0, self.input_tokens - self.cache_read_tokens)


def run_usage(stored: Mapping[str, Any] | None) -> RunUsage | None:
    """Read a stored usage; None if the agent reported none."""
    if not stored:
        return None
    figures = normalised(stored)
    return RunUsage(
        requests=figures.get("requests", {}),
        cost_usd=_cost(figures.get("cost_usd")),
        **{name: _count(figures.get(name)) for name in TOKENS},
    )


def normalised(figures: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of an agent as they are stored: `requests` by model, also if it reported one number."""
    requests = figures.get("requests")
    if isinstance(requests, Mapping):
        by_model = {str(name): _count(count) for name, count in requests.items()}
    else:
        count = _count(requests)
        by_model = {str(figures.get("model") or UNNAMED): count} if count else {}
    return {**figures, "requests": by_model} if "requests" in figures else dict(figures)


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _cost(value: object) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return float(value)
    return None
