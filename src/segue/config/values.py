"""Types of settings, each with its validator and the words of its error (`Wanted`)."""

import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator

from segue.config.defaults import is_zone
from segue.config.layers import Wanted
from segue.errors import BadPolicy, BadSetting
from segue.model.auto_commit import AutoCommitPolicy
from segue.model.cost.budget import Budget
from segue.model.cost.prices import PriceTable, price_table
from segue.model.quiet.hours import QuietHours
from segue.model.settings import LARGEST_FILE_MEGABYTES

SHORT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
"""Of a model in `SEGUE_MODELS`."""
_DATABASES = ("sqlite://", "postgresql://", "postgres://")


class CacheTtl(StrEnum):
    """How long a provider keeps its cache of a request."""

    FIVE_MINUTES = "5m"
    ONE_HOUR = "1h"
    """It costs more to write, for jobs that run less often."""


class Strict(BaseModel):
    """A group of settings that refuses unknown names; pydantic's errors do not quote its values."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


def _not_bool(value: object) -> object:
    if isinstance(value, bool):  # a bool is an int in Python
        raise ValueError("a number is wanted")
    return value


def _maybe_zone(name: str | None) -> str | None:
    if name is not None and not is_zone(name):
        raise ValueError("there is no such zone")
    return name


def _model(name: str | None) -> str | None:
    if name is None or name == "offline":
        return None
    provider, _, rest = name.partition(":")
    if not provider or not rest or any(letter.isspace() for letter in name):
        raise ValueError("it has no provider")
    return name


def check_short_names(models: Mapping[str, str]) -> Mapping[str, str]:
    for name, model in models.items():
        if not SHORT_NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no short name of letters, digits, - and _")
        if _model(model) is None:
            raise ValueError(f"{name} stands for a model provider:name, not for {model!r}")
    return models


def _prices(given: object) -> PriceTable | None:
    if given is None or isinstance(given, PriceTable):
        return given
    try:
        return price_table(given)
    except BadSetting as error:
        raise ValueError(str(error)) from None


def _folder(path: Path) -> Path:
    return path.expanduser().absolute()


def _maybe_folder(path: Path | None) -> Path | None:
    return None if path is None else _folder(path)


def _default_policy(given: object) -> AutoCommitPolicy | None:
    if given is None or isinstance(given, AutoCommitPolicy):
        return given
    if not isinstance(given, Mapping):
        raise ValueError("it is no object")
    try:
        return AutoCommitPolicy.from_json(given)
    except BadPolicy as error:
        raise ValueError(str(error)) from None


def _account_budget(given: object) -> Budget | None:
    if given is None or isinstance(given, Budget):
        return given
    try:
        return Budget.from_json(given)
    except BadPolicy as error:
        raise ValueError(str(error)) from None


def _quiet_hours(given: object) -> QuietHours | None:
    if given is None or isinstance(given, QuietHours):
        return given
    try:
        return QuietHours.from_json(given)
    except BadSetting as error:
        raise ValueError(str(error)) from None


def _database(url: str | None) -> str | None:
    if url is not None and not url.startswith(_DATABASES):
        raise ValueError("it begins otherwise")
    return url


Count = Annotated[
    int,
    BeforeValidator(_not_bool),
    Field(ge=0, le=1_000_000),
    Wanted("a whole number from 0 to 1,000,000"),
]
CountFromOne = Annotated[
    int,
    BeforeValidator(_not_bool),
    Field(ge=1, le=1_000_000),
    Wanted("a whole number from 1 to 1,000,000"),
]
Steps = Annotated[
    int, BeforeValidator(_not_bool), Field(ge=1, le=1_000), Wanted("a whole number from 1 to 1,000")
]
Seconds = Annotated[
    float, BeforeValidator(_not_bool), Field(ge=0, le=1_000_000), Wanted("a number from 0 to 1,000,000")
]
SecondsFromOne = Annotated[
    float, BeforeValidator(_not_bool), Field(ge=1, le=1_000_000), Wanted("a number from 1 to 1,000,000")
]
LeaseSeconds = Annotated[
    float, BeforeValidator(_not_bool), Field(ge=0.1, le=1_000_000), Wanted("a number from 0.1 to 1,000,000")
]
Megabytes = Annotated[
    float,
    BeforeValidator(_not_bool),
    Field(ge=0.001, le=1_000_000),
    Wanted("a number from 0.001 to 1,000,000"),
]
FileMegabytes = Annotated[
    float,
    BeforeValidator(_not_bool),
    Field(ge=0.001, le=LARGEST_FILE_MEGABYTES),
    Wanted(f"a number from 0.001 to {LARGEST_FILE_MEGABYTES}"),
]
Interval = Annotated[
    float,
    BeforeValidator(_not_bool),
    Field(gt=0, le=1_000_000),
    Wanted("a number above 0, at most 1,000,000"),
]
Port = Annotated[
    int, BeforeValidator(_not_bool), Field(ge=0, le=65_535), Wanted("a port from 0 (any free one) to 65535")
]
MaybePort = Annotated[
    int | None,
    BeforeValidator(_not_bool),
    Field(ge=0, le=65_535),
    Wanted("a port from 0 (any free one) to 65535"),
]
Switch = Annotated[bool, Wanted("true or false")]
Folder = Annotated[Path, AfterValidator(_folder), Wanted("the path of a folder", path=True)]
MaybeFolder = Annotated[Path | None, AfterValidator(_maybe_folder), Wanted("the path of a folder", path=True)]
HostName = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,253}$")]
MaybeZone = Annotated[
    str | None, AfterValidator(_maybe_zone), Wanted("an IANA zone such as 'Europe/Berlin' or 'UTC'")
]
ModelName = Annotated[
    str | None,
    AfterValidator(_model),
    # Examples with open weights: if one provider retires a model, another still offers it.
    Wanted("provider:name such as 'openai-chat:gpt-oss-120b' or 'ollama:smollm2', or 'offline'"),
]
DatabaseUrl = Annotated[
    str | None,
    AfterValidator(_database),
    Wanted("a URL such as 'sqlite:///segue.db', 'sqlite://:memory:' or 'postgresql://user@host/name'"),
]
DefaultPolicy = Annotated[
    AutoCommitPolicy | None,
    PlainValidator(_default_policy),
    Wanted('a JSON object such as {"enabled": true, "idle_timeout_seconds": 1800}, or @file', json=True),
]
AccountBudget = Annotated[
    Budget | None,
    PlainValidator(_account_budget),
    Wanted('a JSON object such as {"usd": 5, "per": "day", "over": "skip"}, or @file', json=True),
]
DefaultQuietHours = Annotated[
    QuietHours | None,
    PlainValidator(_quiet_hours),
    Wanted('a JSON object such as {"from": "22:00", "to": "07:00", "days": "all"}, or @file', json=True),
]
Prices = Annotated[
    PriceTable | None,
    PlainValidator(_prices),
    Wanted(
        '@ and the path of a price table, or the table itself as a JSON object with its "date"', json=True
    ),
]
