"""Scheduling tools: Segue's own tools for agents of any framework."""

from collections.abc import Collection, Sequence
from difflib import get_close_matches

from segue.agents.tools.cron import cron_tool
from segue.agents.tools.memory import memory_tool
from segue.agents.tools.recalls import recall_tools
from segue.agents.tools.registry import Registry, Tool, Toolbox, ToolContext
from segue.agents.tools.scheduled_messages import message_tools
from segue.agents.tools.timezone import zone_tool
from segue.errors import BadSetting
from segue.model.agent import OpenTurn


def scheduling_tools(*names: str, models: Collection[str] = ()) -> list[Tool]:
    """Return Segue's tools: cron, recalls, scheduled messages, the time zone, memory search.

    Each has a `name`, a `description` and `parameters`, a flat JSON schema: enough for a framework that binds
    tools when its agent is made. To run one, call `(await turn.tools()).call(name, arguments, call_id=…)`;
    where the framework does not pass the turn on, `current_turn()` returns it. `models` are the short names
    that a job may ask for, as in `Settings.models`. Raises `BadSetting` for an unknown name.
    """
    tools = [cron_tool(models), *recall_tools(), *message_tools(), zone_tool(), memory_tool()]
    known = [tool.name for tool in tools]
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            raise BadSetting(
                f"there is no scheduling tool {name!r}; "
                + (f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known)}")
            )
    return [tool for tool in tools if not names or tool.name in names]


async def open_tools(turn: OpenTurn, names: Sequence[str] = ()) -> Toolbox:
    """Return the tools for a turn. Those for private chats are left out in a group."""
    tools = scheduling_tools(*names, models=turn.kernel.settings.models or ())
    return await Registry(tools).open(ToolContext.of(turn))
