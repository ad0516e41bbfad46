"""Adapter for OpenAI-compatible servers: the checks of every agent, and what is particular to it."""

import pytest

from segue.errors import BadSetting
from segue.testing import AGENT_CHECKS, check_agent
from tests.adapters.making import Making
from tests.adapters.patience import BUSY_SECONDS


@pytest.mark.parametrize("check", AGENT_CHECKS)
async def test_it_passes_the_check(check: str) -> None:
    await check_agent(Making("openai_compatible"), checks=[check], stop_seconds=BUSY_SECONDS)


def test_a_synchronous_client_is_refused() -> None:
    from openai import OpenAI

    from segue.adapters.openai_compatible import adapt

    with pytest.raises(BadSetting, match=r"takes an openai\.AsyncOpenAI or a base URL, got openai\.OpenAI"):
        adapt(OpenAI(api_key="sk-test"), model="llama3")  # type: ignore[arg-type]


def test_approval_of_an_unknown_tool_is_refused() -> None:
    from segue.adapters.openai_compatible import adapt

    with pytest.raises(BadSetting, match="approve names pay, and there are the tools cron"):
        adapt("http://127.0.0.1:1/v1", ["cron"], model="llama3", approve=["pay"])
