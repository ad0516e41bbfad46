"""Types of settings, each with its reader and the words of its error (`Wanted`)."""

import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from segue.config.defaults import is_zone
from segue.config.parts import Wanted
from segue.config.readers import folder, mapping, number, switch, text, whole
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


def _zone(value: Any) -> str:
    name = text()(value)
    if not is_zone(name):
        raise ValueError("there is no such zone")
    return name


def _model(value: Any) -> str | None:
    name = text()(value)
    if name == "offline":
        return None
    provider, _, rest = name.partition(":")
    if not provider or not rest or any(letter.isspace() for letter in name):
        raise ValueError("it has no provider")
    return name


def short_names(value: Any) -> Mapping[str, str]:
    models: Mapping[str, str] = mapping(text())(value)
    for name, model in models.items():
        if not SHORT_NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no short name of letters, digits, - and _")
        if _model(model) is None:
            raise ValueError(f"{name} stands for a model provider:name, not for {model!r}")
    return models


def _prices(given: object) -> PriceTable:
    if isinstance(given, PriceTable):
        return given
    try:
        return price_table(given)
    except BadSetting as error:
        raise ValueError(str(error)) from None


def _default_policy(given: object) -> AutoCommitPolicy:
    if isinstance(given, AutoCommitPolicy):
        return given
    if not isinstance(given, Mapping):
        raise ValueError("it is no object")
    try:
        return AutoCommitPolicy.from_json(given)
    except BadPolicy as error:
        raise ValueError(str(error)) from None


def _account_budget(given: object) -> Budget:
    if isinstance(given, Budget):
        return given
    try:
        return Budget.from_json(given)
    except BadPolicy as error:
        raise ValueError(str(error)) from None


def _quiet_hours(given: object) -> QuietHours:
    if isinstance(given, QuietHours):
        return given
    try:
        return QuietHours.from_json(given)
    except BadSetting as error:
        raise ValueError(str(error)) from None


def _database(value: Any) -> str:
    url = text()(value)
    if not url.startswith(_DATABASES):
        raise ValueError("it begins otherwise")
    return url


Count = Annotated[int, Wanted("a whole number from 0 to 1,000,000", whole(0, 1_000_000))]
CountFromOne = Annotated[int, Wanted("a whole number from 1 to 1,000,000", whole(1, 1_000_000))]
Steps = Annotated[int, Wanted("a whole number from 1 to 1,000", whole(1, 1_000))]
Seconds = Annotated[float, Wanted("a number from 0 to 1,000,000", number(0, 1_000_000))]
SecondsFromOne = Annotated[float, Wanted("a number from 1 to 1,000,000", number(1, 1_000_000))]
LeaseSeconds = Annotated[float, Wanted("a number from 0.1 to 1,000,000", number(0.1, 1_000_000))]
Megabytes = Annotated[float, Wanted("a number from 0.001 to 1,000,000", number(0.001, 1_000_000))]
FileMegabytes = Annotated[
    float, Wanted(f"a number from 0.001 to {LARGEST_FILE_MEGABYTES}", number(0.001, LARGEST_FILE_MEGABYTES))
]
Interval = Annotated[float, Wanted("a number above 0, at most 1,000,000", number(0, 1_000_000, above=True))]
Port = Annotated[int, Wanted("a port from 0 (any free one) to 65535", whole(0, 65_535))]
MaybePort = Annotated[int | None, Wanted("a port from 0 (any free one) to 65535", whole(0, 65_535))]
Switch = Annotated[bool, Wanted("true or false", switch)]
Folder = Annotated[Path, Wanted("the path of a folder", folder, path=True)]
MaybeFolder = Annotated[Path | None, Wanted("the path of a folder", folder, path=True)]
MaybeZone = Annotated[str | None, Wanted("an IANA zone such as 'Europe/Berlin' or 'UTC'", _zone)]
ModelName = Annotated[
    str | None,
    # Examples with open weights: if one provider retires a model, another still offers it.
    Wanted("provider:name such as 'openai-chat:gpt-oss-120b' or 'ollama:smollm2', or 'offline'", _model),
]
DatabaseUrl = Annotated[
    str | None,
    Wanted(
        "a URL such as 'sqlite:///segue.db', 'sqlite://:memory:' or 'postgresql://user@host/name'", _database
    ),
]
DefaultPolicy = Annotated[
    AutoCommitPolicy | None,
    Wanted(
        'a JSON object such as {"enabled": true, "idle_timeout_seconds": 1800}, or @file',
        _default_policy,
        json=True,
    ),
]
AccountBudget = Annotated[
    Budget | None,
    Wanted(
        'a JSON object such as {"usd": 5, "per": "day", "over": "skip"}, or @file', _account_budget, json=True
    ),
]
DefaultQuietHours = Annotated[
    QuietHours | None,
    Wanted(
        'a JSON object such as {"from": "22:00", "to": "07:00", "days": "all"}, or @file',
        _quiet_hours,
        json=True,
    ),
]
Prices = Annotated[
    PriceTable | None,
    Wanted(
        '@ and the path of a price table, or the table itself as a JSON object with its "date"',
        _prices,
        json=True,
    ),
]
