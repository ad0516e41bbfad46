"""Fast OpenAI requests: what is sent equals what the SDK's own transformation would send."""

from typing import Any

from openai._utils import async_maybe_transform as sdk_transform
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
from segue.testing.scripted_provider import says
from segue.testing.wire_formats import Calls
from tests.agents.house import OpenHarness


async def test_the_sdk_transformation_changes_nothing(open_harness: OpenHarness) -> None:
    """With Segue's tools, a history, a tool call and its result."""
    tools = [cron_tool(), *recall_tools(), *message_tools(), memory_tool(), fetch_tool(private=False)]
    harness = await open_harness(tools=tools)
    harness.provider.script(says("Fine."), says(Calls("cron", '{"action": "list"}')), says("Nothing is."))
    await harness.ask("How are you?")
    await harness.ask("What is scheduled?")
    assert len(harness.provider.asked) == 3
    for asked in harness.provider.asked:
        assert len(asked.body["tools"]) == len(tools)
        assert await sdk_transform(asked.body, CompletionCreateParamsStreaming) == asked.body


async def test_it_is_installed_once_and_for_chats_only(open_harness: OpenHarness) -> None:
    await open_harness()
    chat: Any = completions
    installed = chat.async_maybe_transform
    assert installed.__module__ == fast_openai.__name__
    load_model("openai-chat:gpt-4o")
    assert chat.async_maybe_transform is installed
    other = {"metadata": {"a": "b"}, "unknown": [1]}
    assert await installed(other, CompletionUpdateParams) == await sdk_transform(
        other, CompletionUpdateParams
    )
