"""Prompt cache: the marks that a provider wants at the end of what it may cache.

Anthropic caches up to a mark: one after the tools and the system prompt, one after the history. Other
providers cache by themselves what two requests have in common, and get no mark.
"""

from typing import cast

from pydantic_ai.messages import CachePoint
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings

from segue.config.values import CacheTtl

_WITH_MARKS = "anthropic"


def after_instructions(model: Model, ttl: CacheTtl) -> ModelSettings:
    """The settings that mark the end of the system prompt, which stands after the tools."""
    if model.system != _WITH_MARKS:
        return ModelSettings()
    return cast(ModelSettings, {"anthropic_cache_instructions": str(ttl)})


def after_history(model: Model, ttl: CacheTtl) -> CachePoint | None:
    """The mark of the end of the history; None if the provider wants none."""
    if model.system != _WITH_MARKS:
        return None
    return CachePoint(ttl="1h" if ttl is CacheTtl.ONE_HOUR else "5m")
