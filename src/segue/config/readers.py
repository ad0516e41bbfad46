"""Readers of setting values: numbers, texts, choices, lists and objects, given as text or as JSON.

Each returns the value or raises ValueError with a sentence that does not quote what was given: it may be a
secret.
"""

import math
import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from segue.config.parts import Read, Secret, inside

E = TypeVar("E", bound=StrEnum)

_TRUE = {"true", "1", "yes", "on", "t", "y"}
_FALSE = {"false", "0", "no", "off", "f", "n"}


def whole(least: int, most: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if isinstance(value, str):
            number = int(value)
        elif isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
            raise ValueError("a whole number is wanted")
        else:
            number = int(value)
        if not least <= number <= most:
            raise ValueError(f"it must be from {least:,} to {most:,}")
        return number

    return read


def number(least: float, most: float, *, above: bool = False) -> Callable[[Any], float]:
    """With `above`, `least` itself is too little."""

    def read(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValueError("a number is wanted")
        found = float(value)
        if math.isnan(found) or not least <= found <= most or (above and found == least):
            raise ValueError(f"it must be from {least:,} to {most:,}")
        return found

    return read


def switch(value: Any) -> bool:
    word = str(value).lower()
    if isinstance(value, bool | int | str) and word in _TRUE | _FALSE:
        return word in _TRUE
    raise ValueError("it must be true or false")


def text(*, least: int = 0, most: int | None = None, pattern: str = "") -> Callable[[Any], str]:
    """A text of `least` to `most` characters that matches `pattern` as a whole."""

    def read(value: Any) -> str:
        if not isinstance(value, str):
            raise ValueError("it is not a text")
        if len(value) < least or (most is not None and len(value) > most):
            raise ValueError(f"it must have {least:,} to {most:,} characters")
        if pattern and not re.fullmatch(pattern, value):
            raise ValueError("it has characters that are not allowed, or is too long")
        return value

    return read


def choice(kind: type[E]) -> Callable[[Any], E]:
    def read(value: Any) -> E:
        try:
            return kind(value)
        except ValueError:
            raise ValueError(f"it must be {' or '.join(map(repr, map(str, kind)))}") from None

    return read


def secret(check: Callable[[str], object] = str) -> Callable[[Any], Secret]:
    """`check` gets the text and raises ValueError."""

    def read(value: Any) -> Secret:
        found = value if isinstance(value, Secret) else Secret(text()(value))
        check(found.reveal())
        return found

    return read


def folder(value: Any) -> Path:
    if not isinstance(value, str | Path):
        raise ValueError("it is no path")
    return Path(value).expanduser().absolute()


def listed(read_one: Read, *, distinct: Callable[[Any], object] | None = None, what: str = "") -> Read:
    """A list. With `distinct`, no two entries have the same of it, which `what` names."""

    def read(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple):
            raise ValueError("it is not a list")
        found = tuple(inside(number, read_one, each) for number, each in enumerate(value))
        if distinct is not None and len({distinct(each) for each in found}) < len(found):
            raise ValueError(f"two entries have the same {what}")
        return found

    return read


def mapping(read_one: Read) -> Callable[[Any], Mapping[str, Any]]:
    def read(value: Any) -> Mapping[str, Any]:
        if not isinstance(value, Mapping):
            raise ValueError("it is not an object")
        return {text()(name): inside(name, read_one, each) for name, each in value.items()}

    return read
