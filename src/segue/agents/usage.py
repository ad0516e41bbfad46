"""Usage totals of a turn: tokens as the provider counted them, and the price if known."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from pydantic_ai.messages import ModelResponse

from segue.model.cost.prices import PriceTable, built_in_prices
from segue.model.cost.usage import TOKENS


class UsageTotals:
    """`tools`: how many the model is offered. `hour`: what it caches is kept for an hour."""

    def __init__(
        self,
        prices: PriceTable | None = None,
        *,
        prompt: str | None = None,
        tools: int | None = None,
        hour: bool = False,
    ) -> None:
        self._prices = prices or built_in_prices()
        self._always = {"prompt": prompt, "tools_offered": tools}
        self._hour = hour
        self._counts = dict.fromkeys(TOKENS, 0)
        self._requests: Counter[str] = Counter()
        self._model: str | None = None
        self._cost: float | None = 0.0

    def add(self, response: ModelResponse, *, name: str | None = None) -> Mapping[str, Any]:
        """Add one request; return the totals. `name`: what the model is called in the settings."""
        self._model = response.model_name or self._model
        self._requests[name or response.model_name or response.provider_name or "unnamed"] += 1
        used: dict[str, Any] = {name: getattr(response.usage, name) for name in TOKENS}
        for each, count in used.items():
            self._counts[each] += count
        cost = self._cost_of(response, used)
        # If one price is unknown, so is the sum.
        self._cost = None if cost is None or self._cost is None else self._cost + cost
        return self.to_record()

    def to_record(self, **more: str) -> Mapping[str, Any]:
        """Return the totals as the turn's record stores them."""
        figures: dict[str, Any] = {"model": self._model, "requests": dict(self._requests)}
        figures |= {name: value for name, value in self._always.items() if value is not None}
        figures |= {name: count for name, count in self._counts.items() if count}
        if self._cost is not None:
            figures["cost_usd"] = round(self._cost, 9)
        return figures | more

    def _cost_of(self, response: ModelResponse, used: Mapping[str, Any]) -> float | None:
        """Return the price in US dollars; None if it, or what was used, is unknown."""
        price = self._prices.of(f"{response.provider_name}:{response.model_name}")
        if price is None or not response.usage.has_values():
            return None
        return price.cost(**used, hour=self._hour)
