"""Double of a Matrix homeserver on loopback: users, rooms, messages, transaction ids, and sync.

What a real one does is checked in `test_synapse.py`; both pass `matrix_protocol.py`.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.channels.loopback import on_loopback
from tests.channels.matrix_client import Homeserver

_LARGEST = 65_536
"""Bytes of an event."""
Event = dict[str, Any]


@dataclass
class Room:
    id: str
    events: list[tuple[int, Event]] = field(default_factory=list)
    """Each with its place in the order of all events."""
    members: dict[str, tuple[str, int]] = field(default_factory=dict)
    """User to membership and when it began."""

    def users(self, membership: str) -> list[str]:
        return [user for user, (state, _) in self.members.items() if state == membership]

    def joined(self, user: str, since: int) -> dict[str, Any]:
        """What a member is told: everything, if they joined after `since`."""
        after = since if self.members[user][1] <= since else 0
        new = [event for place, event in self.events if place > after]
        return {
            "timeline": {"events": new, "limited": False, "prev_batch": "0"} if new else {"events": []},
            "state": {"events": []},
            "summary": {"m.joined_member_count": len(self.users("join")), "m.heroes": []},
        }


@dataclass
class Double:
    users: dict[str, str] = field(default_factory=dict)
    """Token to user."""
    rooms: dict[str, Room] = field(default_factory=dict)
    sent: dict[tuple[str, str, str], str] = field(default_factory=dict)
    """Token, room and transaction id to event id."""
    place: int = 0
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    def user_of(self, request: Request) -> str:
        return self.users[request.headers["authorization"].removeprefix("Bearer ")]

    async def add(self, room: Room, sender: str, kind: str, content: Event, **about: str) -> str:
        self.place += 1
        event = {"type": kind, "sender": sender, "content": content, "event_id": f"${self.place}", **about}
        room.events.append((self.place, {**event, "origin_server_ts": self.place}))
        async with self.changed:
            self.changed.notify_all()
        return f"${self.place}"

    async def enter(self, room: Room, sender: str, user: str, membership: str) -> None:
        room.members[user] = (membership, self.place + 1)
        await self.add(room, sender, "m.room.member", {"membership": membership}, state_key=user)

    async def register(self, request: Request) -> Response:
        name = (await request.json())["username"]
        self.users[f"token of {name}"] = f"@{name}:localhost"
        return JSONResponse({"user_id": f"@{name}:localhost", "access_token": f"token of {name}"})

    async def create(self, request: Request) -> Response:
        user, wanted = self.user_of(request), await request.json()
        room = self.rooms.setdefault(f"!{len(self.rooms)}:localhost", Room(f"!{len(self.rooms)}:localhost"))
        await self.enter(room, user, user, "join")
        for invited in wanted["invite"]:
            await self.enter(room, user, invited, "invite")
        return JSONResponse({"room_id": room.id})

    async def join(self, request: Request) -> Response:
        user, room = self.user_of(request), self.rooms[request.path_params["room"]]
        await self.enter(room, user, user, "join")
        return JSONResponse({"room_id": room.id})

    async def send(self, request: Request) -> Response:
        user, room = self.user_of(request), self.rooms[request.path_params["room"]]
        if user not in room.users("join"):
            return JSONResponse({"errcode": "M_FORBIDDEN", "error": f"{user} is not in the room"}, 403)
        body = await request.body()
        if len(body) > _LARGEST:
            return JSONResponse({"errcode": "M_TOO_LARGE", "error": "event too large"}, 413)
        key = (user, room.id, request.path_params["transaction"])
        if key not in self.sent:
            self.sent[key] = await self.add(room, user, "m.room.message", json.loads(body))
        return JSONResponse({"event_id": self.sent[key]})

    async def messages(self, request: Request) -> Response:
        room = self.rooms[request.path_params["room"]]
        newest = {
            event["content"]["m.relates_to"]["event_id"]: event
            for _, event in room.events
            if "m.new_content" in event["content"]
        }
        chunk = [
            {**event, "unsigned": {"m.relations": {"m.replace": newest[event["event_id"]]}}}
            if event["event_id"] in newest
            else event
            for _, event in reversed(room.events)
        ]
        return JSONResponse({"chunk": chunk, "start": "0"})

    async def members(self, request: Request) -> Response:
        room = self.rooms[request.path_params["room"]]
        return JSONResponse({"joined": {user: {} for user in room.users("join")}})

    async def sync(self, request: Request) -> Response:
        user, since = self.user_of(request), int(request.query_params.get("since", "0"))
        wait = min(int(request.query_params.get("timeout", "0")) / 1000, 5)
        try:
            async with asyncio.timeout(wait), self.changed:
                await self.changed.wait_for(lambda: bool(self.news(user, since)))
        except TimeoutError:
            pass
        return JSONResponse({"next_batch": str(self.place), "rooms": self.news(user, since)})

    def news(self, user: str, since: int) -> dict[str, dict[str, Any]]:
        told: dict[str, dict[str, Any]] = {}
        for room in self.rooms.values():
            membership, began = room.members.get(user, ("", 0))
            if membership == "join" and room.events[-1][0] > since:
                told.setdefault("join", {})[room.id] = room.joined(user, since)
            elif membership == "invite" and began > since:
                invitation = [event for place, event in room.events if place == began]
                told.setdefault("invite", {})[room.id] = {"invite_state": {"events": invitation}}
        return told


@asynccontextmanager
async def homeserver() -> AsyncIterator[Homeserver]:
    double, at = Double(), "/_matrix/client/v3"
    routes = [
        Route(f"{at}/register", double.register, methods=["POST"]),
        Route(f"{at}/createRoom", double.create, methods=["POST"]),
        Route(at + "/join/{room}", double.join, methods=["POST"]),
        Route(at + "/rooms/{room}/send/m.room.message/{transaction}", double.send, methods=["PUT"]),
        Route(at + "/rooms/{room}/messages", double.messages, methods=["GET"]),
        Route(at + "/rooms/{room}/joined_members", double.members, methods=["GET"]),
        Route(f"{at}/sync", double.sync, methods=["GET"]),
    ]
    async with on_loopback(Starlette(routes=routes)) as url:
        yield Homeserver(url)
