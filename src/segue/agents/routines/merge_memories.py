"""The dream: every two hours, memories that say the same are folded into the newest of them.

A job of the system, made once under a fixed id. One that fails ends as failed, like any run, and the next one
begins anew: each owner's memories are folded in a transaction of their own.
"""

from collections.abc import Callable, Sequence

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
"""The share of their terms that two memories have in common when they say the same."""
_MOST_MEMORIES = 1_000
"""Of one owner, the newest."""


class MergeMemories:
    """The function that its job calls."""

    def __init__(self, kernel_of: Callable[[], Kernel]) -> None:
        self._kernel_of = kernel_of

    async def __call__(self, turn: OpenTurn) -> str | None:
        """What was folded, for the record; None when there was nothing."""
        kernel = self._kernel_of()
        folded = 0
        async for owner in kernel.shelf.owners():
            known = await kernel.memories(owner=owner, limit=_MOST_MEMORIES)
            folded += await kernel.fold(duplicates(known))
        return f"{folded} memories were folded into others" if folded else None


async def install(kernel: Kernel) -> Job:
    """Its job, made if it is missing."""
    return await kernel.keep(SESSION, Every(INTERVAL_SECONDS), Call(FUNCTION), job_id=JOB_ID, name="dream")


def duplicates(newest_first: Sequence[Memory]) -> list[Memory]:
    """Those that a newer one of the same kind says again."""
    kept: list[tuple[Memory, frozenset[str]]] = []
    again: list[Memory] = []
    for memory in newest_first:
        terms = frozenset(terms_of(memory.content))
        if any(memory.kind is other.kind and _alike(terms, theirs) for other, theirs in kept):
            again.append(memory)
        else:
            kept.append((memory, terms))
    return again


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    together = one | other
    return bool(together) and len(one & other) / len(together) >= _ALIKE
