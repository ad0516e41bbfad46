"""Helpers that call a tool through the registry, as an agent does."""

from collections.abc import Iterable
from typing import Any

from segue.agents.tools.registry import Registry, Tool, ToolContext
from segue.model.agent import ToolCalled


async def use(context: ToolContext, tools: Iterable[Tool], name: str, /, **arguments: Any) -> ToolCalled:
    box = await Registry(tools).open(context)
    return await box.prepare("c-1", name, arguments).run()


async def result(context: ToolContext, tools: Iterable[Tool], name: str, /, **arguments: Any) -> str:
    called = await use(context, tools, name, **arguments)
    assert called.error is None, called.error
    return called.result or ""


async def refused(context: ToolContext, tools: Iterable[Tool], name: str, /, **arguments: Any) -> str:
    called = await use(context, tools, name, **arguments)
    assert called.result is None, called.result
    return called.error or ""
