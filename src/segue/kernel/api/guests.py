"""Guests: who may write through a channel. Admits their messages as turns, each once."""

import logging
from hashlib import sha256
from secrets import choice

from segue.errors import Conflict, Invalid, NotFound, UnknownMessage
from segue.kernel.api.context import ApiContext
from segue.kernel.api.files import FilesApi
from segue.kernel.api.incoming_files import IncomingFiles
from segue.kernel.api.replies import RepliesApi
from segue.kernel.api.sessions import SessionsApi
from segue.kernel.transactions.idempotency import Request
from segue.kernel.transactions.replies import Quoted
from segue.model.channel import Arrival, Channel
from segue.model.records import Owner
from segue.model.text_checks import MAX_NAME, check_key, check_text
from segue.record import positional, record
from segue.store import queries
from segue.store.database import Params, Row, Transaction
from segue.store.queries import Query

_log = logging.getLogger(__name__)

_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""Of pairing codes: without 0, 1, I and O, which are easily confused."""


@record
class Guest:
    """A sender that the settings do not name."""

    channel: str
    sender: str
    name: str | None
    code: str
    allowed: bool
    came_at: int
    user: str | None
    """The user that owns this sender's private chats; None: each chat is a user of its own."""


class GuestsApi:
    """The senders of channels, and what they write: `kernel.guests`."""

    def __init__(
        self, context: ApiContext, sessions: SessionsApi, replies: RepliesApi, files: FilesApi
    ) -> None:
        self._context = context
        self._sessions = sessions
        self._replies = replies
        self._incoming = IncomingFiles(context, files)

    def inbox(self, channel: Channel) -> "ChannelInbox":
        """Returns what a channel gives its messages to."""
        return ChannelInbox(self._context, self, channel)

    async def receive(self, channel: str, arrival: Arrival, *, user: str | None = None) -> str | None:
        """Takes a message that arrived through a channel, once for each `id`: a control is done, any other
        is admitted as a turn of its session.

        The caller has checked that the sender is allowed. Returns what to tell the sender: that a file was
        not taken, and why, or why a tapped button does nothing any more. A message that no session can take
        is dropped and logged; nothing is raised for it.
        """
        key = f"{channel}:{arrival.chat_id}"
        owner = Owner(user=user or key)
        request = None
        if arrival.id is not None:
            digest = sha256(f"{arrival.chat_id}\n{arrival.text}".encode("utf-8", "surrogatepass")).hexdigest()
            request = Request(owner=owner, name=f"{channel}:{arrival.id}", digest=digest)
        try:
            if arrival.chat_type != "private":
                await self._sessions.open(key, owner=owner, chat_type=arrival.chat_type, title=arrival.title)
            taken = await self._incoming.take(key, arrival.files, owner=owner, request=request)
            if arrival.text.strip() or taken.files:
                await self._replies.take(
                    key,
                    arrival.text,
                    parts=taken.files,
                    reply_to=None if arrival.reply_to is None else Quoted(arrival.reply_to, channel),
                    tapped=arrival.tapped,
                    owner=owner,
                    metadata=arrival.metadata,
                    request=request,
                )
        except UnknownMessage as error:
            return str(error) if arrival.tapped else None
        except (Invalid, Conflict) as error:
            _log.warning("message dropped, arrived through %s: %s", channel, error)
            return None
        return taken.refused

    async def allow(self, code: str, *, user: str | None = None) -> Guest:
        """Allows the sender that was given this code, and returns it as a `Guest`.

        `user` is the user that will own the sender's private chats. Raises `NotFound`, `BadText`.
        """
        user_id = None if user is None else check_text(user, "the name of a user", longest=MAX_NAME)
        params: Params = {"code": code.strip().upper(), "user_id": user_id}
        guest = await self._context.store.commit(_change, queries.guests.allow, params)
        if guest is None:
            raise NotFound(f"no sender was given the code {code!r}; `segue channels list` shows who asks")
        return guest

    async def bind(self, channel: str, sender: str, *, user: str) -> Guest:
        """Makes a user the owner of a sender's private chats, from the next message on.

        It does not allow the sender. Returns the `Guest`. Raises `BadText`, `BadKey`.
        """
        check_text(sender, "a sender", longest=MAX_NAME)
        check_key(f"{channel}:1")
        params: Params = {
            "channel": channel,
            "sender": sender,
            "user_id": check_text(user, "the name of a user", longest=MAX_NAME),
            "code": _new_code(),
            "now": self._context.clock.ms(),
        }
        guest = await self._context.store.commit(_change, queries.guests.bind, params)
        assert guest is not None  # it is made if it is missing
        return guest

    async def delete(self, channel: str, sender: str) -> Guest:
        """Removes a sender's permission, or its pairing code, and returns the `Guest`. Raises `NotFound`."""
        params: Params = {"channel": channel, "sender": sender}
        guest = await self._context.store.commit(_change, queries.guests.forget, params)
        if guest is None:
            raise NotFound(f"no sender is known as {sender} through {channel}")
        return guest

    async def list(self, *, limit: int = 100) -> list[Guest]:
        """Returns the senders that the settings do not name, by channel: allowed by a code, or asking."""
        found = await self._context.store.database.read(queries.guests.newest, {"limit": limit})
        return [_guest(row) for row in found]


@positional
class ChannelInbox:
    """Takes the messages that arrive through one channel."""

    context: ApiContext
    guests: GuestsApi
    channel: Channel

    async def take(self, arrival: Arrival) -> str | None:
        name, door = self.channel.name, self.channel.door
        allowed, user = await self._pairing_of(arrival.sender)
        if allowed or door.admits(arrival.sender):
            # A group has one owner, no matter which of its members writes.
            owner = user if arrival.chat_type == "private" else None
            return await self.guests.receive(name, arrival, user=owner)
        if not door.pairing:
            _log.info("message ignored, unknown sender through %s", name)
            return None
        code = await self._new_pairing_code(arrival)
        return None if code is None else f"I do not know you yet. Give this code to the operator: {code}"

    async def welcomes(self, sender: str) -> bool:
        door = self.channel.door
        if door.pairing or door.admits(sender):
            return True
        return (await self._pairing_of(sender))[0]

    async def mark(self) -> str | None:
        found = await self.context.store.database.read(queries.guests.mark, {"channel": self.channel.name})
        return found[0]["mark"] if found else None

    async def set_mark(self, mark: str) -> None:
        await self.context.store.commit(_set_mark, self.channel.name, mark)

    async def _pairing_of(self, sender: str | None) -> tuple[bool, str | None]:
        """Whether a code has allowed the sender, and the user that owns the sender's chats."""
        if not sender:
            return False, None
        params = {"channel": self.channel.name, "sender": sender}
        found = await self.context.store.database.read(queries.guests.known, params)
        return (bool(found[0]["allowed"]), found[0]["user_id"]) if found else (False, None)

    async def _new_pairing_code(self, arrival: Arrival) -> str | None:
        """A code for a new sender; None for a sender that has one already."""
        sender, name = arrival.sender or "", arrival.sender_name
        now = self.context.clock.ms()
        return await self.context.store.commit(_add_guest, self.channel.name, sender, name, _new_code(), now)


def _new_code() -> str:
    return "".join(choice(_LETTERS) for _ in range(8))


def _add_guest(channel: str, sender: str, name: str | None, code: str, now: int) -> Transaction[str | None]:
    params = {"channel": channel, "sender": sender, "name": name, "code": code, "now": now}
    added = yield queries.guests.come, params
    return added[0]["code"] if added else None


def _change(query: Query, params: Params) -> Transaction[Guest | None]:
    changed = yield query, params
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
