"""`set_timezone` tool: stores the time zone of this conversation's user.

Invariants
  - it changes the conversation that the tool is called in; no argument can name another one
  - a refused call changes nothing
"""

from collections.abc import Mapping
from typing import Any

from segue.agents.tools.arguments import flat
from segue.agents.tools.registry import SET_TIMEZONE, Tool, ToolContext, ToolRefused
from segue.model.schedule import local
from segue.times.clock import to_moment
from segue.times.format import quoted
from segue.times.reader.places import zone_called

_DESCRIPTION = (
    "Keep the time zone of this conversation's user, when they have said in which city or zone they are. "
    "From then on every time on the clock that names no zone is read in it. Never guess it: ask the user."
)
_PROPERTIES: Mapping[str, Mapping[str, Any]] = {
    "timezone": {"type": "string", "description": "an IANA name such as 'Europe/Berlin'"},
}


def zone_tool() -> Tool:
    return Tool(
        name=SET_TIMEZONE,
        description=_DESCRIPTION,
        parameters=flat(_PROPERTIES, required=("timezone",)),
        run=_set,
    )


async def _set(context: ToolContext, *, timezone: str) -> str:
    name = zone_called(timezone)
    if name is None:
        raise ToolRefused(
            f"no time zone is called {quoted(timezone)}; give an IANA name such as 'Europe/Berlin', and ask "
            "the user for a large city near them if you do not know it"
        )
    kernel, owner = context.kernel, context.owner
    session = await kernel.sessions.update(context.here.key, timezone=name, owner=owner)
    common = await kernel.sessions.lane_of(session)
    if common.id != session.id:
        await kernel.sessions.suggest_zone(common.key, name, owner=owner)
    now = local(to_moment(kernel.clock.ms()), name)
    return f"Kept. A time that names no zone is read in {name} here, where it is {now:%H:%M} now."
