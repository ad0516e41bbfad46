"""A client's `follow` across lost connections and restarts: every event and every character once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest

from segue import Kernel, errors
from segue.client import AsyncClient
from segue.kernel.live.hub import LiveText
from segue.model.records import Event
from segue.testing import ScriptedAgent
from tests.client.conftest import serving
from tests.eventually import eventually
from tests.server.process import served
from tests.server.script import pieces_of

KEY = "websocket:home"


class Followed:
    """What a follower has got."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.texts: dict[tuple[str, int], str] = {}
        self._changed = asyncio.Event()

    async def follow(self, client: AsyncClient, **given: Any) -> None:
        async with aclosing(client.follow(KEY, **given)) as following:
            async for item in following:
                if isinstance(item, LiveText):
                    attempt = (item.turn_id, item.attempt)
                    text = self.texts.get(attempt, "")
                    assert len(text) == item.offset, "a character is missing or came twice"
                    self.texts[attempt] = text + item.text
                else:
                    self.events.append(item)
                self._changed.set()

    async def until(self, condition: Any) -> None:
        async with asyncio.timeout(60):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    def count(self, kind: str) -> int:
        return sum(event.type == kind for event in self.events)

    def assert_complete(self) -> None:
        numbers = [event.seq for event in self.events]
        assert numbers == list(range(1, len(numbers) + 1))


@asynccontextmanager
async def following(client: AsyncClient, **given: Any) -> AsyncIterator[Followed]:
    followed = Followed()
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(followed.follow(client, **given))
        yield followed
        task.cancel()


async def test_a_follower_misses_nothing_when_the_server_is_killed_and_started_again(
    database_url: str,
) -> None:
    with served(database_url) as first:
        async with AsyncClient(first.http) as client:
            await client.wait(await client.receive(KEY, "3 0"))
            async with following(client) as followed:
                long = await client.receive(KEY, "400 10")
                await followed.until(lambda: len(followed.texts) == 2 or followed.count("stream_start") == 2)
                await followed.until(lambda: (long.turn_id, 1) in followed.texts)
                first.process.kill()
                first.process.join(20)
                with served(database_url, "--port", str(first.port)):
                    again = await client.receive(KEY, "5 0")
                    turn = await client.wait(again)
                    await followed.until(
                        lambda: any(
                            event.type == "session_sync" and event.turn_id == again.turn_id
                            for event in followed.events
                        )
                    )
                    assert turn.reply == followed.texts[again.turn_id, 1] == "".join(pieces_of("5 0", 5))
                    followed.assert_complete()
                    ends = [event for event in followed.events if event.type == "stream_end"]
                    assert [event.turn_id for event in ends][-2:] == [long.turn_id, again.turn_id]


class CuttingProxy:
    """Forwards connections to a server, and cuts each after some bytes of the answer."""

    def __init__(self, port: int, after: list[int]) -> None:
        self._port = port
        self._after = after
        self.cut = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        async with asyncio.TaskGroup() as tasks:
            forwarding = set()

            def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                forwarding.add(tasks.create_task(self._serve(reader, writer)))

            server = await asyncio.start_server(accept, "127.0.0.1", 0)
            async with server:
                yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            for task in forwarding:
                task.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            async with asyncio.TaskGroup() as tasks:
                up = tasks.create_task(self._up(reader, to_server))
                await self._down(from_server, writer, self._after.pop(0) if self._after else None)
                up.cancel()
        except* ConnectionError:
            pass
        finally:
            to_server.close()
            writer.close()

    async def _up(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)

    async def _down(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, most: int | None
    ) -> None:
        sent = 0
        while data := await reader.read(512):
            if most is not None and sent + len(data) > most:
                writer.write(data[: most - sent])
                self.cut += 1
                return
            sent += len(data)
            writer.write(data)


async def test_a_follower_gets_each_character_once_though_its_connections_are_cut(
    kernel: Kernel, agent: ScriptedAgent
) -> None:
    words = [f"word {number} \u2028 and so on; " for number in range(200)]
    agent.script(words)
    async with serving(kernel) as address, AsyncClient(address) as direct:
        await direct.sessions.open(KEY)
        proxy = CuttingProxy(int(address.rpartition(":")[2]), [2500, 3500, 4100, 5300, 9700, 20011])
        async with (
            proxy.running() as cutting,
            AsyncClient(cutting) as client,
            following(client) as followed,
        ):
            turn = await direct.wait(await direct.receive(KEY, "Write much."))
            await followed.until(lambda: followed.count("session_sync"))
            assert followed.texts == {(turn.id, 1): "".join(words)}
            followed.assert_complete()
            assert proxy.cut == 6


async def test_a_follower_without_a_number_begins_now_and_misses_nothing_after_it(
    kernel: Kernel, agent: ScriptedAgent
) -> None:
    async with serving(kernel) as address, AsyncClient(address) as direct:
        await direct.wait(await direct.receive(KEY, "one"))
        newest = (await direct.sessions.get(KEY)).last_seq
        # Cut within the first events, also if the connection that read the session is used again.
        proxy = CuttingProxy(int(address.rpartition(":")[2]), [2600, 1100])
        async with (
            proxy.running() as cutting,
            AsyncClient(cutting) as client,
            following(client, after=None) as followed,
        ):

            async def a_turn_is_followed() -> bool:
                """Each turn before the follower is connected is before its beginning."""
                await direct.wait(await direct.receive(KEY, "two"))
                return bool(followed.count("session_sync"))

            await eventually(a_turn_is_followed, "a turn is followed")
            numbers = [event.seq for event in followed.events]
            assert numbers[0] > newest
            assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


async def test_a_follower_of_a_deleted_session_is_told(kernel: Kernel) -> None:
    async with serving(kernel) as address, AsyncClient(address) as client:
        await client.wait(await client.receive(KEY, "one"))

        async def follow_and_delete() -> None:
            async for item in client.follow(KEY):
                if item.type == "session_sync":
                    await client.sessions.delete(KEY)

        with pytest.raises(errors.NotFound):
            await follow_and_delete()
