"""Configuration layers: a file, the environment, flags. A later layer wins, and each value knows its source.

This module names no setting: names and types are read from the record of settings.
"""

import difflib
import json
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import Field, field
from pathlib import Path
from typing import Any

from segue.config.parts import Part, Wanted, WrongValue, place, settings_of, wanted
from segue.errors import BadSetting
from segue.record import positional
from segue.times.format import quoted

FILE = "segue.toml"
_PREFIX = "SEGUE_"
_SHORTER = ("server.session_auto_commit.", "auto_commit.")
"""This table of the file has a shorter name in the environment."""

_OF_THE_TESTS = re.compile(r"SEGUE_(LONG|SIM_SEED|TEST_\w+)")
"""Variables of this repository's tests, which may start a server."""

_OF_KUBERNETES = re.compile(
    r"SEGUE(_\w+)?_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)"
)
"""Variables that Kubernetes sets in every container if a Service is named `segue` or `segue-…`."""
_ADDRESS_OF_KUBERNETES = re.compile(r"(tcp|udp|sctp)://.*")
"""The value of Kubernetes' variables that end in `_PORT`."""


@positional
class Given:
    """The values, nested as the model is, and the source of each dotted name."""

    values: dict[str, Any] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    """Sentences about what was ignored."""

    def put(self, name: str, value: object, source: str) -> None:
        *outer, last = name.split(".")
        values = self.values
        for part in outer:
            values = values.setdefault(part, {})
        values[last] = value
        self.sources[name] = source


def read(
    kind: type[Part], path: Path | str | None, env: Mapping[str, str], flags: Mapping[str, Any]
) -> Given:
    """Read the three layers. Raises `BadSetting`, or TypeError for an unknown flag."""
    known = dict(settings_of(kind))
    given = Given()
    _put_file(given, known, path)
    _put_environment(given, known, env)
    for name, value in flags.items():
        if name not in known:
            raise TypeError(f"{name} is no setting")
        if value is not None:
            given.put(name, value, f"--{name.replace('_', '-')}")
    return given


def variable_of(name: str) -> str:
    """Return the environment variable of a setting."""
    return _PREFIX + name.replace(*_SHORTER).replace(".", "_").upper()


def sentence(kind: type[Part], wrong: WrongValue, sources: Mapping[str, str]) -> str:
    """Describe a wrong value, with its source."""
    known = dict(settings_of(kind))
    parts = [str(part) for part in wrong.where]
    name = next(dotted for end in range(len(parts), 0, -1) if (dotted := ".".join(parts[:end])) in known)
    inner = wrong.where[name.count(".") + 1 :]
    head = f"{sources.get(name, name)} must be {_wanted(known[name]).words}"
    if not inner and known[name].repr and isinstance(wrong.value, str | int | float | bool):
        return f"{head}, got {quoted(wrong.value)}"
    return f"{head}; {place(inner)}{': ' if inner else ''}{wrong.why}"


def _wanted(info: "Field[Any]") -> Wanted:
    found = wanted(info)
    assert found is not None  # it is a setting
    return found


# The file


def _put_file(given: Given, known: Mapping[str, "Field[Any]"], path: Path | str | None) -> None:
    # `os.path.exists` is False for a folder that this user may not read; `Path.exists` would raise.
    if path is None and not os.path.exists(FILE):
        return
    file = Path(path or FILE)
    for name, value in _flat(_table_in(file), known, file):
        source = f"{name} in {file}"
        if _wanted(known[name]).path and isinstance(value, str):
            # A path in the file is relative to the file, not to the working directory.
            value = file.parent / Path(value).expanduser()
        given.put(name, _parse_json(known[name], value, source, file.parent), source)


def _table_in(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise BadSetting(f"the settings in {file} cannot be read: {_why(error)}") from None
    except tomllib.TOMLDecodeError as error:
        raise BadSetting(f"the settings in {file} are not TOML: {error}") from None


def _flat(
    table: Mapping[str, Any], known: Mapping[str, "Field[Any]"], file: Path, prefix: str = ""
) -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        name = prefix + key
        if name in known:
            yield name, value
        elif any(each.startswith(f"{name}.") for each in known):
            if not isinstance(value, dict):
                raise BadSetting(f"{name} in {file} must be a table of settings, got {quoted(value)}")
            yield from _flat(value, known, file, f"{name}.")
        else:
            nearest = key if key in known else _nearest(name, _names_in_table(prefix, known))
            raise BadSetting(f"{file} sets {name!r}, which is no setting; did you mean {nearest!r}?")


def _names_in_table(prefix: str, known: Iterable[str]) -> list[str]:
    """Return the names allowed in the table of that prefix: settings and nested tables."""
    within = (name.removeprefix(prefix) for name in known if name.startswith(prefix))
    return sorted({prefix + name.partition(".")[0] for name in within})


# The environment


def _put_environment(given: Given, known: Mapping[str, "Field[Any]"], env: Mapping[str, str]) -> None:
    names = {variable_of(name): name for name in known}
    for variable, value in env.items():
        if not variable.startswith(_PREFIX) or _OF_THE_TESTS.fullmatch(variable):
            continue
        if _is_of_kubernetes(variable, value):
            continue
        if variable not in names:
            # Not an error: other projects may use variables with the same prefix.
            given.warnings.append(
                f"the environment sets {variable}, which is no setting and is not used; did you mean "
                f"{_nearest(variable, names)}?"
            )
        elif value:  # `SEGUE_MODEL= segue serve` unsets it
            name = names[variable]
            given.put(name, _parse_json(known[name], value, variable, Path()), variable)


def _is_of_kubernetes(variable: str, value: str) -> bool:
    if _OF_KUBERNETES.fullmatch(variable):
        return True
    return variable.endswith("_PORT") and _ADDRESS_OF_KUBERNETES.fullmatch(value) is not None


# JSON


def _parse_json(info: "Field[Any]", value: object, source: str, folder: Path) -> object:
    if not isinstance(value, str) or not _wanted(info).json:
        return value
    if value.startswith("@"):
        file = folder / Path(value[1:]).expanduser()
        source = f"{source} (the file {file})"
        try:
            value = file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise BadSetting(f"{source} cannot be read: {_why(error)}") from None
    try:
        return json.loads(value)
    except ValueError as error:  # its message does not quote the text, which may hold secrets
        raise BadSetting(f"{source} must be {_wanted(info).words}; it is not JSON: {error}") from None


def _nearest(name: str, known: Iterable[str]) -> str:
    return difflib.get_close_matches(name, known, n=1, cutoff=0)[0]


def _why(error: OSError | UnicodeDecodeError) -> str:
    return (error.strerror or str(error)).lower() if isinstance(error, OSError) else "it is not UTF-8 text"
