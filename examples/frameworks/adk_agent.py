"""An agent of Google's ADK whose turns also happen later. It needs google-adk, openai and OPENAI_API_KEY."""

import asyncio

from google.adk.agents import LlmAgent
from google.adk.integrations.openai import OpenAILlm

from segue import Kernel
from segue.adapters.adk import adapt


# Your own agent:
def ring(times: int) -> str:
    """Ring the bell."""
    return f"It rang {times} times."


clerk = LlmAgent(name="clerk", model=OpenAILlm(model="gpt-4o"), tools=[ring])


# With Segue:
async def main() -> None:
    async with Kernel("sqlite:///adk.db", agent=adapt(clerk)) as kernel, asyncio.TaskGroup() as group:
        running = group.create_task(kernel.run())
        asked = await kernel.receive("chat:anna", "Ring twice, and again every hour.")
        print((await kernel.wait(asked.turn_id)).reply)
        print([job.name for job in await kernel.jobs.list("chat:anna")])
        running.cancel()


asyncio.run(main())
