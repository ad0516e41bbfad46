"""Adapter for the Claude Agent SDK: the checks of every agent, with the SDK's own command line."""

import os
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions, create_sdk_mcp_server, tool

from segue import Agent, Outcome
from segue.adapters.claude import adapt
from segue.testing import AGENT_CHECKS, AgentParts, check_agent
from segue.testing.agent_parts import trial
from segue.testing.scripted_provider import Fails


def options_at(url: str, home: Path, **more: Any) -> ClaudeAgentOptions:
    """Claude Code without tools and settings of its own, that talks to nothing but the provider."""
    return ClaudeAgentOptions(
        tools=[],
        model="claude-haiku-5-5",
        system_prompt="Be brief.",
        setting_sources=[],
        strict_mcp_config=True,
        cwd=home,
        env={
            "ANTHROPIC_API_KEY": "sk-test",
            "ANTHROPIC_BASE_URL": url,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CONFIG_DIR": str(home),
            "DISABLE_AUTOUPDATER": "1",
            "HOME": str(home),
        },
        **more,
    )


def make(parts: AgentParts) -> Agent:
    @tool("note", "Write a note.", {"text": str})
    async def note(arguments: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": await parts.note(arguments["text"])}]}

    @tool("pay", "Pay an amount of money.", {"amount": int})
    async def pay(arguments: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": await parts.pay(arguments["amount"])}]}

    home = vars(parts).setdefault("home", Path(mkdtemp()))
    servers = {"shop": create_sdk_mcp_server("shop", tools=[note, pay])}
    allowed = ["mcp__shop__note"]
    options = options_at(parts.provider.url, home, mcp_servers=servers, allowed_tools=allowed)
    return adapt(options, approve=["mcp__shop__pay"])


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith(("ANTHROPIC_", "CLAUDE")):
            monkeypatch.delenv(name)


def tool_name(name: str) -> str:
    return f"mcp__{'segue' if name == 'cron' else 'shop'}__{name}"


@pytest.mark.parametrize("check", [name for name in AGENT_CHECKS if name != "failure"])
async def test_it_passes_the_check(check: str) -> None:
    await check_agent(make, checks=[check], tool_name=tool_name)


async def test_a_request_that_is_refused_again_and_again_makes_the_turn_fail() -> None:
    """Claude Code asks a second time after a refusal, so one is not enough, as the check `failure` has it."""
    async with trial(make, tool_name) as opened:
        opened.provider.script(*[Fails(400)] * 20)
        turn = await opened.ask("Hello")
        assert turn.outcome is Outcome.ERROR
        assert "Claude Code failed" in (turn.error or "")


async def test_a_session_that_is_lost_is_made_again_from_the_history() -> None:
    async with trial(make, tool_name) as opened:
        await opened.ask("I am Anna.")
        rmtree(vars(opened.parts)["home"] / "projects")
        turn = await opened.ask("Who am I?")
        assert turn.outcome is Outcome.OK
        assert "I am Anna." in str(opened.provider.asked[-1].body)
