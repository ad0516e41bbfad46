"""Python reference: builds `docs/reference/python.md` from the public names, their signatures and docstrings.

`make reference` writes the page. A test fails when the page differs from what this module builds.
"""

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping
from enum import Enum, StrEnum
from itertools import pairwise
from os.path import relpath
from typing import Any, get_args

import segue
from segue import Kernel
from segue.kernel.api.calendar.calendar import CalendarApi
from segue.kernel.api.context import OPERATOR
from segue.kernel.api.days import DaysApi
from segue.kernel.api.files import FilesApi
from segue.kernel.api.guests import GuestsApi
from segue.kernel.api.health import HealthApi
from segue.kernel.api.jobs import JobsApi
from segue.kernel.api.log import LogApi
from segue.kernel.api.memory import MemoryApi
from segue.kernel.api.push import PushApi
from segue.kernel.api.recalls import RecallsApi
from segue.kernel.api.runs import RunsApi
from segue.kernel.api.scheduled_messages import ScheduledMessagesApi
from segue.kernel.api.sessions import SessionsApi
from segue.kernel.api.turns import TurnsApi
from segue.model.records import NEWEST
from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "reference" / "python.md"

INTRODUCTION = """\
# Python

You may rely on everything in `from segue import …`, on `segue.errors`, `segue.sync`, `segue.server` and \
`segue.testing`, and on nothing else. `make reference` builds this page from the docstrings.

All moments in records are milliseconds since 1970 in UTC. All ids are strings."""

SECTIONS = {
    "The kernel": ("", "Kernel() Drained"),
    "When": (
        "Triggers are values. `next_after(moment)` returns the first slot after a moment, or None. All of "
        "them raise `BadTrigger` for values that cannot be used.",
        "At() Every() Phase Cron() RRule() Idle() Trigger",
    ),
    "What": ("", "Ask() Say() Call() View"),
    "How": (
        "",
        "Policy() Budget() QuietHours() Digest() Late Busy Overlap Crash WhenBusy AutoCommitPolicy() "
        "Settings()",
    ),
    "Agents and channels": (
        "",
        "Agent OpenTurn current_turn Delta Text() Thinking() ToolStarted() ToolCalled() Usage() "
        "Attach() Waiting() Resumed scheduling_tools Tool Toolbox Channel Capabilities() Markdown "
        "Stored() Arrival() IncomingFile() Receipt() NotTaken() Unreachable() Rejected() Clock SystemClock",
    ),
    "Records": (
        "Values, as they were when they were read.",
        "Session Overview Owner() Operator() Turn TurnState Outcome Job OwnedJob JobKind JobState Run Recall "
        "CallType RecallStatus ScheduledMessage MessageStatus Event LiveText Message File Source "
        "Delivery PageStart() Request()",
    ),
}
"""For each section an introduction and its names. A name with brackets is shown with its arguments."""

PARTS: dict[str, type] = {
    "sessions": SessionsApi,
    "turns": TurnsApi,
    "jobs": JobsApi,
    "days": DaysApi,
    "calendar": CalendarApi,
    "runs": RunsApi,
    "files": FilesApi,
    "recalls": RecallsApi,
    "scheduled_messages": ScheduledMessagesApi,
    "memory": MemoryApi,
    "log": LogApi,
    "guests": GuestsApi,
    "push": PushApi,
    "health": HealthApi,
}
"""The parts of the kernel's API, in the order of the page."""

SHORTCUTS = {
    "turns.receive": "receive",
    "turns.wait": "wait",
    "turns.ask": "ask",
    "jobs.add": "schedule",
    "log.messages": "messages",
    "log.follow": "follow",
}

NAMED = ((OPERATOR, "OPERATOR"), (NEWEST, "NEWEST"))
"""Defaults that are shown by the name of a constant."""

_MODULE = re.compile(r"\b(?:[a-z_]+\.)+(?=[A-Z])")
_PAGE = re.compile(r"`(docs/[\w/-]+\.md)`")


def build() -> str:
    """Returns the text of the page. Raises ValueError for a public name without a section or a docstring."""
    names = [name for _, listed in SECTIONS.values() for name in listed.replace("()", "").split()]
    if wrong := set(names) ^ set(segue.__all__):
        raise ValueError(f"SECTIONS and segue.__all__ differ in {', '.join(sorted(wrong))}")
    parts = [INTRODUCTION]
    for title, (introduction, listed) in SECTIONS.items():
        parts += [f"## {title}", introduction]
        for name in listed.split():
            parts += _entry(name.removesuffix("()"), with_arguments=name.endswith("()"))
    return "\n\n".join(part for part in parts if part) + "\n"


