"""Groups of settings: records that check each value when they are made.

Not pydantic: loading it takes longer than most commands do. A field names what it wants by `Wanted` in its
annotation; a `Wanted.read` takes what a file, a variable or a program gives and returns the value.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, TypeAlias, TypeVar

from segue.record import positional

P = TypeVar("P", bound="Part")

Read: TypeAlias = Callable[[Any], Any]
"""Returns the value, or raises ValueError with a sentence that does not quote it."""


class WrongValue(ValueError):
    """A value that its field does not want. `where` leads to it: names of fields and numbers of entries."""

    def __init__(self, why: str, value: object, *where: str | int) -> None:
        super().__init__(why)
        self.why = why
        self.value = value
        self.where = where

    def __str__(self) -> str:
        return f"{place(self.where)}: {self.why}" if self.where else self.why


@positional
class Wanted:
    """What a field accepts, as the end of the sentence "… must be"."""

    words: str
    read: Read
    json: bool = False
    """Text is parsed as JSON, or as @file that holds JSON."""
    path: bool = False


class Secret:
    """A text that is not shown by `repr` and `str`."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return "Secret('•••')"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)


class Part:
    """A group of settings. Raises `WrongValue`."""

    __slots__ = ()

    def __post_init__(self) -> None:
        for info in fields(self):  # type: ignore[arg-type]  # every part is a dataclass
            value = getattr(self, info.name)
            read = _reader(info)
            if read is not None and value is not info.default:
                setattr(self, info.name, inside(info.name, read, value))


def settings_of(part: type[Part], prefix: str = "") -> Iterator[tuple[str, "Field[Any]"]]:
    """Yield every setting with its dotted name, also those of nested parts."""
    for info in fields(part):  # type: ignore[arg-type]
        if (inner := _part_of(info)) is not None:
            yield from settings_of(inner, f"{prefix}{info.name}.")
        elif wanted(info) is not None:
            yield f"{prefix}{info.name}", info


def wanted(info: "Field[Any]") -> Wanted | None:
    """What the annotation of a field names; None if it is no setting."""
    metadata = getattr(info.type, "__metadata__", ())
    return next((each for each in metadata if isinstance(each, Wanted)), None)


def part(kind: type[P]) -> Callable[[Any], P]:
    """Reads an object: a mapping with the fields of the part."""

    def read(value: Any) -> P:
        if isinstance(value, kind):
            return value
        if not isinstance(value, Mapping):
            raise ValueError("it is not an object")
        known = {info.name: info for info in fields(kind)}  # type: ignore[arg-type]
        for name in value:
            if name not in known:
                raise WrongValue("there is no such field", value, str(name))
        for name, info in known.items():
            if name not in value and info.default is MISSING and info.default_factory is MISSING:
                raise WrongValue("it is missing", value, name)
        return kind(**value)

    return read


def inside(place: str | int, read: Read, value: Any) -> Any:
    """Read a value; an error says where it is."""
    try:
        return read(value)
    except WrongValue as wrong:
        raise WrongValue(wrong.why, wrong.value, place, *wrong.where) from None
    except ValueError as error:
        raise WrongValue(str(error), value, place) from None


def place(where: tuple[str | int, ...]) -> str:
    return ", ".join(f"entry {part + 1}" if isinstance(part, int) else part for part in where)


def _part_of(info: "Field[Any]") -> type[Part] | None:
    kind = info.type
    return kind if isinstance(kind, type) and issubclass(kind, Part) else None


def _reader(info: "Field[Any]") -> Read | None:
    if (inner := _part_of(info)) is not None:
        return part(inner)
    found = wanted(info)
    return found.read if found is not None else None
