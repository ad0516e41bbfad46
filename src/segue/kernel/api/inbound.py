"""Hearing: what arrives through a channel becomes a turn of its session, once, if its sender may talk."""

import logging
from hashlib import sha256
from secrets import choice

from segue.errors import Conflict, Invalid, NotFound
from segue.kernel.api.turns import TurnsApi
from segue.kernel.transactions.idempotency import Request
from segue.model.channel import Arrival, Channel
from segue.model.records import Owner
from segue.model.text_checks import MAX_NAME, check_key, check_text
from segue.record import positional, record
from segue.store import queries
from segue.store.database import Row, Transaction, Value

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
    user: str | None
    """The user that their private chats belong to; None: each chat is a user of its own."""


class InboundApi(TurnsApi):
    async def hear(self, channel: str, arrival: Arrival, *, user: str | None = None) -> None:
        """Keep an `Arrival` of that channel: it will be a turn of its session, once by its `id`. Whether its
        sender may talk was seen to before. One that no session can take is dropped, and said in the log.
        """
        key = f"{channel}:{arrival.chat_id}"
        owner = Owner(user=user or key)
        request = None
        if arrival.id is not None:
            digest = sha256(f"{arrival.chat_id}\n{arrival.text}".encode("utf-8", "surrogatepass")).hexdigest()
            request = Request(owner=owner, name=f"{channel}:{arrival.id}", digest=digest)
        try:
            if arrival.chat_type != "private":
                await self.open(key, owner=owner, chat_type=arrival.chat_type, title=arrival.title)
            await self.receive(key, arrival.text, owner=owner, metadata=arrival.metadata, request=request)
        except (Invalid, Conflict) as error:
            _log.warning("a message that arrived through %s was dropped: %s", channel, error)

    async def guests(self, *, limit: int = 100) -> list[Guest]:
        """Those whom the settings do not name, the newest first: let in by a code, or asking to be."""
        found = await self.store.database.read(queries.guests.newest, {"limit": limit})
        return [_guest(row) for row in found]

    async def allow_guest(self, code: str, *, user: str | None = None) -> Guest:
        """Let in whom this code was given to. Raises `NotFound`."""
        bound = None if user is None else check_text(user, "the name of a user", longest=MAX_NAME)
        found = await self.store.commit(_change, "allow", code=code.strip().upper(), user_id=bound)
        if found is None:
            raise NotFound(f"no sender was given the code {code!r}; `segue channels list` shows who asks")
        return found

    async def bind_sender(self, channel: str, sender: str, *, user: str) -> Guest:
        """The sender's private chats belong to this user from the next message on. It lets no one in. Returns
        the `Guest`.
        """
        check_text(sender, "a sender", longest=MAX_NAME)
        check_key(f"{channel}:1")
        found = await self.store.commit(
            _change,
            "bind",
            channel=channel,
            sender=sender,
            user_id=check_text(user, "the name of a user", longest=MAX_NAME),
            code=_new_code(),
            now=self.clock.ms(),
        )
        assert found is not None  # it is made if it is missing
        return found

    async def forget_guest(self, channel: str, sender: str) -> Guest:
        """Shut somebody out again, or take their code back. Raises `NotFound`."""
        found = await self.store.commit(_change, "forget", channel=channel, sender=sender)
        if found is None:
            raise NotFound(f"nobody is known as {sender} through {channel}")
        return found

    async def _known(self, channel: str, sender: str | None) -> tuple[bool, str | None]:
        """Whether a code has let the sender in, and the user that a pairing has bound their chats to."""
        if not sender:
            return False, None
        found = await self.store.database.read(queries.guests.known, {"channel": channel, "sender": sender})
        return (bool(found[0]["allowed"]), found[0]["user_id"]) if found else (False, None)

    async def _code_for(self, channel: str, arrival: Arrival) -> str | None:
        """A code for a new sender; None for one who has theirs already."""
        return await self.store.commit(
            _come, channel, arrival.sender or "", arrival.sender_name, _new_code(), self.clock.ms()
        )


@positional
class ChannelInbox:
    """Where one channel hands in what arrived."""

    kernel: InboundApi
    channel: Channel

    async def take(self, arrival: Arrival) -> str | None:
        name, door = self.channel.name, self.channel.door
        allowed, user = await self.kernel._known(name, arrival.sender)
        if allowed or door.admits(arrival.sender):
            # A group belongs to its members together, no matter which of them writes.
            bound = user if arrival.chat_type == "private" else None
            await self.kernel.hear(name, arrival, user=bound)
            return None
        if not door.pairing:
            _log.info("somebody unknown wrote through %s, and got nothing", name)
            return None
        code = await self.kernel._code_for(name, arrival)
        return None if code is None else f"I do not know you yet. Tell whoever runs me this code: {code}"

    async def welcomes(self, sender: str) -> bool:
        door = self.channel.door
        return door.pairing or door.admits(sender) or (await self.kernel._known(self.channel.name, sender))[0]

    async def mark(self) -> str | None:
        found = await self.kernel.store.database.read(queries.guests.mark, {"channel": self.channel.name})
        return found[0]["mark"] if found else None

    async def set_mark(self, mark: str) -> None:
        await self.kernel.store.commit(_set_mark, self.channel.name, mark)


def _new_code() -> str:
    return "".join(choice(_LETTERS) for _ in range(8))


def _come(channel: str, sender: str, name: str | None, code: str, now: int) -> Transaction[str | None]:
    asked = {"channel": channel, "sender": sender, "name": name, "code": code, "now": now}
    come = yield queries.guests.come, asked
    return come[0]["code"] if come else None


def _change(how: str, **whom: Value) -> Transaction[Guest | None]:
    changed = yield getattr(queries.guests, how), whom
    return _guest(changed[0]) if changed else None


def _set_mark(channel: str, mark: str) -> Transaction[None]:
    yield queries.guests.set_mark, {"channel": channel, "mark": mark}


def _guest(row: Row) -> Guest:
    return Guest(
        channel=row["channel"],
        sender=row["sender"],
        name=row["name"],
        code=row["code"],
        allowed=bool(row["allowed"]),
        came_at=row["came_at"],
        user=row["user_id"],
    )
