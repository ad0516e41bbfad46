"""Hearing: what arrives through a channel becomes a turn of its session, once, if its sender may talk."""

import logging
from hashlib import sha256
from secrets import choice

from segue.channel import Arrival, Channel
from segue.errors import Conflict, Invalid, NotFound
from segue.once import Request
from segue.record import positional, record
from segue.store import sql
from segue.store.database import Row, Transaction, Value
from segue.verbs.looking import ME
from segue.verbs.talking import Talking

_log = logging.getLogger(__name__)

_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""Those that nobody takes for another."""


@record
class Guest:
    """Somebody whom the settings do not name."""

    channel: str
    sender: str
    name: str | None
    code: str
    allowed: bool
    came_at: int


class Hearing(Talking):
    async def hear(self, channel: str, arrival: Arrival) -> None:
        """Keep it. What nobody can keep is dropped, and said in the log: it would only come again."""
        key = f"{channel}:{arrival.chat_id}"
        request = None
        if arrival.id is not None:
            digest = sha256(f"{arrival.chat_id}\n{arrival.text}".encode("utf-8", "surrogatepass")).hexdigest()
            request = Request(owner=ME, name=f"{channel}:{arrival.id}", digest=digest)
        try:
            if arrival.chat_type != "private":
                await self.open(key, chat_type=arrival.chat_type, title=arrival.title)
            await self.receive(key, arrival.text, metadata=arrival.metadata, request=request)
        except (Invalid, Conflict) as error:
            _log.warning("a message that arrived through %s was dropped: %s", channel, error)

    async def guests(self, *, limit: int = 100) -> list[Guest]:
        found = await self.store.database.read(sql.guests.newest, {"limit": limit})
        return [_guest(row) for row in found]

    async def allow_guest(self, code: str) -> Guest:
        """Let in whom this code was given to."""
        found = await self.store.commit(_change, "allow", code=code.strip().upper())
        if found is None:
            raise NotFound(f"nobody was given the code {code!r}; `segue channels list` shows who asks")
        return found

    async def forget_guest(self, channel: str, sender: str) -> Guest:
        found = await self.store.commit(_change, "forget", channel=channel, sender=sender)
        if found is None:
            raise NotFound(f"nobody is known as {sender} through {channel}")
        return found

    async def _is_guest(self, channel: str, sender: str) -> bool:
        asked = {"channel": channel, "sender": sender}
        found = await self.store.database.read(sql.guests.allowed, asked)
        return bool(found and found[0]["allowed"])

    async def _code_for(self, channel: str, arrival: Arrival) -> str | None:
        """A code for somebody new; None for one who has theirs already."""
        code = "".join(choice(_LETTERS) for _ in range(8))
        return await self.store.commit(
            _come, channel, arrival.sender or "", arrival.sender_name, code, self.clock.ms()
        )


@positional
class Desk:
    """Where one channel hands in what arrived."""

    kernel: Hearing
    channel: Channel

    async def take(self, arrival: Arrival) -> str | None:
        name, door = self.channel.name, self.channel.door
        if door.admits(arrival.sender) or await self.kernel._is_guest(name, arrival.sender or ""):
            await self.kernel.hear(name, arrival)
            return None
        if not door.pairing:
            _log.info("somebody unknown wrote through %s, and got nothing", name)
            return None
        code = await self.kernel._code_for(name, arrival)
        return None if code is None else f"I do not know you yet. Tell whoever runs me this code: {code}"

    async def welcomes(self, sender: str) -> bool:
        door = self.channel.door
        return door.pairing or door.admits(sender) or await self.kernel._is_guest(self.channel.name, sender)

    async def mark(self) -> str | None:
        found = await self.kernel.store.database.read(sql.guests.mark, {"channel": self.channel.name})
        return found[0]["mark"] if found else None

    async def set_mark(self, mark: str) -> None:
        await self.kernel.store.commit(_set_mark, self.channel.name, mark)


def _come(channel: str, sender: str, name: str | None, code: str, now: int) -> Transaction[str | None]:
    asked = {"channel": channel, "sender": sender, "name": name, "code": code, "now": now}
    come = yield sql.guests.come, asked
    return come[0]["code"] if come else None


def _change(how: str, **whom: Value) -> Transaction[Guest | None]:
    changed = yield getattr(sql.guests, how), whom
    return _guest(changed[0]) if changed else None


def _set_mark(channel: str, mark: str) -> Transaction[None]:
    yield sql.guests.set_mark, {"channel": channel, "mark": mark}


def _guest(row: Row) -> Guest:
    return Guest(
        channel=row["channel"],
        sender=row["sender"],
        name=row["name"],
        code=row["code"],
        allowed=bool(row["allowed"]),
        came_at=row["came_at"],
    )
