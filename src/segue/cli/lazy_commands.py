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

    The errors are those of Click, and of Typer before it used pydantic. Typer itself reads other types.
    """

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        kind = param.type_descriptor.annotation
        try:
            if kind is str or kind is Path:
                return kind(value)
            if kind == list[str]:
                return list(value)
            if kind is int:
                return _whole(value, param.type_descriptor.parameter_info)
            if isinstance(kind, type) and issubclass(kind, StrEnum):
                return _choice(value, kind)
        except ValueError as error:
            raise typer.BadParameter(str(error), ctx=ctx, param=param) from None
        vars(param)["_runtime_param"] = None
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)


def _whole(value: Any, info: Any) -> int:
    try:
        number = int(value)
    except ValueError:
        raise ValueError(f"{value!r} is not a valid integer.") from None
    least, most = info.min, info.max
    if (least is not None and number < least) or (most is not None and number > most):
        wanted = f"x>={least}" if most is None else f"x<={most}" if least is None else f"{least}<=x<={most}"
        raise ValueError(f"{number} is not in the range {wanted}.")
    return number


def _choice(value: Any, kind: type[StrEnum]) -> StrEnum:
    try:
        return kind(value)
    except ValueError:
        raise ValueError(f"{value!r} is not one of {', '.join(map(repr, map(str, kind)))}.") from None
