"""Record classes: dataclasses that are frozen for the type checker and plain at run time.

A frozen dataclass sets each field through a call, so a turn of thirty fields takes six times as long to build
as a plain one. The type checker finds an assignment before the code runs.

About a hundred such classes are made when the package is imported, and dataclass spends most of that time on
generating methods. Here only `__init__` is generated; the other methods are shared.
"""

from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """A dataclass with keyword arguments and slots, equal and hashed by its fields."""
    made: type[T] = _dataclass(cls, kw_only=True)
    return made


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def positional(cls: type[T]) -> type[T]:
    """The same with positional arguments, for small classes."""
    made: type[T] = _dataclass(cls, kw_only=False)
    return made


def _dataclass(cls: Any, *, kw_only: bool) -> Any:
    # Without a docstring, dataclass would generate one from the signature, which is slow.
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
