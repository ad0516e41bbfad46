"""An agno agent whose turns also happen later. It needs agno, openai and OPENAI_API_KEY."""

import asyncio

from agno.agent import Agent
from agno.models.openai import OpenAIChat

from segue import Kernel
from segue.adapters.agno import adapt


# Your own agent:
def ring(times: int) -> str:
    """Ring the bell."""
    return f"It rang {times} times."


clerk = Agent(model=OpenAIChat("gpt-4o"), tools=[ring], telemetry=False)


# With Segue:
async def main() -> None:
    async with Kernel("sqlite:///agno.db", agent=adapt(clerk)) as kernel, asyncio.TaskGroup() as group:
        running = group.create_task(kernel.run())
        asked = await kernel.receive("chat:anna", "Ring twice, and again every hour.")
        print((await kernel.wait(asked.turn_id)).reply)
        print([job.name for job in await kernel.jobs.list("chat:anna")])
        running.cancel()


asyncio.run(main())
