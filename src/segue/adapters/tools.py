"""Tools of an adapter: Segue's own, offered as a framework's, and the reports of the framework's own.

Invariants
  - each call is reported once: Segue's tools report themselves (`Toolbox.call`), the others by `ToolReports`
  - a report is stored before `started` returns, so a hook that awaits it holds the tool back until then
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from segue.agents.tools.registry import Toolbox, ToolContext
from segue.agents.tools.scheduling import scheduling_tools
from segue.errors import BadSetting
from segue.model.agent import OpenTurn, ToolCalled, ToolStarted

Tools: TypeAlias = Literal["all"] | Sequence[str]
"""Which of Segue's tools an adapter offers: `"all"`, some names, or `()`."""


def tool_names(tools: Tools) -> tuple[str, ...]:
    """Return the names of the chosen tools. Raises `BadSetting`."""
    if tools == "all":
        return tuple(tool.name for tool in scheduling_tools())
    if isinstance(tools, str):
        raise BadSetting(f'tools is "all", a list of names or (), got {tools!r}; write [{tools!r}]')
    return tuple(tool.name for tool in scheduling_tools(*tools)) if tools else ()


async def open_tools(turn: OpenTurn, names: Sequence[str]) -> Toolbox:
    """Return the chosen tools for a turn; none if no name is given."""
    return await turn.tools(*names) if names else Toolbox(ToolContext.of(turn))


class ToolReports:
    """Reports the calls of a framework's own tools, from its hooks. Segue's tools report themselves."""

    def __init__(self, turn: OpenTurn, box: Toolbox) -> None:
        self._turn = turn
        self._box = box
        self._clock = turn.kernel.clock
        self._started: dict[str, tuple[ToolStarted, int]] = {}

    async def started(self, call_id: str, name: str, arguments: Mapping[str, Any]) -> None:
        """Report a call before the tool runs. Returns when the report is stored."""
        if name in self._box.tools or call_id in self._started:
            return
        report = ToolStarted(call_id=call_id, name=name, arguments=arguments)
        self._started[call_id] = (report, self._clock.steady_ms())
        await self._turn.tell(report)

    async def ended(self, call_id: str, *, result: object = None, error: str | None = None) -> None:
        """Report the result of a call that was reported before."""
        if call_id not in self._started:
            return
        report, began = self._started.pop(call_id)
        await self._turn.tell(
            ToolCalled(
                call_id=call_id,
                name=report.name,
                arguments=report.arguments,
                result=None if error is not None else str(result),
                error=error,
                duration_ms=self._clock.steady_ms() - began,
            )
        )
