"""Pydantic models of the settings that the page shows and changes."""

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, SecretStr
from pydantic.config import JsonDict

from segue.config.stored_model import LONGEST_KEY
from segue.server.schemas.body import Body

_EXAMPLE: JsonDict = {"provider": "ollama", "name": "qwen3"}
Provider: TypeAlias = Literal["openai", "anthropic", "ollama", "compatible"]


class ModelIn(Body):
    """A model to connect."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_EXAMPLE]})

    provider: Provider
    name: Annotated[str, Field(pattern=r"^[^\s\x00-\x1f\x7f]+$", min_length=1, max_length=200)]
    base_url: Annotated[str | None, Field(pattern=r"^https?://[^\s/?#@]+(/[^\s?#]*)?$", max_length=2_000)] = (
        None
    )
    """Unset: the provider's own address. `compatible` needs one."""
    key: Annotated[SecretStr | None, Field(min_length=1, max_length=LONGEST_KEY)] = None
    """Unset: the stored key, if it was stored for the same provider and address."""


class ChangeSettings(Body):
    """Changes the given settings only; a model of null means the offline rules."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"model": _EXAMPLE}]})

    model: ModelIn | None = None


class ModelOut(BaseModel):
    provider: str | None
    """Null: the offline rules answer, or the application has an agent of its own."""
    name: str | None
    base_url: str | None
    key_stored: bool
    """Whether a key is stored. It is never returned."""
    source: str | None
    """`page`, or where else it is set, such as `SEGUE_MODEL`; null: nowhere."""
    editable: bool
    """False if it is set elsewhere, which wins."""


class TimezoneOut(BaseModel):
    value: str | None
    """For times without a zone, in sessions that have none."""
    source: str | None


class SettingsOut(BaseModel):
    model: ModelOut
    addresses: dict[str, str]
    """The address of each provider that has one."""
    timezone: TimezoneOut


class ModelTested(BaseModel):
    ok: Literal[True]
    duration_ms: int
