"""An agent of Claude's SDK whose turns also happen later. It needs claude-agent-sdk and ANTHROPIC_API_KEY."""

import asyncio
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, create_sdk_mcp_server, tool

from segue import Kernel
from segue.adapters.claude import adapt


# Your own agent:
@tool("ring", "Ring the bell.", {"times": int})
async def ring(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": f"It rang {arguments['times']} times."}]}


bell = create_sdk_mcp_server("bell", tools=[ring])
clerk = ClaudeAgentOptions(tools=[], mcp_servers={"bell": bell}, allowed_tools=["mcp__bell__ring"])


# With Segue:
async def main() -> None:
    async with Kernel("sqlite:///claude.db", agent=adapt(clerk)) as kernel, asyncio.TaskGroup() as group:
        running = group.create_task(kernel.run())
        asked = await kernel.receive("chat:anna", "Ring twice, and again every hour.")
        print((await kernel.wait(asked.turn_id)).reply)
        print([job.name for job in await kernel.jobs.list("chat:anna")])
        running.cancel()


asyncio.run(main())
