"""Web Push: devices are told of news, once, and of nothing that was read, and of no other owner's."""

import asyncio
import logging
import stat
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from segue import Kernel, Owner
from segue.config import Configuration
from segue.server import create_app
from segue.server.push.pusher import MOST_ATTEMPTS, PushSettings
from segue.testing import ScriptedAgent
from tests.eventually import eventually
from tests.push_service import Device, PushService
from tests.server.conftest import ADA, BEN, KEYS, bearer, reach, working

Serve = Callable[..., AbstractAsyncContextManager[httpx2.AsyncClient]]


@pytest.fixture
def service() -> Iterator[PushService]:
    with PushService().listening() as service:
        yield service


@pytest.fixture
def serve(database_url: str, tmp_path: Path) -> Serve:
    quick = PushSettings(grace_ms=100, first_pause_seconds=0.01)

    @asynccontextmanager
    async def opened(*, data: str = "data", **settings: Any) -> AsyncIterator[httpx2.AsyncClient]:
        configuration = Configuration.load(
            env={"HOME": "/nowhere"},
            database=database_url,
            data=tmp_path / data,
            **{"fetch_private": True, **settings},
        )
        async with Kernel(database_url, agent=ScriptedAgent()) as kernel:
            app = create_app(kernel, configuration, push_settings=quick)
            async with working(kernel), app.router.lifespan_context(app), reach(app) as client:
                yield client
            assert not await kernel.audit()

    return opened


async def subscribe(client: httpx2.AsyncClient, device: Device, **options: Any) -> str:
    answer = await client.post("/push/subscriptions", json=device.subscription, **options)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


async def say(client: httpx2.AsyncClient, key: str = "web:1", text: str = "hi", **options: Any) -> None:
    answer = await client.post(f"/sessions/{key}/turns?wait=20", json={"content": text}, **options)
    assert answer.status_code == 200, answer.text


async def told(service: PushService, device: Device, count: int = 1) -> list[dict[str, Any]]:
    def look() -> list[dict[str, Any]]:
        found = service.to(device)
        return found if len(found) >= count else []

    return await eventually(look, f"{count} pushes")


async def test_a_device_is_told_of_news_without_its_text(serve: Serve, service: PushService) -> None:
    device = service.device()
    async with serve() as client:
        key = (await client.get("/push/key")).json()["key"]
        await say(client, "web:0", "before the device subscribed")
        await subscribe(client, device, headers={"Origin": "http://localhost"})
        await say(client, "web:1", "a secret")
        assert await told(service, device) == [{"session": "web:1", "unread": 2}]
    (pushed,) = service.pushed
    assert pushed.headers["content-encoding"] == "aes128gcm"
    assert int(pushed.headers["ttl"]) > 0
    assert pushed.claims() | {"exp": 0} == {"aud": service.url, "exp": 0, "k": key}
    assert b"secret" not in device.decrypt(pushed.body)


async def test_a_device_on_which_the_page_is_visible_is_not_told(serve: Serve, service: PushService) -> None:
    device, phone = service.device(), service.device()
    async with serve() as client:
        desk = await subscribe(client, device)
        await subscribe(client, phone)
        kernel = client._transport.app.state.segue.kernel  # type: ignore[attr-defined]
        await kernel.push.show(desk, True)
        await say(client, "web:2")
        assert await told(service, phone) == [{"session": "web:2", "unread": 1}]
        await kernel.push.show(desk, False)
        await say(client, "web:2")
        assert await told(service, device) == [{"session": "web:2", "unread": 2}]


async def test_two_servers_push_once(serve: Serve, service: PushService) -> None:
    device = service.device()
    async with serve() as one, serve() as other:
        await subscribe(one, device)
        for number in range(4):
            await say(one if number % 2 else other, f"web:{number}")
            await told(service, device, number + 1)
        await say(one, "web:last")
        found = await told(service, device, 5)
    assert [each["session"] for each in found] == ["web:0", "web:1", "web:2", "web:3", "web:last"]


@pytest.mark.parametrize("status", [404, 410])
async def test_a_subscription_that_has_ended_is_dropped(
    serve: Serve, service: PushService, status: int
) -> None:
    device, other = service.device(), service.device()
    async with serve() as client:
        ended = await subscribe(client, device)
        service.statuses.append(status)
        await say(client)
        await told(service, device)
        await subscribe(client, other)
        await say(client)
        await told(service, other)
        gone = await client.delete("/push/subscriptions", params={"id": ended})
        assert (gone.status_code, gone.json()["code"]) == (404, "not_found")
    assert len(service.to(device)) == 1


async def test_a_push_is_repeated_a_bounded_number_of_times(serve: Serve, service: PushService) -> None:
    device = service.device()
    service.statuses.extend([500, 503, 201])
    async with serve() as client:
        await subscribe(client, device)
        await say(client, "web:1")
        assert len(await told(service, device, 3)) == 3
        service.statuses.extend([500] * MOST_ATTEMPTS)
        await say(client, "web:2")
        await told(service, device, 3 + MOST_ATTEMPTS)
        await say(client, "web:3")
        found = await told(service, device, 4 + MOST_ATTEMPTS)
    assert [each["session"] for each in found[3:]] == ["web:2"] * MOST_ATTEMPTS + ["web:3"]


