"""Matrix channel with a real Synapse: what depends on how a homeserver stores and repeats events."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from segue import Delivery, Kernel, Settings
from segue.channels.matrix import Matrix
from segue.testing import ManualClock, ScriptedAgent
from segue.testing.conformance import delivery
from tests.channels.drawing import PNG, TABLE, drawing
from tests.channels.matrix_client import Homeserver, matrix_of, until_joined, until_shown
from tests.channels.matrix_protocol import check_protocol


def answering(matrix: Matrix, room: str, text: str) -> Delivery:
    return replace(delivery(matrix, room, "answer", text), turn_id="turn-1")


async def test_it_conforms_to_the_channel_protocol(
    synapse: Homeserver, caplog: pytest.LogCaptureFixture
) -> None:
    await check_protocol(synapse, caplog)


async def test_a_growing_answer_is_shown_and_then_replaced_by_the_complete_one(
    synapse: Homeserver,
) -> None:
    """A repeated send, with the draft or without, shows the answer once."""
    bot, ada = await synapse.pair()
    room = await ada.open_room(bot.user)
    await bot.join(room)
    clock = ManualClock()
    async with Matrix(synapse.url, bot.user, bot.token, clock=clock) as matrix:
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
    async with matrix_of(bot, synapse) as successor:
        await successor.send(answer)
    assert await ada.read(room) == [answer.content]


async def test_an_answer_whose_draft_is_unknown_is_a_new_message(synapse: Homeserver) -> None:
    bot, ada = await synapse.pair()
    room = await ada.open_room(bot.user)
    await bot.join(room)
    async with matrix_of(bot, synapse) as killed:
        answer = answering(killed, room, "Once upon a time.")
        await killed.show(room, "turn-1", "Once upon")
    async with matrix_of(bot, synapse) as successor:
        await successor.send(answer)
        await successor.send(answer)
    assert await ada.read(room) == ["Once upon …", "Once upon a time."]


async def test_a_second_attempt_goes_on_with_the_draft_of_the_first(synapse: Homeserver) -> None:
    """The homeserver recognises the transaction id, and returns the same event id."""
    bot, ada = await synapse.pair()
    room = await ada.open_room(bot.user)
    await bot.join(room)
    async with matrix_of(bot, synapse) as killed:
        await killed.show(room, "turn-1", "Once upon")
    async with matrix_of(bot, synapse) as successor:
        await successor.show(room, "turn-1", "Once")
        await successor.send(answering(successor, room, "Once more."))
    assert await ada.read(room) == ["Once more."]


async def test_a_long_answer_fits_in_place_of_its_draft(synapse: Homeserver) -> None:
    bot, ada = await synapse.pair()
    room = await ada.open_room(bot.user)
    await bot.join(room)
    async with matrix_of(bot, synapse) as matrix:
        answer = answering(matrix, room, "从前有座山。" * 1500)
        await matrix.show(room, "turn-1", answer.content[:600])
        await matrix.send(answer)
    assert await ada.read(room) == [answer.content]


async def test_messages_written_while_the_bot_was_down_are_received_later_once(
    synapse: Homeserver, tmp_path: Path
) -> None:
    bot, ada = await synapse.pair()
    url = f"sqlite:///{tmp_path}/segue.db"
    room = await ada.open_room(bot.user)
    agent = ScriptedAgent()
    for text in ("One", "Two"):
        async with matrix_of(bot, synapse) as matrix, Kernel(url, agent=agent, channels=[matrix]) as kernel:
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


async def test_images_and_files_go_both_ways(synapse: Homeserver, tmp_path: Path) -> None:
    bot, ada = await synapse.pair()
    room = await ada.open_room(bot.user)
    settings = Settings(file_megabytes=0.001)
    async with (
        matrix_of(bot, synapse) as matrix,
        Kernel(
            f"sqlite:///{tmp_path}/segue.db", agent=drawing, channels=[matrix], settings=settings
        ) as kernel,
        asyncio.TaskGroup() as group,
    ):
        running = group.create_task(kernel.run())
        await until_joined(bot, ada, room)
        await ada.write_file(room, "photo.png", PNG, caption="What is this?")
        await until_shown(ada, room, "What is this?: image/png")
        await ada.write_file(room, "notes.txt", b"Milk")
        await until_shown(ada, room, "[notes.txt]: text/plain")
        await ada.write_file(room, "large.txt", b"x" * 5_000)
        await until_shown(
            ada,
            room,
            "I could not take large.txt: it has 5,000 bytes, and may have 1,049; send a smaller one.",
        )
        await ada.write(room, "draw")
        await until_shown(ada, room, "table.csv")
        files = await ada.files(room)
        assert files[3:] == [("m.image", "chart.png", PNG), ("m.file", "table.csv", TABLE)]
        running.cancel()
