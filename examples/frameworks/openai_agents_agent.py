"""An agent of the OpenAI Agents SDK whose turns also happen later. It needs OPENAI_API_KEY."""

import asyncio

from agents import Agent, function_tool, set_default_openai_api

from segue import Kernel
from segue.adapters.openai_agents import adapt

# Your own agent:
set_default_openai_api("chat_completions")


@function_tool
async def ring(times: int) -> str:
    """Ring the bell."""
    return f"It rang {times} times."


clerk = Agent(name="clerk", model="gpt-4o", tools=[ring])


# With Segue:
async def main() -> None:
    async with (
        Kernel("sqlite:///openai_agents.db", agent=adapt(clerk)) as kernel,
        asyncio.TaskGroup() as group,
    ):
        running = group.create_task(kernel.run())
        asked = await kernel.receive("chat:anna", "Ring twice, and again every hour.")
        print((await kernel.wait(asked.turn_id)).reply)
        print([job.name for job in await kernel.jobs.list("chat:anna")])
        running.cancel()


asyncio.run(main())
