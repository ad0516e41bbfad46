"""kill -9 of a process just before or after a send, before the send is recorded, for both networks.

If sends are idempotent (Matrix), the message arrives exactly once. If not (the double of the Bot API), it
arrives at most once, and a delivery with an unknown outcome ends as failed. The homeserver is a double;
in the long form it is a real Synapse.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from segue import Delivery, Kernel, Settings
from segue.testing import ScriptedAgent
from tests.channels.bot_api import TOKEN, bot_api
from tests.channels.drawing import PNG, TABLE
from tests.channels.killed_sender import LEASE, make
from tests.channels.matrix_client import Homeserver
from tests.docs.pages import ROOT
from tests.eventually import eventually
from tests.forks import start_program

LONG = os.environ.get("SEGUE_LONG") == "1"
ROUNDS = 50 if LONG else 1
_TIMEOUT = 60


async def killed(database: str, point: str, *channel: str) -> None:
    process = await start_program(
        "tests.channels.killed_sender",
        [database, point, *channel],
        folder=ROOT,
        environment=os.environ,
        streams=(0, 1, 2),
    )
    async with asyncio.timeout(_TIMEOUT):
        assert await process.wait() == -9


@asynccontextmanager
async def successor(database: str, *channel: str) -> AsyncIterator[Kernel]:
    """The kernel of another process, which reclaims what the killed one left."""
    settings = Settings(lease_seconds=LEASE)
    async with (
        make(*channel) as made,
        Kernel(database, agent=ScriptedAgent(), channels=[made], settings=settings) as kernel,
    ):
        yield kernel
        assert not await kernel.audit()


async def one_round(database: str, point: str, key: str, text: str, *channel: str) -> Delivery:
    """Schedule a message, kill the sender, let another process finish; return the delivery."""
    async with successor(database, *channel) as kernel:
        await kernel.sessions.open(key)
        scheduled = await kernel.scheduled_messages.add(key, "in 1 second", text)
        await killed(database, point, *channel)
        assert (await kernel.scheduled_messages.get(scheduled.message.id)).status == "pending"

        async def is_over() -> bool:
            return (await kernel.scheduled_messages.get(scheduled.message.id)).status != "pending"

        async with asyncio.TaskGroup() as group:
            running = group.create_task(kernel.run(listen=False))
            await eventually(is_over, "it is sent or has failed")
            running.cancel()
        [newest, *_] = await kernel.log.deliveries(key)
        return newest


async def run_rounds(
    database: str, point: str, key: str, shown: Callable[[], Awaitable[list[str]]], *channel: str
) -> list[tuple[str, str | None, int]]:
    """Return for each round the state, the error, and how often the message arrived."""
    ends = []
    for number in range(ROUNDS):
        delivery = await one_round(database, point, key, f"Message {number}.", *channel)
        times = (await shown()).count(f"Message {number}.")
        ends.append((str(delivery.state), delivery.error, times))
    return ends


@pytest.mark.parametrize(("point", "times"), [("before", 0), ("after", 1)])
async def test_telegram_gets_it_at_most_once_and_an_unknown_outcome_fails(
    database_url: str, point: str, times: int
) -> None:
    """B8.2: a delivery claimed before the kill fails after it, and is not sent again."""
    async with bot_api() as api:

        async def shown() -> list[str]:
            return api.shown("7")

        ends = await run_rounds(database_url, point, "telegram:7", shown, "telegram", api.url, TOKEN)
        assert ends == [("failed", "delivery unknown", times)] * ROUNDS
    async with successor(database_url, "telegram", api.url, TOKEN) as kernel:
        said = [message.content for message in await kernel.messages("telegram:7")]
        assert said == ["A message could not be delivered (delivery unknown)."] * ROUNDS


@pytest.fixture
def any_home(request: pytest.FixtureRequest) -> Homeserver:
    home: Homeserver = request.getfixturevalue("synapse" if LONG else "home")
    return home


@pytest.mark.parametrize("point", ["before", "after"])
async def test_matrix_gets_it_once(database_url: str, any_home: Homeserver, point: str) -> None:
    """B8.2: with idempotent sends the message is neither lost nor doubled."""
    bot, ada = await any_home.pair()
    room = await ada.open_room(bot.user)
    await bot.join(room)

    async def shown() -> list[str]:
        return await ada.read(room)

    channel = ("matrix", any_home.url, bot.user, bot.token)
    ends = await run_rounds(database_url, point, f"matrix:{room}", shown, *channel)
    assert ends == [("sent", None, 1)] * ROUNDS


async def one_drawing(database: str, key: str, *channel: str) -> Delivery:
    """Ask for a drawing, kill the sender between its text and its files, and let another process finish."""
    async with successor(database, *channel) as kernel:
        await kernel.receive(key, "draw")
        await killed(database, "between", *channel)
        [sending] = await kernel.log.deliveries(key)
        assert sending.state == "pending"

        async def is_over() -> bool:
            return (await kernel.log.deliveries(key))[0].state != "pending"

        async with asyncio.TaskGroup() as group:
            running = group.create_task(kernel.run(listen=False))
            await eventually(is_over, "it is sent or has failed")
            running.cancel()
        return (await kernel.log.deliveries(key))[0]


async def test_telegram_gets_no_text_twice_when_the_sender_is_killed_before_the_files(
    database_url: str,
) -> None:
    async with bot_api() as api:
        delivery = await one_drawing(database_url, "telegram:7", "telegram", api.url, TOKEN)
        assert (delivery.state, delivery.error) == ("failed", "delivery unknown")
        shown = [text.removesuffix(" …") for text in api.shown("7")]
        assert (shown, api.uploads) == (["Here it is."], [])
    async with successor(database_url, "telegram", api.url, TOKEN) as kernel:
        *_, note = await kernel.messages("telegram:7")
        assert note.content == "A message could not be delivered (delivery unknown)."


async def test_matrix_gets_the_text_and_each_file_once_when_the_sender_is_killed_before_the_files(
    database_url: str, synapse: Homeserver
) -> None:
    bot, ada = await synapse.pair()
    room = await ada.open_room(bot.user)
    await bot.join(room)
    channel = ("matrix", synapse.url, bot.user, bot.token)
    delivery = await one_drawing(database_url, f"matrix:{room}", *channel)
    assert (delivery.state, delivery.error) == ("sent", None)
    assert await ada.read(room) == ["Here it is.", "chart.png", "table.csv"]
    assert await ada.files(room) == [("m.image", "chart.png", PNG), ("m.file", "table.csv", TABLE)]
