"""How the values are made that are made for every turn.

A frozen dataclass sets each field through a call, and a turn of thirty fields takes six times as long to
build as a plain one. So a record is frozen to the type checker, which is who catches the mistake before it
runs, and plain to the interpreter.
"""

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def record(cls: type[T]) -> type[T]:
    """A dataclass by keywords, with slots, equal and hashed by its fields."""
    return dataclass(slots=True, kw_only=True, unsafe_hash=True)(cls)
