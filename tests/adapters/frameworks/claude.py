"""The agent of the tests, made with the Claude Agent SDK, which starts its own command line."""

from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, create_sdk_mcp_server, tool

from segue import Agent
from segue.adapters.claude import adapt
from segue.testing import AgentParts


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
