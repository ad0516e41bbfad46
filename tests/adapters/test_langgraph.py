"""Adapter for LangGraph: the checks of every agent, with and without a checkpointer."""

import pytest

from segue.testing import AGENT_CHECKS, check_agent
from tests.adapters.making import Making
from tests.adapters.patience import BUSY_SECONDS


@pytest.mark.parametrize("check", AGENT_CHECKS)
async def test_a_graph_with_a_checkpointer_passes_the_check(check: str) -> None:
    await check_agent(Making("langgraph"), checks=[check], stop_seconds=BUSY_SECONDS)


@pytest.mark.parametrize("check", [name for name in AGENT_CHECKS if name not in ("approval", "refusal")])
async def test_a_graph_without_a_checkpointer_passes_the_check(check: str) -> None:
    making = Making("langgraph", "make_without_checkpointer")
    await check_agent(making, checks=[check], stop_seconds=BUSY_SECONDS)
