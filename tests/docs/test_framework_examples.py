"""Examples of frameworks: each runs in a process of its own against a scripted provider on loopback."""

import asyncio
import json
import os
from contextlib import closing
from pathlib import Path

import pytest

from segue.testing import Calls, ScriptedProvider, says
from tests.cli.process import Pipes
from tests.docs.pages import ROOT
from tests.forks import start_program

MOST_LINES = 15
"""Of the program beside the user's own agent, without blank lines."""
EXAMPLES = ROOT / "examples" / "frameworks"
TOOLS = {
    "adk": ("ring", "cron"),
    "agno": ("ring", "cron"),
    "claude": ("mcp__bell__ring", "mcp__segue__cron"),
    "langgraph": ("ring", "cron"),
    "openai_agents": ("ring", "cron"),
    "openai_compatible": ("ring", "cron"),
    "pydantic_ai": ("ring", "cron"),
}
"""The names of a tool of the agent and one of Segue, as the model knows them."""
HOURLY = {"action": "add", "name": "hourly", "message": "Ring twice.", "every_seconds": 3600}


@pytest.mark.parametrize("framework", TOOLS)
async def test_an_agent_uses_its_own_tool_and_makes_a_job(framework: str, tmp_path: Path) -> None:
    ring, cron = TOOLS[framework]
    provider = ScriptedProvider()
    provider.script(
        says(Calls(ring, '{"times": 2}', "call_1")),
        says(Calls(cron, json.dumps(HOURLY), "call_2")),
        says("Every hour from now on."),
    )
    async with provider.listening():
        printed = await _output_of(EXAMPLES / f"{framework}_agent.py", provider, tmp_path)
    assert "It rang 2 times." in str(provider.asked[1].body)
    assert printed.splitlines()[-2:] == ["Every hour from now on.", "['hourly']"]


@pytest.mark.parametrize("framework", TOOLS)
def test_an_example_needs_few_lines_beside_the_agent(framework: str) -> None:
    _, _, code = (EXAMPLES / f"{framework}_agent.py").read_text("utf-8").split('"""', 2)
    imports, _, rest = code.partition("# Your own agent:")
    _, mark, program = rest.partition("# With Segue:")
    assert mark
    assert len([line for line in f"{imports}{program}".splitlines() if line.strip()]) <= MOST_LINES


@pytest.mark.parametrize("framework", TOOLS)
def test_the_guide_of_a_framework_shows_its_program(framework: str) -> None:
    guide = ROOT / "docs/guides/frameworks" / f"{framework.replace('_', '-')}.md"
    assert (EXAMPLES / f"{framework}_agent.py").read_text("utf-8") in guide.read_text("utf-8")


async def _output_of(example: Path, provider: ScriptedProvider, folder: Path) -> str:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("ANTHROPIC_", "CLAUDE"))
    }
    environment = kept | {
        "ANTHROPIC_API_KEY": "sk-test",
        "ANTHROPIC_BASE_URL": provider.url,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CONFIG_DIR": str(folder),
        "HOME": str(folder),
        "OPENAI_AGENTS_DISABLE_TRACING": "1",
        "OPENAI_API_KEY": "sk-test",
        "OPENAI_BASE_URL": provider.base_url,
    }
    with closing(Pipes()) as pipes:
        process = await start_program(
            str(example), (), folder=folder, environment=environment, streams=pipes.inner
        )
        pipes.close_inner()
        out, err = await pipes.reader(1), await pipes.reader(2)
        printed, complaint = await asyncio.gather(out.read(), err.read())
        assert await process.wait() == 0, complaint.decode()
    return printed.decode()
