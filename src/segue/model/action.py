"""Actions: what a job does when it fires. It asks the agent, says a text, or calls a function."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, StrEnum
from typing import Any, TypeAlias

from segue.errors import BadText, Invalid
from segue.model.prompts import Mode
from segue.model.text_checks import check_key, check_text
from segue.times.format import quoted


class View(StrEnum):
    """How much of its conversation a scheduled turn is given."""

    FULL = "full"
    """Everything that fits."""
    SINCE_LAST_RUN = "since_last_run"
    """The job's last run, and everything after it."""
    TAIL = "tail"
    """The newest twenty messages."""
    SUMMARY = "summary"
    """The summary and the memories, without messages."""


JSON: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Ask:
    """Asks the agent in a turn of the session, with the session's history before it."""

    prompt: str
    hidden: bool = False
    """The transcript shows that the job ran, not the prompt."""
    mode: Mode = Mode.TURN
    to: str | None = None
    """For legacy jobs, which run in a session of their own: the session that gets the answer, if any."""
    view: View = View.FULL
    channel_meta: Mapping[str, Any] | None = None
    """For legacy jobs: where in that session's chat the answer belongs, such as a topic."""
    model: str | None = None
    """The short name of the model to ask (`Settings.models`). A job that is made without one gets that of
    the default model, if it has a name."""
    look: str | None = None
    """In a check: the short name of a cheaper model that looks first. Only if it finds something is the
    job's own model asked."""

    def __post_init__(self) -> None:
        check_text(self.prompt, "the prompt of Ask")
        if self.mode not in list(Mode):
            raise Invalid(f"mode is one of {', '.join(Mode)}; got {quoted(self.mode)}")
        object.__setattr__(self, "mode", Mode(self.mode))
        if self.view not in list(View):
            raise Invalid(f"view is one of {', '.join(View)}; got {quoted(self.view)}")
        object.__setattr__(self, "view", View(self.view))
        if self.to is not None:
            check_key(self.to)
        if self.look is not None and self.mode is not Mode.CHECK:
            raise Invalid("look is for a check: set mode to check, or leave look out")
        if self.channel_meta is not None:
            _check_json(dict(self.channel_meta), "the channel_meta of Ask")

    def to_json(self) -> JSON:
        data = {"kind": "ask", "prompt": self.prompt, "hidden": self.hidden, "mode": str(self.mode)}
        data |= {"view": str(self.view)} if self.view is not View.FULL else {}
        data |= {"channel_meta": dict(self.channel_meta)} if self.channel_meta else {}
        data |= {"model": self.model} if self.model else {}
        data |= {"look": self.look} if self.look else {}
        return data | ({"to": self.to} if self.to else {})


@dataclass(frozen=True, slots=True)
class Say:
    """A text that is written now and sent later, without a model call."""

    text: str

    def __post_init__(self) -> None:
        check_text(self.text, "the text of Say")

    def to_json(self) -> JSON:
        return {"kind": "say", "text": self.text}


@dataclass(frozen=True, slots=True)
class Call:
    """Calls a function of `Kernel(functions={…})` by its name: `async def function(turn, **arguments)`."""

    function: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.function.isidentifier():
            raise BadText(f"Call needs the name a function was registered under, got {self.function!r}")
        _check_json(dict(self.arguments), "the arguments of Call")

    def to_json(self) -> JSON:
        return {"kind": "call", "function": self.function, "arguments": dict(self.arguments)}


def _check_json(value: JSON, what: str) -> None:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise Invalid(f"{what} must be what JSON can hold: {error}") from None
    check_text(text, what)


Action: TypeAlias = Ask | Say | Call


class _Unchanged(Enum):
    UNCHANGED = "unchanged"


UNCHANGED = _Unchanged.UNCHANGED
"""Not given. None means that there is to be none."""


def changed_ask(
    action: Action,
    *,
    message: str | None = None,
    mode: Mode | None = None,
    view: View | None = None,
    model: str | _Unchanged | None = UNCHANGED,
    look: str | _Unchanged | None = UNCHANGED,
) -> Ask | None:
    """An `Ask` with the given fields changed; None if none is given, or if the action is another one."""
    given = {"prompt": message, "mode": mode, "view": view}
    changes: JSON = {name: value for name, value in given.items() if value is not None}
    changes |= {name: value for name, value in (("model", model), ("look", look)) if value is not UNCHANGED}
    if not isinstance(action, Ask) or not changes:
        return None
    if message is not None:
        check_text(message, "the message")
    return replace(action, **changes)


def action_from_json(data: JSON) -> Action:
    match data:
        case {"kind": "ask", "prompt": prompt}:
            mode = data.get("mode", Mode.TURN)
            view = data.get("view", View.FULL)
            hidden = bool(data.get("hidden", False))
            meta = data.get("channel_meta")
            models = {name: data.get(name) for name in ("model", "look")}
            to = data.get("to")
            return Ask(prompt, hidden=hidden, mode=mode, to=to, view=view, channel_meta=meta, **models)
        case {"kind": "say", "text": text}:
            return Say(text)
        case {"kind": "call", "function": function}:
            return Call(function, data.get("arguments", {}))
    raise Invalid(f"an action is an ask, a say or a call; got {data.get('kind')!r}")
