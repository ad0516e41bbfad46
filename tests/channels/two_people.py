"""Isolation checks: one user of a bot tries to reach another user's data through every tool and route."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple
from urllib.parse import quote

import httpx2

from segue import JobKind, Kernel, Owner
from segue.agents.tools.cron import cron_tool
from segue.agents.tools.memory import memory_tool
from segue.agents.tools.recalls import recall_tools
from segue.agents.tools.registry import ToolContext
from segue.agents.tools.scheduled_messages import message_tools
from segue.config import ApiKey, Configuration, Role, Secret
from segue.server import create_app
from tests.eventually import eventually
from tests.server.conftest import bearer, reach, working
from tests.tools.using import refused, result

HERS = "Fetch https://example.org/pollen and report the count for today."
HIS = "Fetch https://example.org/scores and report the result of the match."
SECRET = "Remember that I am allergic to peanuts."

EVE, ROOT = "the-key-of-eve-1234", "the-key-of-root-1234"
KEYS = (
    ApiKey(key=Secret(EVE), account="default", user="eve"),
    ApiKey(key=Secret(ROOT), account="default", user="root", role=Role.ADMIN),
)
TOOLS = [cron_tool(), *recall_tools(), *message_tools(), memory_tool()]


class Things(NamedTuple):
    """The ids of one user's objects, which another user might guess."""

    job_id: str
    message_id: str
    memory_id: str
    task_id: str
    turn_id: str


@asynccontextmanager
async def served(kernel: Kernel) -> AsyncIterator[httpx2.AsyncClient]:
    """Run a server with its workers, which listen to the channels."""
    configuration = Configuration(database="sqlite://:memory:", api_keys=KEYS)
    app = create_app(kernel, configuration)
    async with working(kernel), app.router.lifespan_context(app), reach(app) as http:
        yield http


async def fill(kernel: Kernel, key: str) -> Things:
    """Make one object of each kind, with the user's own tools, in a chat that holds the secret."""
    mine = await context_in(kernel, key)
    await result(
        mine,
        TOOLS,
        "schedule_recall",
        call_type="once",
        when="in 3 hours",
        additional_context_message=HERS,
    )
    at = {"at": "in 3 hours"}
    await result(mine, TOOLS, "cron", action="add", message="Look after her.", **at)
    text = {"send_at": "in 2 hours", "message_text": "Take the pill."}
    await result(mine, TOOLS, "schedule_private_message", **text)
    await kernel.memory.commit(key)
    known = await eventually(lambda: kernel.memory.list(owner=Owner(user=key)), "a memory of the chat")
    [job] = await kernel.jobs.list(key, kind=JobKind.CRON)
    [message] = await kernel.scheduled_messages.list(key)
    [task] = await kernel.memory.tasks(session_key=key)
    turn_id = (await kernel.messages(key))[0].turn_id
    assert turn_id is not None
    return Things(job.id, message.id, known[0].id, task.id, turn_id)


async def context_in(kernel: Kernel, key: str) -> ToolContext:
    return ToolContext(kernel=kernel, session=await kernel.sessions.get(key), turn_id="t-1")


async def try_every_tool(kernel: Kernel, stranger: str, victim: str, things: Things) -> None:
    """The stranger's tools get the victim's ids, and reach nothing."""
    bob = await context_in(kernel, stranger)
    for action in ("list", "cancel", "skip"):
        said = await refused(bob, TOOLS, "manage_recall", action=action, session_id=victim)
        assert said == f"there is no session {victim}"
        await refused_or_empty(bob, action)
    for action in ("pause", "resume", "skip", "remove", "update"):
        given = {"message": "Mine now."} if action == "update" else {}
        said = await refused(bob, TOOLS, "cron", action=action, job_id=things.job_id, **given)
        assert things.job_id in said
    assert "Look after her" not in await result(bob, TOOLS, "cron", action="list")
    assert "pill" not in await result(bob, TOOLS, "list_scheduled_private_messages")
    await refused(bob, TOOLS, "cancel_scheduled_private_message", task_id=things.message_id)
    assert "peanuts" not in await result(bob, TOOLS, "memory_search", query="allergic to peanuts")
    context = await kernel.memory.context(stranger, asked="What am I allergic to?")
    assert "peanuts" not in str(context)
    # A recall that the stranger sets is their own; the victim's is unchanged.
    await result(
        bob, TOOLS, "schedule_recall", call_type="once", when="in 5 hours", additional_context_message=HIS
    )
    theirs = await kernel.recalls.get(victim)
    assert theirs is not None
    assert theirs.instruction == HERS
    assert (await kernel.scheduled_messages.get(things.message_id)).status == "pending"
    assert (await kernel.jobs.get(things.job_id, kind=JobKind.CRON)).state == "active"
    ada = await context_in(kernel, victim)
    assert "peanuts" in await result(ada, TOOLS, "memory_search", query="allergic to peanuts")


