"""Commands by name, each imported when it is called, and read by Typer without pydantic where that can be.

A command would otherwise spend more time on loading the modules of the others than on its work.
"""

from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

_FOLDER = "segue.cli.commands"

_COMMANDS = {
    "serve": "serve.serve",
    "worker": "worker.worker",
    "chat": "chat.chat",
    "search": "search.search",
    "mcp": "mcp.mcp",
    "import": "import_jobs.import_",
    "doctor": "doctor.doctor",
    "sessions": "sessions.app",
    "jobs": "jobs.app",
    "days": "days.app",
    "recalls": "recalls.app",
    "messages": "messages.app",
    "channels": "channels.app",
    "runs": "runs.app",
    "memories": "memories.app",
    "db": "db.app",
}
"""In the order of the help: the module and what it holds, a function or a group."""


class _Command(TyperCommand):
    def get_params(self, ctx: Any) -> Any:
        return _with_plain_values(super().get_params(ctx))


class _Group(TyperGroup):
    def get_params(self, ctx: Any) -> Any:
        return _with_plain_values(super().get_params(ctx))


class LazyGroup(_Group):
    """The group `segue`."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes | {"commands": _LazyCommands()})


class _LazyCommands(dict[str, Any]):
    """The commands by name. One that is not used is None and is not read."""

    def __init__(self) -> None:
        super().__init__(dict.fromkeys(_COMMANDS))

    def __getitem__(self, name: str) -> Any:
        made = super().__getitem__(name)
        if made is None:
            made = self[name] = _made(name)
        return made

    def get(self, name: str, default: Any = None) -> Any:
        try:
            return self[name]
        except KeyError:
            return default

    def items(self) -> Any:
        return [(name, self[name]) for name in self]

    def values(self) -> Any:
        return [self[name] for name in self]


def _made(name: str) -> Any:
    """Import a command or a group, and let Typer make it."""
    module, attribute = _COMMANDS[name].split(".")
    found = getattr(import_module(f"{_FOLDER}.{module}"), attribute)
    outer = typer.Typer(rich_markup_mode=None)
    if isinstance(found, typer.Typer):
        for each in found.registered_commands:
            each.cls = _Command
        outer.add_typer(found, name=name, cls=_Group)
    else:
        outer.command(name, cls=_Command)(found)
    return get_group(outer).commands[name]


def _with_plain_values(parameters: list[Any]) -> list[Any]:
    """Older versions of Typer do not read this attribute; they do not use pydantic either."""
    for each in parameters:
        vars(each)["_runtime_param"] = _PlainValues()
    return parameters


class _PlainValues:
    """Reads the values of a parameter in place of Typer's adapter, for which Typer loads pydantic.

    What this cannot read is left to that adapter, also for its error.
    """

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        wanted = param.type_descriptor
        try:
            return _plain(value, wanted.annotation, wanted.parameter_info)
        except ValueError:
            vars(param)["_runtime_param"] = None
            return param.get_runtime_param().coerce(value, param=param, ctx=ctx)


def _plain(value: Any, kind: Any, info: Any) -> Any:
    """The value of a plain type. Raises ValueError for others."""
    if kind is str and isinstance(value, str):
        return value
    if kind == list[str]:
        return list(value)
    if kind is int and info.parser is None:
        number = int(value)
        if (info.min is None or number >= info.min) and (info.max is None or number <= info.max):
            return number
    elif kind is Path or (isinstance(kind, type) and issubclass(kind, StrEnum)):
        return kind(value)
    raise ValueError("not a plain value")
