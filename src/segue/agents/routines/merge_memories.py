"""Memory merging (the job `dream`): every two hours, merges duplicate memories into the newest of them.

It is a protected job with a fixed id. Each owner's memories are merged in a transaction of their own;
after a failed run the next one starts over.
"""

from collections.abc import Sequence

from segue.kernel.kernel import Kernel
from segue.memory.search import terms_of
from segue.model.action import Call
from segue.model.agent import OpenTurn
from segue.model.memory import Memory
from segue.model.records import Job
from segue.times.trigger import Every

FUNCTION = "dream"
JOB_ID = "dream"
SESSION = "system:dream"
INTERVAL_SECONDS = 7200

_ALIKE = 0.8
"""Two memories are duplicates if they share at least this part of their terms."""
_MOST_MEMORIES = 1_000
"""The newest memories of one owner that are compared."""


async def merge_memories(turn: OpenTurn) -> str | None:
    """The function that the job calls. Returns how many were merged, for the run record."""
    memory = turn.kernel.memory
    merged = 0
    async for owner in memory.owners():
        known = await memory.list(owner=owner, limit=_MOST_MEMORIES)
        merged += await memory.delete_all(duplicates(known))
    return f"{merged} memories were folded into others" if merged else None


async def install(kernel: Kernel) -> Job:
    """Return the job; create it if it is missing."""
    return await kernel.jobs.add(
        SESSION, Every(INTERVAL_SECONDS), Call(FUNCTION), job_id=JOB_ID, name="dream", protected=True
    )


def duplicates(newest_first: Sequence[Memory]) -> list[Memory]:
    """Return the memories that a newer one of the same kind repeats."""
    kept: list[tuple[Memory, frozenset[str]]] = []
    repeated: list[Memory] = []
    for memory in newest_first:
        terms = frozenset(terms_of(memory.content))
        if any(memory.kind is other.kind and _alike(terms, theirs) for other, theirs in kept):
            repeated.append(memory)
        else:
            kept.append((memory, terms))
    return repeated


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    union = one | other
    return bool(union) and len(one & other) / len(union) >= _ALIKE
