"""Helpers of the recall tests."""

from typing import Any

from segue import Kernel, Recall
from tests.flows.story import CHAT, outcomes

CHECK = "Read build.log with read_file and report errors."


async def set_one(kernel: Kernel, key: str = CHAT, **options: Any) -> Recall:
    if not await kernel.sessions.list():
        await kernel.log.write(key, "user", "Watch the build.")
    return await kernel.recalls.add(key, CHECK, **{"when": "30m", **options})


async def poll(kernel: Kernel) -> Recall:
    """Every five minutes, from the tenth on."""
    return await set_one(kernel, call_type="recurring", when="10m", interval_seconds=300)


async def status(kernel: Kernel, recall: Recall) -> str:
    return str((await kernel.store.recall(recall.id)).status)


async def ended(kernel: Kernel, recall: Recall) -> list[str | None]:
    return await outcomes(kernel, await kernel.store.job(recall.id))
