"""The usage of a run, and the prices of models."""

from datetime import date
from typing import Any

import pytest

from segue.errors import BadSetting
from segue.model.cost.prices import Price, built_in_prices, price_table
from segue.model.cost.usage import run_usage


def table(prices: object, day: str = "2026-11-01") -> dict[str, object]:
    return {"date": day, "usd_per_million_tokens": prices}


def test_an_unknown_model_has_no_price() -> None:
    known = built_in_prices()
    assert known.of("openai:no-such-model") is None
    assert known.of("ollama:gpt-4o") is None
    assert known.of(None) is None


def test_a_dated_name_costs_what_its_model_costs() -> None:
    known = built_in_prices()
    assert known.of("anthropic:claude-haiku-4-5-20251001") == known.of("anthropic:claude-haiku-4-5")
    assert known.of("openai-chat:gpt-4o-2024-08-06") == known.of("openai:gpt-4o") is not None


def test_a_snapshot_with_a_price_of_its_own_keeps_it() -> None:
    known = built_in_prices()
    assert known.of("openai:gpt-4o-2024-05-13") != known.of("openai:gpt-4o")


def test_cached_tokens_cost_what_the_table_says() -> None:
    price = Price(input=1, output=5, cache_read=0.1, cache_write=1.25, cache_write_1h=2)
    used: dict[str, Any] = {
        "input_tokens": 3_000_000,
        "output_tokens": 1_000_000,
        "cache_read_tokens": 1_000_000,
        "cache_write_tokens": 1_000_000,
    }
    assert price.cost(**used) == pytest.approx(1 + 0.1 + 1.25 + 5)
    assert price.cost(**used, hour=True) == pytest.approx(1 + 0.1 + 2 + 5)


def test_the_worked_month_is_what_the_table_says() -> None:
    """That of docs/guides/costs.md, by hand: $1 and $5 for a million tokens in and out, $0.10 from the cache
    and $1.25 into it."""
    price = built_in_prices().of("anthropic:claude-haiku-4-5")
    assert price is not None
    plain = price.cost(input_tokens=7_000, output_tokens=20)
    first = price.cost(input_tokens=7_000, output_tokens=20, cache_write_tokens=6_600)
    later = price.cost(input_tokens=7_000, output_tokens=20, cache_read_tokens=6_560, cache_write_tokens=40)
    assert plain == pytest.approx((7_000 * 1 + 20 * 5) / 1e6)
    assert first == pytest.approx((400 * 1 + 6_600 * 1.25 + 20 * 5) / 1e6)
    assert later == pytest.approx((400 * 1 + 6_560 * 0.1 + 40 * 1.25 + 20 * 5) / 1e6)
    month = 21 * (first or 0) + (2_520 - 21) * (later or 0)
    assert f"{2_520 * (plain or 0):.2f} {month:.2f}" == "17.89 3.20"


def test_a_request_beyond_the_known_length_has_no_price() -> None:
    price = Price(input=1, output=5, up_to=200_000)
    assert price.cost(input_tokens=200_000, output_tokens=0) is not None
    assert price.cost(input_tokens=200_001, output_tokens=0) is None


def test_a_file_changes_adds_and_withdraws_prices() -> None:
    own = price_table(
        table(
            {
                "openai-chat:gpt-4o": {"input": 9, "output": 9},
                "ollama:mine": {"input": 0, "output": 0},
                "anthropic:claude-haiku-4-5": None,
            }
        )
    )
    both = own.over(built_in_prices())
    assert both.date == date(2026, 11, 1)
    assert both.of("openai:gpt-4o") == Price(input=9, output=9)
    assert both.of("ollama:mine") == Price(input=0, output=0)
    assert both.of("anthropic:claude-haiku-4-5") is None
    assert both.of("openai:gpt-4.1") == built_in_prices().of("openai:gpt-4.1")


@pytest.mark.parametrize(
    "given",
    [
        "no table",
        [],
        table({}, day="yesterday"),
        table([]),
        table({"gpt-4o": {"input": 1, "output": 1}}),
        table({"openai:gpt-4o": {"input": 1}}),
        table({"openai:gpt-4o": {"input": 1, "output": -1}}),
        table({"openai:gpt-4o": {"input": True, "output": 1}}),
        table({"openai:gpt-4o": {"input": 1, "output": 1, "images": 1}}),
        {"usd_per_million_tokens": {}},
    ],
)
def test_a_wrong_price_table_is_refused_with_a_sentence(given: object) -> None:
    with pytest.raises(BadSetting, match=r"price|number"):
        price_table(given)


def test_a_stored_usage_is_read_back() -> None:
    usage = run_usage(
        {
            "model": "gpt-4o",
            "requests": {"fast": 1, "best": 2},
            "input_tokens": 100,
            "output_tokens": 20,
            "cache_read_tokens": 90,
            "cost_usd": 0.5,
        }
    )
    assert usage is not None
    assert usage.requests == {"fast": 1, "best": 2}
    assert (usage.tokens, usage.uncached_tokens, usage.cost_usd) == (120, 10, 0.5)


def test_an_agent_that_counts_requests_alone_is_given_its_models_name() -> None:
    used = run_usage({"model": "gpt-4o", "requests": 2, "input_tokens": 5})
    assert used is not None
    assert used.requests == {"gpt-4o": 2}
    assert used.cost_usd is None


def test_a_turn_without_a_report_has_no_usage() -> None:
    assert run_usage(None) is None
    assert run_usage({}) is None


@pytest.mark.parametrize("value", [True, "many", -1, None, 1.5])
def test_what_is_no_count_counts_as_nothing(value: object) -> None:
    used = run_usage({"requests": value, "input_tokens": value, "cost_usd": "free"})
    assert used is not None
    assert (used.input_tokens, used.requests, used.cost_usd) == (0, {}, None)
