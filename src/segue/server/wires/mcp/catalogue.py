"""Tool catalogue of the MCP wire: Segue's scheduling tools, worded for a client outside the conversation.

Inside a turn the tools tell the agent what it can do for itself. An MCP client is not in the conversation: it
schedules work for the agent that answers there, so it gets other descriptions. Arguments that name a session
are removed: the binding names it.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mcp import types

from segue.agents.tools.arguments import Schema
from segue.agents.tools.registry import SET_TIMEZONE, Tool
from segue.agents.tools.scheduling import scheduling_tools
from segue.record import record
from segue.server.wires.mcp.conversation_tools import conversation_tools

_AGENT_INSTRUCTION = (
    "what the agent is to do then, in full: a todo that names tools, files or URLs. The agent sees the "
    "conversation and this text, not what you know"
)

_DESCRIPTIONS: Mapping[str, str] = {
    "cron": (
        "Schedule work in the bound conversation. At each of its times a job gives Segue's agent a turn "
        "there, with the conversation so far before it; the answer is written there and sent to the user. "
        "add: `message` (what the agent is to do then, in full) and one of `every_seconds`, `cron_expr`, "
        "`rrule` and `at`. list: what is scheduled, with ids and next runs. update: change `name`, `message` "
        "or the schedule of `job_id`. pause, resume, skip (let the next run go by), remove: of `job_id`. For "
        "a text that is sent word for word use schedule_private_message."
    ),
    "schedule_recall": (
        "Give Segue's agent one more turn in the bound conversation, later or right away, to go on with a "
        "task: check a build in half an hour, poll a page every five minutes. A conversation has one pending "
        "recall; cancel it with manage_recall before you set another. For a schedule that stays, use cron."
    ),
    "manage_recall": (
        "The recall of the bound conversation. cancel: it will not fire. skip: let the next time of a "
        "recurring one go by. list: all recalls, pending, fired and cancelled."
    ),
    "schedule_private_message": (
        "Write a message now that is sent to the user in the bound conversation at a later time, word for "
        "word, without asking a model: a reminder. The answer names its `task_id`."
    ),
    "list_scheduled_private_messages": (
        "The messages scheduled in the bound conversation, newest first: waiting, sent, failed, cancelled."
    ),
    "cancel_scheduled_private_message": (
        "Cancel a scheduled message of the bound conversation that was not sent yet."
    ),
    SET_TIMEZONE: (
        "Store the time zone of the bound conversation's user, when they have said in which city or zone "
        "they are. Clock times that name no zone are read in it. Do not guess it: ask the user."
    ),
    "memory_search": (
        "Search what Segue remembers of the user (facts, preferences, decisions, open threads) and what was "
        "said in archived conversations. Use a few words that the answer would contain."
    ),
}

_PROPERTIES: Mapping[str, Mapping[str, str]] = {
    "cron": {"message": "what the agent is to do when the time has come, in full"},
    "schedule_recall": {
        "call_type": "once, recurring, or immediate: as soon as the conversation is free",
        "additional_context_message": _AGENT_INSTRUCTION,
    },
}
_NAMES_A_SESSION = {"manage_recall": "session_id"}

_READS = types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
_ADDS = types.ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)
_REMOVES = types.ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False
)
_SETS = types.ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_RUNS_AN_AGENT = types.ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True
)

_TITLES_AND_HINTS: Mapping[str, tuple[str, types.ToolAnnotations]] = {
    "cron": ("Schedule work", _REMOVES),
    "schedule_recall": ("Call the agent back", _ADDS),
    "manage_recall": ("List, skip or cancel the recall", _REMOVES),
    # `replace_existing` cancels the messages that wait.
    "schedule_private_message": ("Write a message for later", _REMOVES),
    "list_scheduled_private_messages": ("List written messages", _READS),
    "cancel_scheduled_private_message": ("Cancel a written message", _REMOVES),
    SET_TIMEZONE: ("Set the time zone", _SETS),
    "memory_search": ("Search memory", _READS),
    "explain_job": ("Explain a job", _READS),
    "read_messages": ("Read the conversation", _READS),
    "send_turn": ("Send a message to the agent", _RUNS_AN_AGENT),
}

_CREATES = {"schedule_recall", "schedule_private_message", SET_TIMEZONE, "send_turn"}
"""Tools that make a missing session. `cron` does with the action `add`."""


@record
class Offered:
    """A tool as the wire offers it."""

    tool: Tool
    title: str
    annotations: types.ToolAnnotations

    def creates(self, arguments: Mapping[str, Any]) -> bool:
        """Whether the call makes the session if it is missing."""
        return self.tool.name in _CREATES or (self.tool.name, arguments.get("action")) == ("cron", "add")

    def to_wire(self) -> types.Tool:
        return types.Tool(
            name=self.tool.name,
            title=self.title,
            description=self.tool.description,
            input_schema=dict(self.tool.parameters),
            annotations=self.annotations,
        )


def catalogue() -> dict[str, Offered]:
    """All tools of the wire, by name."""
    tools = [*map(_reworded, scheduling_tools()), *conversation_tools()]
    return {tool.name: _offered(tool) for tool in tools}


def _offered(tool: Tool) -> Offered:
    title, annotations = _TITLES_AND_HINTS[tool.name]
    return Offered(tool=tool, title=title, annotations=annotations)


def _reworded(tool: Tool) -> Tool:
    return replace(tool, description=_DESCRIPTIONS[tool.name], parameters=_parameters(tool))


def _parameters(tool: Tool) -> Schema:
    removed, reworded = _NAMES_A_SESSION.get(tool.name), _PROPERTIES.get(tool.name, {})
    properties = {
        name: {**form, "description": reworded.get(name, form["description"])}
        for name, form in tool.parameters["properties"].items()
        if name != removed
    }
    return {**tool.parameters, "properties": properties}
