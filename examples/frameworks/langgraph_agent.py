"""A LangGraph agent whose turns also happen later. It needs langchain-openai and OPENAI_API_KEY."""

import asyncio

from langchain.agents import create_agent
from langchain_core.tools import BaseTool

from segue import Kernel
from segue.adapters.langgraph import Graph, adapt


# Your own agent:
def ring(times: int) -> str:
    """Ring the bell."""
    return f"It rang {times} times."


def clerk(tools: list[BaseTool]) -> Graph:
    return create_agent("openai:gpt-4o", [ring, *tools])


# With Segue:
async def main() -> None:
    async with Kernel("sqlite:///langgraph.db", agent=adapt(clerk)) as kernel, asyncio.TaskGroup() as group:
        running = group.create_task(kernel.run())
        asked = await kernel.receive("chat:anna", "Ring twice, and again every hour.")
        print((await kernel.wait(asked.turn_id)).reply)
        print([job.name for job in await kernel.jobs.list("chat:anna")])
        running.cancel()


asyncio.run(main())
