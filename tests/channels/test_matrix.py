"""Matrix channel: conversations with users, against a double of a homeserver."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from segue import Ask, At, Kernel, OpenTurn
from segue.model.channel import Door
from segue.testing import ScriptedAgent
from tests.channels.matrix_client import Homeserver, matrix_of, members, until_joined, until_shown
from tests.channels.matrix_protocol import check_protocol


async def test_the_double_is_like_a_homeserver(home: Homeserver, caplog: pytest.LogCaptureFixture) -> None:
    """A real one passes the same check in `test_synapse.py`."""
    await check_protocol(home, caplog)


async def test_a_slow_turn_is_shown_by_the_workers(home: Homeserver, tmp_path: Path) -> None:
    bot, ada = await home.pair()
    gate = asyncio.Event()

    async def slow(turn: OpenTurn) -> AsyncIterator[str]:
        yield "Once upon "
        await gate.wait()
        yield "a time."

    room = await ada.open_room(bot.user)
    await bot.join(room)
    url = f"sqlite:///{tmp_path}/segue.db"
    async with matrix_of(bot, home) as matrix, Kernel(url, agent=slow, channels=[matrix]) as kernel:
        async with asyncio.TaskGroup() as group:
            running = group.create_task(kernel.run())
            await kernel.receive(f"matrix:{room}", "Tell me a story")
            await until_shown(ada, room, "Once upon …")
            gate.set()
            assert await until_shown(ada, room, "Once upon a time.") == ["Once upon a time."]
            running.cancel()
        assert not await kernel.audit()


async def test_a_conversation_with_a_cron_job(home: Homeserver, tmp_path: Path) -> None:
    """The report arrives, a user replies, and the next run sees the reply."""
    bot, ada = await home.pair()
    agent = ScriptedAgent()
    agent.script("Build 418 is green.", "You are welcome.", "Still green, and you said thanks.")
    url = f"sqlite:///{tmp_path}/segue.db"
    async with matrix_of(bot, home) as matrix, Kernel(url, agent=agent, channels=[matrix]) as kernel:
        room = await ada.open_room(bot.user)
        key = f"matrix:{room}"
        async with asyncio.TaskGroup() as group:
            running = group.create_task(kernel.run())
            await kernel.schedule(key, At("in 1 second", tz="UTC"), Ask("How is the build?"))
            await until_shown(ada, room, "Build 418 is green.")
            await ada.write(room, "Thanks!")
            await until_shown(ada, room, "You are welcome.")
            await kernel.schedule(key, At("in 1 second", tz="UTC"), Ask("How is the build?"))
            said = await until_shown(ada, room, "Still green, and you said thanks.")
            running.cancel()
        assert said == [
            "Build 418 is green.",
            "Thanks!",
            "You are welcome.",
            "Still green, and you said thanks.",
        ]
        known = [message.content for message in agent.asked[-1].history]
        assert known[-3:] == ["Build 418 is green.", "Thanks!", "You are welcome."]
        assert not await kernel.audit()


async def test_an_unknown_sender_is_not_admitted_without_a_code(home: Homeserver, tmp_path: Path) -> None:
    bot, ada = await home.pair()
    _, eve = await home.pair()
    url = f"sqlite:///{tmp_path}/segue.db"
    door = Door(allow=frozenset({ada.user}))
    async with matrix_of(bot, home, door) as matrix:  # noqa: SIM117
        async with Kernel(url, agent=ScriptedAgent(), channels=[matrix]) as kernel:
            strange, known = await eve.open_room(bot.user), await ada.open_room(bot.user)
            async with asyncio.TaskGroup() as group:
                running = group.create_task(kernel.run())
                await until_joined(bot, ada, known)
                await ada.write(known, "Hello")
                await until_shown(ada, known, "ok")
                running.cancel()
            assert bot.user not in await members(eve, strange)
