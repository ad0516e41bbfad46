"""Usage totals of a turn: tokens as the provider counted them, and the price if known."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from pydantic_ai.messages import ModelResponse

_COUNTS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


class UsageTotals:
    def __init__(self, *, prompt: str | None = None) -> None:
        self._counts = dict.fromkeys(_COUNTS, 0)
        self._prompt = prompt
        self._requests = 0
        self._model: str | None = None
        self._cost: Decimal | None = Decimal(0)

    def add(self, response: ModelResponse) -> Mapping[str, Any]:
        """Add one request; return the totals."""
        self._requests += 1
        self._model = response.model_name or self._model
        for name in _COUNTS:
            self._counts[name] += getattr(response.usage, name)
        cost = _cost(response)
        # If one price is unknown, so is the sum.
        self._cost = None if cost is None or self._cost is None else self._cost + cost
        return self.to_record()

    def to_record(self, **more: str) -> Mapping[str, Any]:
        """Return the totals as the turn's record stores them."""
        figures: dict[str, Any] = {"model": self._model, "requests": self._requests}
        if self._prompt is not None:
            figures["prompt"] = self._prompt
        figures |= {name: count for name, count in self._counts.items() if count}
        if self._cost is not None:
            figures["cost_usd"] = float(self._cost)
        return figures | more


def _cost(response: ModelResponse) -> Decimal | None:
    """Return the price in US dollars, by the model library's price list; None if it has none."""
    if not response.usage.has_values() or response.model_name is None:
        return None
    try:
        return response.cost().total_price
    except (LookupError, ValueError):
        return None
