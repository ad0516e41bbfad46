"""What is sent to a provider by the short cut is what the SDK's own walk would have sent."""

from typing import Any

from openai._utils import async_maybe_transform as walk
from openai.resources.chat.completions import completions
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from openai.types.chat.completion_update_params import CompletionUpdateParams

from segue.agents import fast_openai
from segue.agents.llm import load_model
from segue.agents.tools.cron import cron_tool
from segue.agents.tools.fetch import fetch_tool
from segue.agents.tools.memory import memory_tool
from segue.agents.tools.recalls import recall_tools
from segue.agents.tools.scheduled_messages import message_tools
from tests.agents.double import Calls, says
from tests.agents.house import HouseOf


async def test_the_walk_would_find_nothing_to_rename(house_of: HouseOf) -> None:
    """With our tools, a history, a call and its result."""
    tools = [cron_tool(), *recall_tools(), *message_tools(), memory_tool(), fetch_tool(private=False)]
    house = await house_of(tools=tools)
    house.provider.script(says("Fine."), says(Calls("cron", '{"action": "list"}')), says("Nothing is."))
    await house.ask("How are you?")
    await house.ask("What is scheduled?")
    assert len(house.provider.asked) == 3
    for asked in house.provider.asked:
        assert len(asked.body["tools"]) == len(tools)
        assert await walk(asked.body, CompletionCreateParamsStreaming) == asked.body


async def test_it_is_taken_once_and_by_chats_only(house_of: HouseOf) -> None:
    await house_of()
    chat: Any = completions
    taken = chat.async_maybe_transform
    assert taken.__module__ == fast_openai.__name__
    load_model("openai-chat:gpt-4o")
    assert chat.async_maybe_transform is taken
    other = {"metadata": {"a": "b"}, "unknown": [1]}
    assert await taken(other, CompletionUpdateParams) == await walk(other, CompletionUpdateParams)
