"""A pydantic-ai agent whose turns also happen later. It needs pydantic-ai and OPENAI_API_KEY."""

import asyncio

from pydantic_ai import Agent

from segue import Kernel
from segue.adapters.pydantic_ai import adapt

# Your own agent:
clerk = Agent("openai-chat:gpt-4o")


@clerk.tool_plain
async def ring(times: int) -> str:
    """Ring the bell."""
    return f"It rang {times} times."


# With Segue:
async def main() -> None:
    async with Kernel("sqlite:///pydantic_ai.db", agent=adapt(clerk)) as kernel, asyncio.TaskGroup() as group:
        running = group.create_task(kernel.run())
        asked = await kernel.receive("chat:anna", "Ring twice, and again every hour.")
        print((await kernel.wait(asked.turn_id)).reply)
        print([job.name for job in await kernel.jobs.list("chat:anna")])
        running.cancel()


asyncio.run(main())
