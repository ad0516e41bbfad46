"""A process that sends one message and kills itself with -9, right before or after the send, or between the
text and the files.

python -m tests.channels.killed_sender DATABASE before|between|after telegram URL TOKEN
python -m tests.channels.killed_sender DATABASE before|between|after matrix URL USER TOKEN
"""

import asyncio
import os
import signal
import sys
from contextlib import AsyncExitStack

from segue import Kernel, Settings
from segue.channels.matrix import Matrix
from segue.channels.telegram import Telegram
from segue.model.records import Delivery
from tests.channels.drawing import drawing

LEASE = 1.0


def make(kind: str, *arguments: str) -> Telegram | Matrix:
    if kind == "telegram":
        url, token = arguments
        return Telegram(token, url=url)
    return Matrix(*arguments)


async def main(database: str, point: str, kind: str, *arguments: str) -> None:
    channel = make(kind, *arguments)
    send = channel.send

    async def die(delivery: Delivery) -> None:
        if point == "after":
            await send(delivery)
        os.kill(os.getpid(), signal.SIGKILL)

    async def die_at_a_file(*file: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    if point != "between":
        channel.send = die  # type: ignore[method-assign,assignment]
    elif isinstance(channel, Telegram):
        channel._send_file = die_at_a_file  # type: ignore[method-assign,assignment]
    else:
        channel._media.upload = die_at_a_file  # type: ignore[method-assign,assignment]
    settings = Settings(lease_seconds=LEASE)
    async with AsyncExitStack() as opened:
        await opened.enter_async_context(channel)
        kernel = Kernel(database, agent=drawing, channels=[channel], settings=settings)
        await opened.enter_async_context(kernel)
        await kernel.run(listen=False)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
