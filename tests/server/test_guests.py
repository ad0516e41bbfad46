"""Guests over HTTP: for admins of the account that channels belong to."""

import httpx2
import pytest

from segue import Kernel
from segue.config import ApiKey, Role, Secret
from tests.server.conftest import bearer, reach, running

KEYS = (
    ApiKey(key=Secret("the-long-key-of-ada"), user="ada"),
    ApiKey(key=Secret("the-long-key-of-one"), account="one", user="chief", role=Role.ADMIN),
    ApiKey(key=Secret("the-long-key-of-root"), user="root", role=Role.ADMIN),
)
USER, OTHER, ADMIN = (bearer(each.key.reveal()) for each in KEYS)


@pytest.mark.parametrize("refused", [USER, OTHER], ids=["a user", "an admin of another account"])
async def test_guests_are_for_admins_of_the_default_account(kernel: Kernel, refused: dict[str, str]) -> None:
    guest = await kernel.guests.bind("telegram", "4711", user="ana")
    async with running(kernel, api_keys=KEYS) as app, reach(app) as http:
        for method, path, body in [
            ("GET", "/guests", None),
            ("POST", "/guests/allow", {"code": guest.code}),
            ("PATCH", "/guests/telegram/4711", {"user": "eve"}),
            ("DELETE", "/guests/telegram/4711", None),
        ]:
            answer = await http.request(method, path, json=body, headers=refused)
            assert (answer.status_code, answer.json()["code"]) == (403, "forbidden"), path
        assert await kernel.guests.list() == [guest]
        listed = (await http.get("/guests", headers=ADMIN)).json()["guests"]
    assert [each["sender"] for each in listed] == ["4711"]


async def test_bad_input_about_guests_gets_a_sentence(http: httpx2.AsyncClient) -> None:
    for method, path, body, status in [
        ("POST", "/guests/allow", {"code": ""}, 422),
        ("POST", "/guests/allow", {"code": "NONE"}, 404),
        ("PATCH", "/guests/not a channel/1", {"user": "ana"}, 422),
        ("PATCH", "/guests/telegram/1", {"user": " "}, 422),
        ("DELETE", "/guests/telegram/none", None, 404),
    ]:
        answer = await http.request(method, path, json=body)
        assert (answer.status_code, bool(answer.json()["detail"])) == (status, True), path
