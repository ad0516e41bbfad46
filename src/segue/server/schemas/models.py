"""Schemas of models: their names and prices."""

from pydantic import BaseModel, Field

from segue.model.cost.prices import Price, built_in_prices
from segue.model.settings import Settings


class PriceOut(BaseModel):
    """US dollars for a million tokens."""

    input: float
    output: float
    cache_read: float | None
    cache_write: float | None


class NamedModelOut(BaseModel):
    name: str = Field(description="What `model` and `look` of an automation may be.", examples=["fast"])
    model: str = Field(description="The provider and its name of the model.", examples=["openai-chat:gpt-4o"])
    default: bool = Field(description="An automation that is made without a model gets this one.")
    usd_per_million_tokens: PriceOut | None = Field(description="null: the price is not known.")


class ModelsOut(BaseModel):
    models: list[NamedModelOut]
    prices_date: str = Field(description="The date of the price table.", examples=["2026-11-17"])


def models_out(settings: Settings) -> ModelsOut:
    default = settings.default_name
    return ModelsOut(
        models=[
            NamedModelOut(
                name=name,
                model=full,
                default=name == default,
                usd_per_million_tokens=_price_out(settings.price_of(name)),
            )
            for name, full in (settings.models or {}).items()
        ],
        prices_date=(settings.prices or built_in_prices()).date.isoformat(),
    )


def _price_out(price: Price | None) -> PriceOut | None:
    if price is None:
        return None
    return PriceOut(
        input=price.input, output=price.output, cache_read=price.cache_read, cache_write=price.cache_write
    )
