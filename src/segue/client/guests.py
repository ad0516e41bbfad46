"""Guests of a client: the verbs of `kernel.guests` that admit and remove senders of channels."""

from segue.client import parse
from segue.client.transport import Transport
from segue.kernel.api.guests import Guest


class ClientGuests:
    """The senders of channels: `client.guests`. Needs a key of the default account and the role admin."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def allow(self, code: str, *, user: str | None = None) -> Guest:
        """Allows the sender of a pairing code. `user` will own its private chats. Raises `NotFound`."""
        body = {"code": code} if user is None else {"code": code, "user": user}
        return (await self._transport.post("guests", "allow", body=body)).read(parse.guest)

    async def bind(self, channel: str, sender: str, *, user: str) -> Guest:
        """Makes a user the owner of a sender's private chats. It does not allow the sender."""
        return (await self._transport.patch("guests", channel, sender, body={"user": user})).read(parse.guest)

    async def delete(self, channel: str, sender: str) -> Guest:
        """Removes a sender's permission, or its pairing code. Raises `NotFound`."""
        return (await self._transport.delete("guests", channel, sender)).read(parse.guest)

    async def list(self, *, limit: int = 100) -> list[Guest]:
        """Returns the senders that the settings do not name, by channel: allowed by a code, or asking."""
        answer = await self._transport.get("guests", limit=limit)
        return [each.read(parse.guest) for each in answer.items("guests")]
