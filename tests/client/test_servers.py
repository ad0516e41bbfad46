"""A client tells a server that is not there, is not Segue's, is of another version, or refuses its key."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from segue import Kernel, __version__, errors
from segue.client import AsyncClient, Client
from segue.config import ApiKey, Role, Secret
from tests.client.conftest import serving

KEY = "websocket:home"
ADA, ROOT_KEY = "the-long-key-of-ada", "the-long-key-of-root"


@asynccontextmanager
async def answering(*answers: tuple[int, str | None, object]) -> AsyncIterator[str]:
    """A server that gives these answers in turn: a status, a version or None, and a body."""
    left = list(answers)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        status, version, body = left.pop(0) if len(left) > 1 else left[0]
        content = json.dumps(body).encode()
        head = f"HTTP/1.1 {status} x\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n"
        if version is not None:
            head += f"X-Segue-Version: {version}\r\n"
        writer.write(f"{head}Connection: close\r\n\r\n".encode() + content)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest.mark.parametrize("version", ["0.0.9", "0.2.0", "1.0.0"])
async def test_an_older_or_newer_server_is_named_with_what_to_install(version: str) -> None:
    async with answering((200, version, {})) as address, AsyncClient(address) as client:
        with pytest.raises(errors.WrongServer, match=f"runs Segue {version}.*segue\\[client\\]==") as wrong:
            await client.sessions.get(KEY)
    assert wrong.value.code == "wrong_server"
    assert __version__ in str(wrong.value)


async def test_a_server_of_another_kind_is_told() -> None:
    async with answering((200, None, {})) as address, AsyncClient(address) as client:
        with pytest.raises(errors.WrongServer, match="did not answer as a Segue server"):
            await client.sessions.get(KEY)


async def test_an_answer_of_another_shape_is_told() -> None:
    async with answering((200, __version__, {"key": KEY})) as address, AsyncClient(address) as client:
        with pytest.raises(errors.WrongServer, match="does not have the shape"):
            await client.sessions.get(KEY)


async def test_a_server_behind_a_proxy_that_restarts_is_asked_again(kernel: Kernel) -> None:
    health = {"status": "ok", "reason": None, "scheduler": {"alive": True, "lag_ms": 0}}
    down: tuple[int, str | None, object] = (502, None, {})
    up = (200, __version__, health)
    async with answering(down, down, up) as address, AsyncClient(address) as client:
        assert (await client.health.check()).status == "ok"


async def test_a_server_that_does_not_run_is_unreachable() -> None:
    async with answering((200, None, {})) as address:
        pass
    async with AsyncClient(address) as client:
        with pytest.raises(errors.ServerUnreachable, match="did not answer"):
            await client.sessions.get(KEY)


async def test_a_message_whose_answer_was_lost_is_stored_once(kernel: Kernel) -> None:
    """The proxy cuts the first connection after the request, before its answer."""
    from tests.client.test_following import CuttingProxy

    async with serving(kernel) as server:
        proxy = CuttingProxy(int(server.rpartition(":")[2]), [0, 0])
        async with proxy.running() as address, AsyncClient(address) as client:
            await client.wait(await client.receive(KEY, "Only once."))
            said = [each.content for each in await client.messages(KEY) if each.role == "user"]
    assert (said, proxy.cut) == (["Only once."], 2)


async def test_keys_decide_whose_sessions_are_seen(kernel: Kernel) -> None:
    keys = (
        ApiKey(key=Secret(ADA), account="one", user="ada"),
        ApiKey(key=Secret(ROOT_KEY), account="one", user="root", role=Role.ADMIN),
    )
    async with serving(kernel, api_keys=keys) as address:
        async with AsyncClient(address, key=ADA) as ada:
            await ada.sessions.open(KEY)
        async with AsyncClient(address, key="another-long-key") as stranger:
            with pytest.raises(errors.NotAllowed) as refused:
                await stranger.sessions.get(KEY)
        assert refused.value.code == "unauthorized"
        async with AsyncClient(address, key=ROOT_KEY, user="ada") as root:
            assert (await root.sessions.get(KEY)).owner.user == "ada"
        async with AsyncClient(address, key=ROOT_KEY, user="ben") as root:
            assert await root.sessions.find(KEY) is None


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://localhost", "http://key@localhost", "http://h?a=b"])
def test_an_address_that_cannot_be_used_is_refused(url: str) -> None:
    with pytest.raises(errors.BadSetting, match="url"):
        AsyncClient(url)


async def test_a_blocking_client_that_was_closed_says_so(address: str) -> None:
    def use() -> None:
        with Client(address) as client:
            assert client.health.check().status == "ok"
        client.close()
        with pytest.raises(errors.NotOpen, match="this client is not open"):
            client.health.check()

    await asyncio.to_thread(use)


async def test_many_items_are_read_page_after_page(address: str, kernel: Kernel) -> None:
    await kernel.sessions.open(KEY)
    for start in range(0, 700, 100):
        await kernel.log.write_all(KEY, [("user", str(start + number)) for number in range(100)])
    async with AsyncClient(address) as client:
        messages = await client.messages(KEY, limit=650)
    assert [each.content for each in messages] == [str(number) for number in range(650)]