async def refused_or_empty(bob: ToolContext, action: str) -> None:
    """Without a session argument, the tool acts in the caller's session, where nothing is set."""
    if action == "list":
        assert HERS not in await result(bob, TOOLS, "manage_recall", action=action)
    else:
        await refused(bob, TOOLS, "manage_recall", action=action)


async def try_every_route(http: httpx2.AsyncClient, key: str, things: Things) -> None:
    """Another user finds nothing; the operator reaches it, and sees its owner."""
    at = f"/sessions/{quote(key, safe='')}"
    turn, automation = {"content": "Hi"}, {"message": "Look.", "schedule": "every 2h"}
    recall = {"call_type": "once", "when": "in 1 hour", "additional_context_message": HIS}
    written = {"role": "user", "content": "Hi"}
    later = {"send_at": "in 1 hour", "message_text": "Hi"}
    reads = [
        at,
        *(f"{at}/{what}" for what in ("messages", "automations", "runs", "recall", "recalls", "archives")),
        *(f"{at}/{what}" for what in ("scheduled-messages", "context", "archives/1", "deliveries")),
        f"/automations/{things.job_id}",
        f"/automations/{things.job_id}/runs",
        f"/automations/{things.job_id}/explain",
        f"/turns/{things.turn_id}",
        f"/tasks/{things.task_id}",
    ]
    writes: list[tuple[str, str, dict[str, object] | None]] = [
        ("POST", "/sessions", {"key": key}),
        ("POST", f"{at}/turns", {**turn}),
        ("POST", f"{at}/messages", {**written}),
        ("POST", f"{at}/messages/batch", {"messages": [written]}),
        ("POST", f"{at}/automations", {**automation}),
        ("POST", f"{at}/recall", {**recall}),
        ("POST", f"{at}/scheduled-messages", {**later}),
        ("POST", f"{at}/stop", None),
        ("POST", f"{at}/commit", {}),
        ("POST", f"{at}/recall/skip", None),
        ("POST", f"{at}/archives/1/undo", None),
        ("POST", f"/automations/{things.job_id}/pause", None),
        ("PATCH", at, {"title": "Mine"}),
        ("PATCH", f"/automations/{things.job_id}", {"name": "Mine"}),
        ("PATCH", f"/memories/{things.memory_id}", {"content": "Mine"}),
        ("POST", f"/tasks/{things.task_id}/cancel", None),
        ("DELETE", f"/memories/{things.memory_id}", None),
        ("DELETE", f"/scheduled-messages/{things.message_id}", None),
        ("DELETE", f"/automations/{things.job_id}", None),
        ("DELETE", f"{at}/recall", None),
        ("GET", f"{at}/events", None),
        ("DELETE", at, None),
    ]
    for path in reads:
        assert (await http.get(path, headers=bearer(EVE))).status_code == 404, path
        assert (await http.get(path, headers=bearer(ROOT))).status_code == 200, path
    for method, path, body in writes:
        asked = await http.request(method, path, json=body, headers=bearer(EVE))
        assert (asked.status_code, asked.json()["code"]) == (404, "not_found"), path
    for name in ("sessions", "memories", "tasks"):
        assert (await http.get(f"/{name}", headers=bearer(EVE))).json()[name] == [], name
    assert (await http.get(f"{at}?user={quote(key)}", headers=bearer(EVE))).status_code == 404
    await operate(http, key, things)


async def operate(http: httpx2.AsyncClient, key: str, things: Things) -> None:
    """What the operator makes in a user's session belongs to the user."""
    at, root = f"/sessions/{quote(key, safe='')}", bearer(ROOT)
    shown = (await http.get(at, headers=root)).json()
    assert (shown["key"], shown["account"], shown["user"]) == (key, "default", key)
    listed = (await http.get("/sessions", headers=root)).json()["sessions"]
    assert (key, key) in {(each["key"], each["user"]) for each in listed}
    tasks = (await http.get("/tasks", headers=root)).json()["tasks"]
    assert things.task_id in [each["task_id"] for each in tasks]
    # The operator's own memory does not hold it; the user's is read by naming the user.
    assert (await http.get("/memories", headers=root)).json()["memories"] == []
    theirs = await http.get("/memories", params={"user": key, "query": "peanuts"}, headers=root)
    assert "peanuts" in theirs.text
    added = await http.post(
        f"{at}/automations", json={"message": "Look.", "schedule": "every 2h"}, headers=root
    )
    assert (added.status_code, added.json()["session_key"]) == (201, key)
    assert len((await http.get(f"{at}/automations", headers=root)).json()["jobs"]) == 2
    paused = await http.post(f"/automations/{things.job_id}/pause", headers=root)
    assert (paused.status_code, paused.json()["enabled"]) == (200, False)
    assert (await http.delete(f"{at}/recall", headers=root)).status_code == 200
    assert (await http.delete(f"/scheduled-messages/{things.message_id}", headers=root)).status_code == 200
    changed = await http.patch(f"/memories/{things.memory_id}", json={"content": "Nuts."}, headers=root)
    assert changed.status_code == 200
