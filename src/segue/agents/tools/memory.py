"""`memory_search` tool: full-text search in the user's memories and archived conversations."""

from segue.agents.tools.arguments import flat
from segue.agents.tools.registry import Tool, ToolContext
from segue.model.memory import FoundMemory, MemoryKind
from segue.times.clock import to_moment

_MOST = 20
_DESCRIPTION = (
    "Look up what is known of the user (facts, preferences, decisions, open threads) and what was said in "
    "conversations that have been put away. Use it before you say that you do not know something that the "
    "user may have told you. Search with a few words that the answer would hold."
)


def memory_tool() -> Tool:
    return Tool(
        name="memory_search",
        description=_DESCRIPTION,
        parameters=flat(
            {
                "query": {"type": "string", "description": "a few words"},
                "limit": {
                    "type": "integer",
                    "description": f"how many at most, from 1 to {_MOST}; 5 if unset",
                },
            },
            required=("query",),
        ),
        run=_search,
    )


async def _search(context: ToolContext, query: str, limit: int = 5) -> str:
    results = await context.kernel.memory.search(query, owner=context.owner, limit=max(1, min(_MOST, limit)))
    if not results:
        return "Nothing is known about that."
    return "\n".join(_line(each) for each in results)


def _line(result: FoundMemory) -> str:
    memory = result.memory
    day = f"{to_moment(memory.updated_at):%d %b %Y}"
    if memory.kind is MemoryKind.PASSAGE:
        return f"- said on {day}:\n  " + memory.content.replace("\n", "\n  ")
    return f"- {memory.kind}, {day}, {memory.confidence} % sure: {memory.content}"
