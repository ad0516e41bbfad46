"""`memory_search`, as an agent calls it."""

from segue import Owner
from segue.agents.tools.memory import memory_tool
from segue.agents.tools.registry import ToolContext
from segue.testing import quiet
from tests.tools.using import refused, result

TOOLS = [memory_tool()]


async def test_it_finds_memories_and_passages_with_their_day(context: ToolContext) -> None:
    kernel = context.kernel
    await kernel.log.write_all("web:1", [("user", "My sister is called Ana."), ("assistant", "Noted.")])
    await kernel.memory.commit("web:1")
    await quiet(kernel)
    found = await result(context, TOOLS, "memory_search", query="what is my sister called")
    assert "- fact, 16 Nov 2026, 70 % sure: My sister is called Ana." in found
    assert "- said on 16 Nov 2026:\n  user: My sister is called Ana." in found


async def test_it_says_when_nothing_is_known(context: ToolContext) -> None:
    found = await result(context, TOOLS, "memory_search", query="the weather on Mars", limit=3)
    assert found == "Nothing is known about that."


async def test_it_finds_nothing_of_other_users(context: ToolContext) -> None:
    """The owner comes from the context; no argument can name another."""
    kernel, other = context.kernel, Owner("default", "another")
    await kernel.log.write_all("web:1", [("user", "My secret is green.")], owner=other)
    await kernel.memory.commit("web:1", owner=other)
    await quiet(kernel)
    assert await result(context, TOOLS, "memory_search", query="secret") == "Nothing is known about that."
    assert "user" in await refused(context, TOOLS, "memory_search", query="secret", user="another")
