"""Adapter for agno: the checks of every agent, and what is particular to it."""

import pytest

from segue.testing import AGENT_CHECKS, check_agent
from tests.adapters.making import Making
from tests.adapters.patience import BUSY_SECONDS


@pytest.mark.parametrize("check", AGENT_CHECKS)
async def test_it_passes_the_check(check: str) -> None:
    await check_agent(Making("agno"), checks=[check], stop_seconds=BUSY_SECONDS)
