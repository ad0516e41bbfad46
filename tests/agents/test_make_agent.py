"""Making an agent from the settings."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from segue import Kernel
from segue.agents import make_agent, registry_of
from segue.agents.current_agent import CurrentAgent
from segue.agents.llm import ModelAgent, load_model
from segue.agents.offline import OfflineAgent
from segue.config import Configuration
from segue.errors import BadSetting, ModelKeyMissing
from segue.testing import quiet
from segue.testing.scripted_provider import ScriptedProvider, says
from segue.testing.wire_formats import Calls

HEAVY = ("anthropic", "anyio", "httpx2", "mcp", "openai", "pydantic", "pydantic_ai")


def configured(**flags: Any) -> Configuration:
    return Configuration.load(env={"HOME": "/nowhere", "TZ": "UTC"}, **flags)


def test_without_a_model_the_rules_answer() -> None:
    assert isinstance(make_agent(configured(model="offline")), OfflineAgent)


def test_without_a_setting_the_agent_follows_the_page() -> None:
    assert isinstance(make_agent(configured()), CurrentAgent)


def test_a_model_is_made_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    agent = make_agent(configured(model="openai-chat:gpt-4o"))
    assert isinstance(agent, ModelAgent)
    assert agent.reports_tools


@pytest.mark.parametrize("name", ["unknown:model", "openai-chat:gpt-4o"])
def test_a_model_that_cannot_be_made_is_a_wrong_setting(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(BadSetting, match=f"the model '{name}' cannot be used"):
        load_model(name)


@pytest.mark.parametrize(
    ("name", "variable"),
    [("openai-chat:gpt-4o", "OPENAI_API_KEY"), ("anthropic:claude", "ANTHROPIC_API_KEY")],
)
def test_a_missing_key_is_our_sentence_with_the_step_to_take(
    name: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for unset in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(unset, raising=False)
    with pytest.raises(ModelKeyMissing, match=f"needs a key, and {variable} is not set; set it, or") as error:
        load_model(name)
    assert error.value.code == "model_key_missing"


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/v1", None])
def test_a_local_server_needs_no_key(address: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OLLAMA_BASE_URL", raising=False)
    if address:
        monkeypatch.setenv("OLLAMA_BASE_URL", address)
    model = load_model("ollama:llama3.2")
    assert model.model_name == "llama3.2"
    assert (model.base_url or "").startswith(address or "http://127.0.0.1:11434/v1")


async def test_files_come_with_a_workspace(tmp_path: Path) -> None:
    with_files, without = names(configured(workspace=tmp_path)), names(configured())
    assert with_files - without == {"list_files", "read_file"}
    assert {"fetch_url", "memory_search"} <= without


def names(configuration: Configuration) -> set[str]:
    return set(registry_of(configuration).names)


async def test_a_turn_has_as_many_model_steps_as_the_settings_say(
    provider: ScriptedProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{provider.url}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    provider.script(*[says("Let me see.", Calls("cron", '{"action": "list"}'))] * 5)
    agent = make_agent(configured(model="openai-chat:gpt-4o", model_steps=2))
    assert isinstance(agent, ModelAgent)
    async with agent, Kernel(f"sqlite:///{tmp_path}/segue.db", agent=agent) as kernel:
        admitted = await kernel.receive("web:1", "What is scheduled?")
        await quiet(kernel)
        turn = await kernel.turns.get(admitted.turn_id)
    assert len(provider.asked) == 2
    assert (turn.outcome, (turn.usage or {})["ended"]) == ("ok", "after 2 model steps")


def test_importing_the_agents_loads_no_library() -> None:
    assert imported_by("segue.agents") == set()


def test_a_connected_model_loads_the_library_of_its_provider_only() -> None:
    """Anthropic's has more modules than everything else together."""
    assert imported_by("segue.agents.connect") == set(HEAVY) - {"anthropic", "mcp"}


def imported_by(module: str) -> set[str]:
    program = f"import {module}, sys; print(*(name for name in {HEAVY} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())
