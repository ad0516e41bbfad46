"""What the Matrix channel must do with any homeserver: checked with a real one and with the double."""

import pytest

from segue.testing import check_arrival, check_channel
from tests.channels.matrix_client import Homeserver, matrix_of
from tests.eventually import eventually


async def check_protocol(home: Homeserver, caplog: pytest.LogCaptureFixture) -> None:
    """Send, repeat, and receive."""
    caplog.set_level("INFO", "segue.channels.matrix")
    bot, ada = await home.pair()
    room = await ada.open_room(bot.user)
    await bot.join(room)
    async with matrix_of(bot, home) as matrix:

        async def seen() -> list[str]:
            return await ada.read(room, of=bot.user)

        await check_channel(matrix, chat_id=room, seen=seen)
    async with matrix_of(bot, home) as matrix:

        async def write(text: str) -> None:
            # Messages from before its first sync are not answered.
            await eventually(lambda: "listening to the homeserver" in caplog.text, "it listens")
            await ada.write(room, text)

        arrival = await check_arrival(matrix, write)
    assert (arrival.chat_id, arrival.sender, arrival.chat_type) == (room, ada.user, "private")
