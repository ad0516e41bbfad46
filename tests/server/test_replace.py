"""Edit and retry over HTTP: shapes, codes and owners."""

import httpx2

from segue import Kernel
from segue.testing import ScriptedAgent
from tests.server.conftest import ADA, BEN, bearer

TURNS = "/sessions/web:anna/turns"


async def said(http: httpx2.AsyncClient, content: str, **more: str) -> str:
    answer = await http.post(f"{TURNS}?wait=20", json={"content": content, **more})
    assert answer.status_code == 200, answer.text
    turn_id: str = answer.json()["turn_id"]
    return turn_id


async def test_turns_and_messages_say_what_replaces_them(
    http: httpx2.AsyncClient, agent: ScriptedAgent
) -> None:
    agent.script("Hello Ann", "Hello Anna")
    first = await said(http, "I am Ann")
    second = await said(http, "I am Anna", replaces=first)
    turns = [(await http.get(f"/turns/{each}")).json() for each in (first, second)]
    assert [(turn["replaces"], turn["replaced_by"]) for turn in turns] == [(None, second), (first, None)]
    messages = (await http.get("/sessions/web:anna/messages")).json()["messages"]
    assert [(each["content"], each["replaces"], each["replaced_by"]) for each in messages] == [
        ("I am Ann", None, second),
        ("Hello Ann", None, second),
        ("I am Anna", first, None),
        ("Hello Anna", None, None),
    ]
    events = (await http.get("/sessions/web:anna/log")).json()["events"]
    starts = [event for event in events if event["type"] == "stream_start"]
    assert [start["replaces"] for start in starts] == [None, first]
    assert starts[0]["message"]["replaced_by"] == second


async def test_without_content_the_message_is_asked_again(http: httpx2.AsyncClient) -> None:
    first = await said(http, "hello")
    again = await http.post(f"{TURNS}?wait=20", json={"replaces": first})
    assert (again.status_code, again.json()["content"]) == (200, "hello")
    nothing = await http.post(TURNS, json={})
    assert (nothing.status_code, nothing.json()["code"]) == (422, "invalid")


async def test_a_turn_that_cannot_be_replaced_has_a_sentence_and_a_code(
    http: httpx2.AsyncClient, kernel: Kernel
) -> None:
    first = await said(http, "one")
    second = await said(http, "two", replaces=first)
    await kernel.memory.commit("web:anna")
    for replaces, status, code in (
        (first, 409, "turn_replaced"),
        (second, 409, "turn_archived"),
        ("nothing", 404, "not_found"),
    ):
        refused = await http.post(TURNS, json={"content": "three", "replaces": replaces})
        assert (refused.status_code, refused.json()["code"]) == (status, code)
        assert refused.json()["detail"].count(" ") > 5


async def test_another_user_cannot_replace_a_turn(guarded: httpx2.AsyncClient) -> None:
    sent = await guarded.post(f"{TURNS}?wait=20", json={"content": "one"}, headers=bearer(ADA))
    turn_id = sent.json()["turn_id"]
    for body in ({"content": "two", "replaces": turn_id}, {"replaces": turn_id}):
        refused = await guarded.post(TURNS, json=body, headers=bearer(BEN))
        assert (refused.status_code, refused.json()["code"]) == (404, "not_found")
