"""How the values are made that pass through the house.

A frozen dataclass sets each field through a call, and a turn of thirty fields takes six times as long to
build as a plain one. So these are frozen to the type checker, which is who catches the mistake before it
runs, and plain to the interpreter.

A hundred such classes are made when the package is imported, and most of that time went into methods that
were written and compiled for each. Here a class has only its `__init__` for itself.
"""

from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """A dataclass by keywords, with slots, equal and hashed by its fields."""
    made: type[T] = _made(cls, kw_only=True)
    return made


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def positional(cls: type[T]) -> type[T]:
    """The same by place, for what is small."""
    made: type[T] = _made(cls, kw_only=False)
    return made


def _made(cls: Any, *, kw_only: bool) -> Any:
    # Without a text, dataclass would write one, and inspect the signature for it.
    cls.__doc__ = cls.__doc__ or cls.__name__
    cls.__repr__, cls.__eq__, cls.__hash__ = _repr, _eq, _hash
    made = dataclass(slots=True, kw_only=kw_only, repr=False, eq=False)(cls)
    names = [each.name for each in fields(made)]
    made._content = attrgetter(*names) if names else type
    return made


def _repr(self: Any) -> str:
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _eq(self: Any, other: Any) -> Any:
    return self._content(self) == self._content(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(self._content(self))
