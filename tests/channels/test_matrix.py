"""Matrix, with a real Synapse on loopback and people who write with clients of their own."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

from segue import Ask, At, Delivery, Kernel, OpenTurn
from segue.channels.matrix import Matrix
from segue.model.channel import Door
from segue.testing import ManualClock, ScriptedAgent, check_arrival, check_channel
from segue.testing.conformance import delivery
from tests.channels.synapse import Homeserver, Person


def speaking_as(bot: Person, home: Homeserver, door: Door | None = None) -> Matrix:
    return Matrix(home.url, bot.user, bot.token, door=door or Door(allow=frozenset({"*"})))


def answering(matrix: Matrix, room: str, text: str) -> Delivery:
    return replace(delivery(matrix, room, "answer", text), turn_id="turn-1")


async def until_said(person: Person, room: str, text: str) -> list[str]:
    async with asyncio.timeout(60):
        while text not in (said := await person.read(room)):  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    return said


async def test_it_keeps_what_a_channel_promises(home: Homeserver) -> None:
    bot, ada = await home.pair()
    room = await ada.open_room(bot.user)
    await bot.join(room)
    async with speaking_as(bot, home) as matrix:

        async def seen() -> list[str]:
            return await ada.read(room, of=bot.user)

        await check_channel(matrix, chat_id=room, seen=seen)
    async with speaking_as(bot, home) as matrix:

        async def write(text: str) -> None:
            await asyncio.sleep(1)  # until it listens: what was written before it came is not for it
            await ada.write(room, text)

        arrival = await check_arrival(matrix, write)
    assert (arrival.chat_id, arrival.sender, arrival.chat_type) == (room, ada.user, "private")


async def test_an_answer_is_shown_while_it_grows_and_takes_the_place_of_what_was_shown(
    home: Homeserver,
) -> None:
    """Whoever sends it again, with the draft or without, has said it once."""
    bot, ada = await home.pair()
    room = await ada.open_room(bot.user)
    await bot.join(room)
    clock = ManualClock()
    async with Matrix(home.url, bot.user, bot.token, clock=clock) as matrix:
        answer = answering(matrix, room, "Once upon a time there was a king.")
        await matrix.show(room, "turn-1", "Once upon")
        await matrix.show(room, "turn-1", "Once upon a")
        assert await ada.read(room) == ["Once upon …"], "homeservers do not want it changed so soon"
        clock.advance(seconds=2)
        await matrix.show(room, "turn-1", "Once upon a time")
        assert await ada.read(room) == ["Once upon a time …"]
        await matrix.send(answer)
        clock.advance(minutes=1)
        await matrix.show(room, "turn-1", "Once upon")
        assert await ada.read(room) == [answer.content], "nothing is shown after the end"
        await matrix.send(answer)
    async with speaking_as(bot, home) as heir:
        await heir.send(answer)
    assert await ada.read(room) == [answer.content]


async def test_an_answer_whose_draft_nobody_knows_comes_as_a_message_of_its_own(home: Homeserver) -> None:
    bot, ada = await home.pair()
    room = await ada.open_room(bot.user)
    await bot.join(room)
    async with speaking_as(bot, home) as killed:
        answer = answering(killed, room, "Once upon a time.")
        await killed.show(room, "turn-1", "Once upon")
    async with speaking_as(bot, home) as heir:
        await heir.send(answer)
        await heir.send(answer)
    assert await ada.read(room) == ["Once upon …", "Once upon a time."]


async def test_a_second_attempt_goes_on_with_the_draft_of_the_first(home: Homeserver) -> None:
    """By its transaction id, the homeserver knows that message, and tells its name again."""
    bot, ada = await home.pair()
    room = await ada.open_room(bot.user)
    await bot.join(room)
    async with speaking_as(bot, home) as killed:
        await killed.show(room, "turn-1", "Once upon")
    async with speaking_as(bot, home) as heir:
        await heir.show(room, "turn-1", "Once")
        await heir.send(answering(heir, room, "Once more."))
    assert await ada.read(room) == ["Once more."]


async def test_a_long_answer_fits_in_place_of_its_draft(home: Homeserver) -> None:
    bot, ada = await home.pair()
    room = await ada.open_room(bot.user)
    await bot.join(room)
    async with speaking_as(bot, home) as matrix:
        answer = answering(matrix, room, "从前有座山。" * 1500)
        await matrix.show(room, "turn-1", answer.content[:600])
        await matrix.send(answer)
    assert await ada.read(room) == [answer.content]


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
    async with speaking_as(bot, home) as matrix, Kernel(url, agent=slow, channels=[matrix]) as kernel:
        async with asyncio.TaskGroup() as group:
            running = group.create_task(kernel.run())
            await kernel.receive(f"matrix:{room}", "Tell me a story")
            await until_said(ada, room, "Once upon …")
            gate.set()
            assert await until_said(ada, room, "Once upon a time.") == ["Once upon a time."]
            running.cancel()
        assert not await kernel.audit()


async def test_a_conversation_with_a_cron_job(home: Homeserver, tmp_path: Path) -> None:
    """The report comes, somebody replies in their client, and the next run knows of it."""
    bot, ada = await home.pair()
    agent = ScriptedAgent()
    agent.script("Build 418 is green.", "You are welcome.", "Still green, and you said thanks.")
    url = f"sqlite:///{tmp_path}/segue.db"
    async with speaking_as(bot, home) as matrix, Kernel(url, agent=agent, channels=[matrix]) as kernel:
        room = await ada.open_room(bot.user)
        key = f"matrix:{room}"
        async with asyncio.TaskGroup() as group:
            running = group.create_task(kernel.run())
            await kernel.schedule(key, At("in 1 second", tz="UTC"), Ask("How is the build?"))
            await until_said(ada, room, "Build 418 is green.")
            await ada.write(room, "Thanks!")
            await until_said(ada, room, "You are welcome.")
            await kernel.schedule(key, At("in 1 second", tz="UTC"), Ask("How is the build?"))
            said = await until_said(ada, room, "Still green, and you said thanks.")
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


async def test_what_was_written_while_nobody_listened_is_heard_later_and_once(
    home: Homeserver, tmp_path: Path
) -> None:
    bot, ada = await home.pair()
    url = f"sqlite:///{tmp_path}/segue.db"
    room = await ada.open_room(bot.user)
    agent = ScriptedAgent()
    for text in ("One", "Two"):
        async with speaking_as(bot, home) as matrix, Kernel(url, agent=agent, channels=[matrix]) as kernel:
            agent.script(f"About {text}.")
            async with asyncio.TaskGroup() as group:
                running = group.create_task(kernel.run())
                if text == "One":
                    async with asyncio.timeout(30):
                        while bot.user not in await _members(ada, room):  # noqa: ASYNC110
                            await asyncio.sleep(0.1)
                    await ada.write(room, "One")
                await until_said(ada, room, f"About {text}.")
                running.cancel()
        if text == "One":
            await ada.write(room, "Two")
    assert [asked.text for asked in agent.asked] == ["One", "Two"]


async def _members(person: Person, room: str) -> list[str]:
    return list((await person.call("GET", f"/rooms/{room}/joined_members"))["joined"])


async def test_a_stranger_is_not_let_in_without_a_code(home: Homeserver, tmp_path: Path) -> None:
    bot, ada = await home.pair()
    _, eve = await home.pair()
    url = f"sqlite:///{tmp_path}/segue.db"
    door = Door(allow=frozenset({ada.user}))
    async with speaking_as(bot, home, door) as matrix:  # noqa: SIM117
        async with Kernel(url, agent=ScriptedAgent(), channels=[matrix]) as kernel:
            strange, known = await eve.open_room(bot.user), await ada.open_room(bot.user)
            async with asyncio.TaskGroup() as group:
                running = group.create_task(kernel.run())
                async with asyncio.timeout(30):
                    while bot.user not in await _members(ada, known):  # noqa: ASYNC110
                        await asyncio.sleep(0.1)
                await ada.write(known, "Hello")
                await until_said(ada, known, "ok")
                running.cancel()
            assert bot.user not in await _members(eve, strange)
