"""A model behind any OpenAI-compatible server, whose turns also happen later."""

import asyncio

from openai import AsyncOpenAI

from segue import Kernel, Tool
from segue.adapters.openai_compatible import adapt


# Your own agent:
async def ring(context: object, times: int) -> str:
    return f"It rang {times} times."


TIMES = {"type": "object", "properties": {"times": {"type": "integer"}}, "required": ["times"]}
bell = Tool(name="ring", description="Ring the bell.", parameters=TIMES, run=ring)
clerk = AsyncOpenAI()  # reads OPENAI_BASE_URL and OPENAI_API_KEY


# With Segue:
agent = adapt(clerk, model="llama3", own_tools=[bell])


async def main() -> None:
    async with Kernel("sqlite:///compatible.db", agent=agent) as kernel, asyncio.TaskGroup() as group:
        running = group.create_task(kernel.run())
        asked = await kernel.receive("chat:anna", "Ring twice, and again every hour.")
        print((await kernel.wait(asked.turn_id)).reply)
        print([job.name for job in await kernel.jobs.list("chat:anna")])
        running.cancel()


asyncio.run(main())
