"""Tool arguments: validates what a model sent against the tool's schema, with errors that it can correct.

Schemas are flat objects: each property is a string, an integer, a number, a boolean or a list of strings,
perhaps one of a few values. Models fill flat schemas more reliably than nested ones.
"""

import json
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, TypeAlias

Schema: TypeAlias = Mapping[str, Any]

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
}
_ARTICLES = {"integer": "an integer", "array": "a list of strings", "boolean": "true or false"}


class BadArguments(Exception):
    """The arguments are wrong; the message tells the model how to correct them."""


def flat(properties: Mapping[str, Mapping[str, Any]], *, required: tuple[str, ...] = ()) -> Schema:
    """Return the schema of an object with these properties and no others."""
    return {
        "type": "object",
        "properties": {name: dict(form) for name, form in properties.items()},
        "required": list(required),
        "additionalProperties": False,
    }


def parse(raw: str | Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the arguments from an object, its JSON text or nothing. Raises `BadArguments`."""
    if raw is None or raw == "":
        return {}
    if isinstance(raw, str):
        try:
            raw = json.loads(raw, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise BadArguments(f"the arguments are not JSON ({error}); send one JSON object") from None
    if not isinstance(raw, Mapping):
        raise BadArguments(f"the arguments must be one JSON object, got {type(raw).__name__}")
    return {str(name): value for name, value in raw.items()}


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number")


def check(tool: str, schema: Schema, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments without those that are null. Raises `BadArguments` if the schema is not met."""
    properties: Mapping[str, Mapping[str, Any]] = schema["properties"]
    arguments = {name: value for name, value in given.items() if value is not None}
    for name in arguments:
        if name not in properties:
            raise BadArguments(_unknown(tool, name, list(properties)))
    for name in schema.get("required", ()):
        if name not in arguments:
            raise BadArguments(f"{tool} needs `{name}`, {_described(properties[name])}")
    for name, value in arguments.items():
        _check_value(name, properties[name], value)
    return arguments


def _check_value(name: str, form: Mapping[str, Any], value: Any) -> None:
    kind = form["type"]
    valid = isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))
    if kind == "array":
        valid = valid and all(isinstance(item, str) for item in value)
    if not valid:
        raise BadArguments(f"`{name}` must be {_described(form)}, got {json.dumps(value)[:80]}")
    if "enum" in form and value not in form["enum"]:
        raise BadArguments(f"`{name}` is one of {', '.join(form['enum'])}, got {json.dumps(value)[:80]}")
    if "minimum" in form and value < form["minimum"]:
        raise BadArguments(f"`{name}` is at least {form['minimum']}, got {value}")


def _described(form: Mapping[str, Any]) -> str:
    kind = _ARTICLES.get(form["type"], f"a {form['type']}")
    return f"{kind}: {form['description']}" if "description" in form else kind


def _unknown(tool: str, name: str, known: list[str]) -> str:
    near = get_close_matches(name, known, n=1)
    if near:
        return f"{tool} knows no `{name}`; did you mean `{near[0]}`?"
    takes = ", ".join(f"`{one}`" for one in known) or "no arguments"
    return f"{tool} knows no `{name}`; it takes {takes}"
