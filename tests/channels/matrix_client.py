"""Clients of a homeserver, real or double: a bot, the users who write to it, and what they see."""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx2

from segue.channels.matrix import Matrix
from segue.model.channel import Door
from tests.eventually import eventually


@dataclass
class Person:
    """A user of the homeserver, with a client."""

    url: str
    user: str
    token: str
    _count: int = field(default=0)

    async def call(self, method: str, path: str, **body: Any) -> dict[str, Any]:
        async with httpx2.AsyncClient(base_url=self.url, timeout=30) as http:
            answer = await http.request(
                method,
                f"/_matrix/client/v3{path}",
                json=None if method == "GET" else body,
                headers={"Authorization": f"Bearer {self.token}"},
            )
        assert answer.status_code == 200, answer.text
        told: dict[str, Any] = answer.json()
        return told

    async def open_room(self, *invited: str) -> str:
        room = await self.call("POST", "/createRoom", invite=list(invited), is_direct=len(invited) == 1)
        room_id: str = room["room_id"]
        return room_id

    async def join(self, room_id: str) -> None:
        await self.call("POST", f"/join/{quote(room_id)}")

    async def write(self, room_id: str, text: str, *, quoted: str | None = None) -> None:
        """Write to a room; `quoted` is the event that it replies to."""
        self._count += 1
        path = f"/rooms/{quote(room_id)}/send/m.room.message/person-{self._count}"
        relation = {"m.relates_to": {"m.in_reply_to": {"event_id": quoted}}} if quoted else {}
        await self.call("PUT", path, msgtype="m.text", body=text, **relation)

    async def newest_id(self, room_id: str) -> str:
        """The id of the newest message in the room."""
        found = await self.call("GET", f"/rooms/{quote(room_id)}/messages?dir=b&limit=200")
        event_id: str = next(e["event_id"] for e in found["chunk"] if e["type"] == "m.room.message")
        return event_id

    async def write_file(self, room_id: str, name: str, data: bytes, *, caption: str | None = None) -> None:
        """Upload a file and show it in the room, as an image if it is one."""
        async with httpx2.AsyncClient(base_url=self.url, timeout=30) as http:
            uploaded = await http.post(
                f"/_matrix/media/v3/upload?filename={quote(name)}",
                content=data,
                headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/octet-stream"},
            )
        self._count += 1
        path = f"/rooms/{quote(room_id)}/send/m.room.message/person-{self._count}"
        kind = "m.image" if name.endswith(".png") else "m.file"
        about = {"url": uploaded.json()["content_uri"], "info": {"size": len(data)}}
        await self.call("PUT", path, msgtype=kind, body=caption or name, filename=name, **about)

    async def files(self, room_id: str) -> list[tuple[str, str, bytes]]:
        """Return the kind, the name and the content of the files in the room, oldest first."""
        found = await self.call("GET", f"/rooms/{quote(room_id)}/messages?dir=b&limit=200")
        shown = [event["content"] for event in reversed(found["chunk"]) if "url" in event["content"]]
        return [(each["msgtype"], each["body"], await self._download(each["url"])) for each in shown]

    async def _download(self, address: str) -> bytes:
        async with httpx2.AsyncClient(base_url=self.url, timeout=30) as http:
            answer = await http.get(
                f"/_matrix/client/v1/media/download/{address.removeprefix('mxc://')}",
                headers={"Authorization": f"Bearer {self.token}"},
            )
        assert answer.status_code == 200, answer.text
        return answer.content

    async def read(self, room_id: str, *, of: str | None = None) -> list[str]:
        """Return the texts in the room as a client shows them, oldest first: a replaced message has the text
        of its replacement, which is no message of its own."""
        found = await self.call("GET", f"/rooms/{quote(room_id)}/messages?dir=b&limit=200")
        return [
            _newest(event)["body"]
            for event in reversed(found["chunk"])
            if event["type"] == "m.room.message"
            and "m.new_content" not in event["content"]
            and (of is None or event["sender"] == of)
        ]


def _newest(event: dict[str, Any]) -> dict[str, Any]:
    replaced = event.get("unsigned", {}).get("m.relations", {}).get("m.replace")
    content: dict[str, Any] = replaced["content"]["m.new_content"] if replaced else event["content"]
    return content


@dataclass
class Homeserver:
    url: str
    _pairs: int = 0

    async def pair(self) -> tuple[Person, Person]:
        """Register a bot and a user who talks to it."""
        self._pairs += 1
        return await self.register(f"bot{self._pairs}"), await self.register(f"ada{self._pairs}")

    async def register(self, name: str) -> Person:
        body = {"username": name, "password": f"password of {name}", "auth": {"type": "m.login.dummy"}}
        async with httpx2.AsyncClient(base_url=self.url, timeout=30) as http:
            answer = await http.post("/_matrix/client/v3/register", json=body)
        assert answer.status_code == 200, answer.text
        return Person(self.url, answer.json()["user_id"], answer.json()["access_token"])


def matrix_of(bot: Person, home: Homeserver, door: Door | None = None) -> Matrix:
    return Matrix(home.url, bot.user, bot.token, door=door or Door(allow=frozenset({"*"})))


async def members(person: Person, room: str) -> list[str]:
    return list((await person.call("GET", f"/rooms/{room}/joined_members"))["joined"])


async def until_shown(person: Person, room: str, text: str) -> list[str]:
    async def shown() -> list[str]:
        said = await person.read(room)
        return said if text in said else []

    return await eventually(shown, text, every=0.05)


async def until_joined(bot: Person, person: Person, room: str) -> None:
    async def joined() -> bool:
        return bot.user in await members(person, room)

    await eventually(joined, f"{bot.user} is in {room}", every=0.05)
