"""Matrix channel, with a real Synapse on loopback and users with their own clients."""

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
from tests.eventually import eventually


def matrix_of(bot: Person, home: Homeserver, door: Door | None = None) -> Matrix:
    return Matrix(home.url, bot.user, bot.token, door=door or Door(allow=frozenset({"*"})))


def answering(matrix: Matrix, room: str, text: str) -> Delivery:
    return replace(delivery(matrix, room, "answer", text), turn_id="turn-1")


async def until_shown(person: Person, room: str, text: str) -> list[str]:
    async def shown() -> list[str]:
        said = await person.read(room)
        return said if text in said else []

    return await eventually(shown, text, every=0.05)


async def until_joined(bot: Person, person: Person, room: str) -> None:
    async def joined() -> bool:
        return bot.user in await members(person, room)

    await eventually(joined, f"{bot.user} is in {room}", every=0.05)


async def test_it_conforms_to_the_channel_protocol(home: Homeserver) -> None:
    bot, ada = await home.pair()
    room = await ada.open_room(bot.user)
    await bot.join(room)
    async with matrix_of(bot, home) as matrix:

        async def seen() -> list[str]:
            return await ada.read(room, of=bot.user)

        await check_channel(matrix, chat_id=room, seen=seen)
    async with matrix_of(bot, home) as matrix:

        async def write(text: str) -> None:
            await asyncio.sleep(1)  # until it listens: messages from before its first sync are not answered
            await ada.write(room, text)

        arrival = await check_arrival(matrix, write)
    assert (arrival.chat_id, arrival.sender, arrival.chat_type) == (room, ada.user, "private")


async def test_a_growing_answer_is_shown_and_then_replaced_by_the_complete_one(
    home: Homeserver,
) -> None:
    """A repeated send, with the draft or without, shows the answer once."""
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
    async with matrix_of(bot, home) as successor:
        await successor.send(answer)
    assert await ada.read(room) == [answer.content]


async def test_an_answer_whose_draft_is_unknown_is_a_new_message(home: Homeserver) -> None:
    bot, ada = await home.pair()
    room = await ada.open_room(bot.user)
    await bot.join(room)
    async with matrix_of(bot, home) as killed:
        answer = answering(killed, room, "Once upon a time.")
        await killed.show(room, "turn-1", "Once upon")
    async with matrix_of(bot, home) as successor:
        await successor.send(answer)
        await successor.send(answer)
    assert await ada.read(room) == ["Once upon …", "Once upon a time."]


async def test_a_second_attempt_goes_on_with_the_draft_of_the_first(home: Homeserver) -> None:
    """The homeserver recognises the transaction id, and returns the same event id."""
    bot, ada = await home.pair()
    room = await ada.open_room(bot.user)
    await bot.join(room)
    async with matrix_of(bot, home) as killed:
        await killed.show(room, "turn-1", "Once upon")
    async with matrix_of(bot, home) as successor:
        await successor.show(room, "turn-1", "Once")
        await successor.send(answering(successor, room, "Once more."))
    assert await ada.read(room) == ["Once more."]


async def test_a_long_answer_fits_in_place_of_its_draft(home: Homeserver) -> None:
    bot, ada = await home.pair()
    room = await ada.open_room(bot.user)
    await bot.join(room)
    async with matrix_of(bot, home) as matrix:
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


async def test_messages_written_while_the_bot_was_down_are_received_later_once(
    home: Homeserver, tmp_path: Path
) -> None:
    bot, ada = await home.pair()
    url = f"sqlite:///{tmp_path}/segue.db"
    room = await ada.open_room(bot.user)
    agent = ScriptedAgent()
    for text in ("One", "Two"):
        async with matrix_of(bot, home) as matrix, Kernel(url, agent=agent, channels=[matrix]) as kernel:
            agent.script(f"About {text}.")
            async with asyncio.TaskGroup() as group:
                running = group.create_task(kernel.run())
                if text == "One":
                    await until_joined(bot, ada, room)
                    await ada.write(room, "One")
                await until_shown(ada, room, f"About {text}.")
                running.cancel()
        if text == "One":
            await ada.write(room, "Two")
    assert [asked.text for asked in agent.asked] == ["One", "Two"]


async def members(person: Person, room: str) -> list[str]:
    return list((await person.call("GET", f"/rooms/{room}/joined_members"))["joined"])


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