async def test_a_push_service_that_is_gone_or_slow_holds_nothing_up(
    serve: Serve, service: PushService, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "segue.server.push")
    slow, device = service.device(), service.device()
    with PushService().listening() as gone:
        refusing = gone.device()
    service.hold.clear()
    async with serve() as client:
        await subscribe(client, refusing)
        await subscribe(client, slow)
        await say(client, "web:1")
        await say(client, "web:2")
        await eventually(lambda: "push abandoned" in caplog.text, "the service that is gone")
        service.hold.set()
        await subscribe(client, device)
        await say(client, "web:3")
        assert (await told(service, device))[0]["session"] == "web:3"
    assert "/send/" not in caplog.text, "an endpoint is a secret"


async def test_users_have_their_own_devices_and_counts(serve: Serve, service: PushService) -> None:
    device, other = service.device(), service.device()
    async with serve(api_keys=KEYS) as client:
        mine = await subscribe(client, device, headers=bearer(ADA))
        await subscribe(client, other, headers=bearer(BEN))
        await say(client, "web:1", headers=bearer(ADA))
        assert await told(service, device) == [{"session": "web:1", "unread": 1}]
        stolen = await client.delete("/push/subscriptions", params={"id": mine}, headers=bearer(BEN))
        assert stolen.status_code == 404
        read = await client.post("/sessions/web:1/read", json={"seq": 9}, headers=bearer(BEN))
        assert read.status_code == 404
        await say(client, "web:1", headers=bearer(BEN))
        assert await told(service, other) == [{"session": "web:1", "unread": 1}]
        assert (await client.delete("/push/subscriptions", params={"id": mine})).status_code == 401
        # The next user of the same device takes it over.
        assert await subscribe(client, device, headers=bearer(BEN)) == mine
        await say(client, "web:2", headers=bearer(ADA))
        await say(client, "web:3", headers=bearer(BEN))
        assert [each["session"] for each in await told(service, device, 2)] == ["web:1", "web:3"]


async def test_a_user_whose_key_was_removed_is_told_nothing(
    serve: Serve, service: PushService, database_url: str
) -> None:
    device, other = service.device(), service.device()
    async with serve(api_keys=KEYS) as client:
        await subscribe(client, device, headers=bearer(ADA))
        await subscribe(client, other, headers=bearer(BEN))
    async with serve(api_keys=KEYS[1:]) as client:
        kernel = client._transport.app.state.segue.kernel  # type: ignore[attr-defined]
        await kernel.wait(await kernel.receive("web:1", "hi", owner=Owner("one", "ada")))
        await say(client, "web:2", headers=bearer(BEN))
        await told(service, other)
    assert service.to(device) == []


async def test_the_key_is_in_a_private_file_and_deleting_it_makes_a_new_one(
    serve: Serve, service: PushService, tmp_path: Path
) -> None:
    device, again = service.device(), service.device()
    file = tmp_path / "data" / "push_key.pem"
    async with serve() as client:
        keys = await asyncio.gather(*(client.get("/push/key") for _ in range(8)))
        assert len({each.json()["key"] for each in keys}) == 1
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        await subscribe(client, device)
        file.unlink()
        assert (await client.get("/push/key")).json() != keys[0].json()
        await subscribe(client, again)
        await say(client)
        await told(service, again)
        file.write_text("nonsense")
        broken = await client.get("/push/key")
        assert (broken.status_code, broken.json()["code"]) == (500, "push_key_unreadable")
        assert broken.json()["detail"].endswith("delete it to make a new one")
    assert service.to(device) == [], "it subscribed with the old key"


BAD_SUBSCRIPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"endpoint": "http://127.0.0.1:9/send"}, "push_endpoint_refused"),
    ({"endpoint": "https://127.0.0.1:9/send"}, "push_endpoint_refused"),
    ({"endpoint": "https://localhost/send"}, "push_endpoint_refused"),
    ({"endpoint": "https://[::1]/send"}, "push_endpoint_refused"),
    ({"endpoint": "http://192.0.2.1/send"}, "push_endpoint_refused"),
    ({"endpoint": "ftp://example.org/send"}, "push_endpoint_refused"),
    ({"endpoint": "https://user:word@example.org/send"}, "push_endpoint_refused"),
    ({"endpoint": "no address"}, "push_endpoint_refused"),
    ({"endpoint": ""}, "invalid"),
    ({"keys": {"p256dh": "AAAA", "auth": "A" * 22}}, "push_keys_refused"),
    ({"keys": {"p256dh": "!", "auth": "A" * 22}}, "invalid"),
    ({"keys": {"p256dh": "A" * 87}}, "invalid"),
    ({"keys": {}}, "invalid"),
    ({"more": 1}, "invalid"),
]


async def test_a_bad_subscription_is_refused_with_a_sentence(
    serve: Serve, service: PushService, subtests: pytest.Subtests
) -> None:
    async with serve(fetch_private=False) as client:
        for change, code in BAD_SUBSCRIPTIONS:
            with subtests.test(change=change):
                body = {**service.device().subscription, **change}
                answer = await client.post("/push/subscriptions", json=body)
                assert (answer.status_code, answer.json()["code"]) == (422, code), answer.text
                assert len(answer.json()["detail"]) > 20
        assert (await client.delete("/push/subscriptions", params={"id": "x"})).status_code == 422


async def test_an_owner_has_twenty_devices_at_most(serve: Serve, service: PushService) -> None:
    devices = [service.device() for _ in range(21)]
    async with serve() as client:
        for device in devices:
            await subscribe(client, device)
        await say(client)
        await eventually(lambda: len(service.pushed) >= 20, "twenty pushes")
    assert service.to(devices[0]) == []
