"""kill -9 between the send and the mark, in a process of its own, for both networks.

Where a send is idempotent (a real Synapse), the message is there once: never twice, never lost. Where it is
not (the double of the Bot API), it is there at most once, and what nobody knows ends as failed and says so.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from segue import Delivery, Kernel, Settings
from segue.testing import ScriptedAgent
from tests.channels.bot_api import TOKEN, bot_api
from tests.channels.doomed import LEASE, make
from tests.channels.synapse import Homeserver
from tests.docs.pages import ROOT

ROUNDS = 50 if os.environ.get("SEGUE_LONG") else 1
_PATIENCE = 60


async def killed(database: str, point: str, *channel: str) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.channels.doomed", database, point, *channel, cwd=ROOT
    )
    async with asyncio.timeout(_PATIENCE):
        assert await process.wait() == -9


@asynccontextmanager
async def heir(database: str, *channel: str) -> AsyncIterator[Kernel]:
    """Another process's kernel, which finds what the dead one left."""
    settings = Settings(lease_seconds=LEASE)
    async with (
        make(*channel) as made,
        Kernel(database, agent=ScriptedAgent(), channels=[made], settings=settings) as kernel,
    ):
        yield kernel
        assert not await kernel.audit()


async def one_round(database: str, point: str, key: str, text: str, *channel: str) -> Delivery:
    """Write, die, come back; what became of it."""
    async with heir(database, *channel) as kernel:
        await kernel.open(key)
        promised = await kernel.schedule_message(key, "in 1 second", text)
        await killed(database, point, *channel)
        assert (await kernel.scheduled_message(promised.message.id)).status == "pending"
        async with asyncio.timeout(_PATIENCE), asyncio.TaskGroup() as group:
            running = group.create_task(kernel.run(listen=False))
            while (await kernel.scheduled_message(promised.message.id)).status == "pending":  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            running.cancel()
        [newest, *_] = await kernel.deliveries(key)
        return newest


async def play(
    database: str, point: str, key: str, shown: Callable[[], Awaitable[list[str]]], *channel: str
) -> list[tuple[str, str | None, int]]:
    """Of each round, how it ended, why, and how often the message is there."""
    ends = []
    for number in range(ROUNDS):
        delivery = await one_round(database, point, key, f"Message {number}.", *channel)
        times = (await shown()).count(f"Message {number}.")
        ends.append((str(delivery.state), delivery.error, times))
    return ends


@pytest.mark.parametrize(("point", "times"), [("before", 0), ("after", 1)])
async def test_telegram_never_gets_it_twice_and_what_nobody_knows_is_said(
    database_url: str, point: str, times: int
) -> None:
    """B8.2: claimed before the kill, it is failed after it, and not sent again."""
    async with bot_api() as api:

        async def shown() -> list[str]:
            return api.shown("7")

        ends = await play(database_url, point, "telegram:7", shown, "telegram", api.url, TOKEN)
        assert ends == [("failed", "delivery unknown", times)] * ROUNDS
    async with heir(database_url, "telegram", api.url, TOKEN) as kernel:
        said = [message.content for message in await kernel.messages("telegram:7")]
        assert said == ["A message could not be delivered (delivery unknown)."] * ROUNDS


@pytest.mark.parametrize("point", ["before", "after"])
async def test_matrix_gets_it_once(database_url: str, home: Homeserver, point: str) -> None:
    """B8.2: where a repeat cannot double, it is neither lost nor there twice."""
    bot, ada = await home.pair()
    room = await ada.open_room(bot.user)
    await bot.join(room)

    async def shown() -> list[str]:
        return await ada.read(room)

    channel = ("matrix", home.url, bot.user, bot.token)
    ends = await play(database_url, point, f"matrix:{room}", shown, *channel)
    assert ends == [("sent", None, 1)] * ROUNDS
