"""Price table: what a million tokens of a model cost in US dollars, and since when that is known.

A model is named `provider:name`, as in `SEGUE_MODEL`. A model that is not in the table has no price: a cost
is computed from a known price or not at all.
"""

import json
import re
from collections.abc import Mapping
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from segue.errors import BadSetting
from segue.record import record

_BUILT_IN = Path(__file__).with_name("prices.json")
_SNAPSHOT = re.compile(r"-(latest|\d{8}|\d{4}-\d{2}-\d{2})$")
"""The end of a name that is a date: `claude-haiku-4-5-20251001` costs what `claude-haiku-4-5` costs."""
_PROVIDERS = {
    "openai-chat": "openai",
    "openai-responses": "openai",
    "google-gla": "google",
    "google-vertex": "google",
    "google-cloud": "google",
    "grok": "xai",
    "x-ai": "xai",
}
"""Providers with several names, by their name in the table."""
_NEEDED = ("input", "output")
_FIELDS = (*_NEEDED, "cache_read", "cache_write", "cache_write_1h", "up_to")
_WANTED = (
    'a JSON object {"date": "2026-11-17", "usd_per_million_tokens": {"provider:name": {"input": 1, '
    '"output": 5, "cache_read": 0.1, "cache_write": 1.25, "cache_write_1h": 2, "up_to": 200000}}}'
)


@record
class Price:
    """US dollars for a million tokens of one model."""

    input: float
    output: float
    cache_read: float | None = None
    """None: a token of the cache costs what any other token of the prompt costs."""
    cache_write: float | None = None
    cache_write_1h: float | None = None
    """For a cache that is kept for an hour."""
    up_to: int | None = None
    """Requests with more tokens than this cost more; how much is not in the table."""

    def cost(
        self,
        *,
        input_tokens: int,
        output_tokens: int,
        cache_read_tokens: int = 0,
        cache_write_tokens: int = 0,
        hour: bool = False,
    ) -> float | None:
        """The cost of one request in US dollars; None beyond `up_to`. `input_tokens` includes the cached.

        `hour`: what was written to the cache is kept for an hour.
        """
        if self.up_to is not None and input_tokens > self.up_to:
            return None
        read = self.input if self.cache_read is None else self.cache_read
        write = self.cache_write_1h if hour and self.cache_write_1h is not None else self.cache_write
        plain = max(0, input_tokens - cache_read_tokens - cache_write_tokens)
        dollars = (
            plain * self.input
            + cache_read_tokens * read
            + cache_write_tokens * (self.input if write is None else write)
            + output_tokens * self.output
        )
        return dollars / 1_000_000


@record
class PriceTable:
    date: date
    """The day on which these prices were known to be right."""
    prices: Mapping[str, Price | None]
    """By `provider:name`. None: the price is said to be unknown, whatever an older table has."""

    def of(self, model: str | None) -> Price | None:
        """The price of `provider:name`; None if it is unknown."""
        if model is None:
            return None
        provider, _, name = model.partition(":")
        name = f"{_PROVIDERS.get(provider, provider)}:{name}"
        if name in self.prices:
            return self.prices[name]
        return self.prices.get(_SNAPSHOT.sub("", name))

    def over(self, older: "PriceTable") -> "PriceTable":
        """This table, with what it does not have from an older one."""
        return PriceTable(date=self.date, prices={**older.prices, **self.prices})


@cache
def built_in_prices() -> PriceTable:
    """The prices that this version of Segue was published with."""
    return price_table(json.loads(_BUILT_IN.read_text("utf-8")))


def price_table(given: Any) -> PriceTable:
    """Read a table from parsed JSON. Raises `BadSetting`, which says what is wrong with it."""
    try:
        known = date.fromisoformat(given["date"])
        entries = given["usd_per_million_tokens"].items()
    except (ValueError, TypeError, KeyError, AttributeError):
        raise BadSetting(f"a price table is {_WANTED}") from None
    return PriceTable(date=known, prices={_name(name): _price(name, entry) for name, entry in entries})


def _name(name: str) -> str:
    provider, colon, model = name.partition(":")
    if not (provider and colon and model):
        raise BadSetting(f"a price is of a model provider:name, such as openai:gpt-4o; got {name!r}")
    return f"{_PROVIDERS.get(provider, provider)}:{model}"


def _price(name: str, entry: Any) -> Price | None:
    if entry is None:
        return None
    if not isinstance(entry, Mapping) or not {*_NEEDED} <= {*entry} <= {*_FIELDS}:
        raise BadSetting(f"the price of {name} has {', '.join(_NEEDED)} and at most {', '.join(_FIELDS)}")
    for field, value in entry.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0 <= value < 1_000_000_000:
            raise BadSetting(f"{field} of {name} is a number of US dollars, or of tokens; got {value!r}")
    return Price(**entry)