def _entry(name: str, *, with_arguments: bool) -> Iterator[str]:
    value = getattr(segue, name)
    yield f"### `{name}{_signature(value) if with_arguments or inspect.isfunction(value) else ''}`"
    if inspect.isfunction(value):
        yield _text(value.__doc__, name)
        return
    if not isinstance(value, type):
        kinds = ", ".join(f"`{kind.__name__}`" for kind in get_args(value))
        yield f"{_text(_alias_doc(name), name)} One of {kinds}."
        return
    yield _text(value.__doc__, name)
    if issubclass(value, StrEnum):
        docs = _field_docs(value)
        yield _list("Values", {member.value: docs.get(member.name) for member in value})
    else:
        lists = _list("" if with_arguments else "Fields", _fields(value)), _list("", _methods(value))
        yield "\n".join(each for each in lists if each)
    if value is Kernel:
        yield from _verbs()


def _verbs() -> Iterator[str]:
    """The kernel's own public methods, then those of its parts."""
    for name, function in _functions(Kernel).items():
        yield f"#### `kernel.{name}{_signature(function)}`"
        yield _text(function.__doc__, f"Kernel.{name}")
    for part, cls in PARTS.items():
        yield f"### `kernel.{part}`"
        yield _text(cls.__doc__, cls.__name__)
        for name, function in _functions(cls).items():
            yield f"#### `kernel.{part}.{name}{_signature(function)}`"
            yield _text(function.__doc__, f"{cls.__name__}.{name}")
            if shortcut := SHORTCUTS.get(f"{part}.{name}"):
                yield f"Shortcut: `kernel.{shortcut}`."


def _functions(cls: type) -> dict[str, Any]:
    return {name: each for name, each in vars(cls).items() if inspect.isfunction(each) and name[0] != "_"}


def _fields(cls: type) -> dict[str, str | None]:
    """Public fields and properties with their docstrings."""
    docs = _field_docs(cls)
    annotations = inspect.get_annotations(cls).items()
    fields = {name: docs.get(name) for name, kind in annotations if "ClassVar[" not in str(kind)}
    fields |= {name: each.__doc__ for name, each in vars(cls).items() if isinstance(each, property)}
    return {name: doc for name, doc in fields.items() if name[0] != "_"}


def _methods(cls: type) -> dict[str, str | None]:
    """Coroutines, and all methods of a protocol."""
    is_protocol = getattr(cls, "_is_protocol", False)
    return {
        f"{name}{_signature(each)}": each.__doc__
        for name, each in _functions(cls).items()
        if cls is not Kernel and each.__doc__ and (is_protocol or inspect.iscoroutinefunction(each))
    }


def _list(title: str, docs: Mapping[str, str | None]) -> str:
    """All names on a line behind the title, unless each has a docstring; then those that have one."""
    lines = [f"- `{name}`: {_text(doc, name, ' ')}" for name, doc in docs.items() if doc]
    if title and len(lines) < len(docs):
        lines[:0] = [f"{title}: {', '.join(f'`{name}`' for name in docs)}.", *([""] if lines else [])]
    return "\n".join(lines)


def _field_docs(cls: type) -> dict[str, str]:
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    assert isinstance(node, ast.ClassDef)
    return _strings_below(node.body)


def _alias_doc(name: str) -> str | None:
    """The string below a type alias, in the module that `segue` imports it from."""
    for node in ast.parse(inspect.getsource(segue)).body:
        if isinstance(node, ast.ImportFrom) and name in {each.name for each in node.names}:
            source = inspect.getsource(sys.modules[str(node.module)])
            return _strings_below(ast.parse(source).body).get(name)
    return None


def _strings_below(body: list[ast.stmt]) -> dict[str, str]:
    """By the names of assignments, the strings below them, which Python does not keep."""
    strings = {}
    for node, below in pairwise(body):
        match node, below:
            case (
                (ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)])),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                strings[name] = text
    return strings


def _signature(value: Any) -> str:
    """Arguments with their defaults, and the type of what is returned."""
    signature = inspect.signature(value)
    arguments = [
        each.replace(annotation=each.empty, default=_default(each.default))
        for name, each in signature.parameters.items()
        if name != "self"
    ]
    text = str(inspect.Signature(arguments))
    returned = signature.return_annotation
    if isinstance(value, type) or returned in (None, signature.empty):
        return text
    return f"{text} -> {_MODULE.sub('', inspect.formatannotation(returned))}"


class _Code:
    """Shown as it is."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _default(value: Any) -> Any:
    for constant, name in NAMED:
        if value is constant:
            return _Code(name)
    if isinstance(value, Enum):
        return _Code(repr(value.value) if isinstance(value, StrEnum) else value.name)
    if inspect.isfunction(value):
        return _Code(value.__name__)
    return _Code("{}") if repr(value) == "<factory>" else value


def _text(doc: str | None, name: str, between: str = "\n\n") -> str:
    """A docstring as Markdown: each paragraph on one line, and links to the pages that it names."""
    if not doc:
        raise ValueError(f"{name} has no docstring")
    paragraphs = inspect.cleandoc(doc).split("\n\n")
    return _PAGE.sub(_link, between.join(" ".join(paragraph.split()) for paragraph in paragraphs))


def _link(page: re.Match[str]) -> str:
    path = ROOT / page[1]
    return f"[{path.stem}]({relpath(path, PAGE.parent)})"


if __name__ == "__main__":
    PAGE.write_text(build(), "utf-8")
