"""Hearing: what arrives through a channel becomes a turn of its session, once."""

import logging
from hashlib import sha256

from segue.channel import Arrival
from segue.errors import Conflict, Invalid
from segue.once import Request
from segue.verbs.looking import ME
from segue.verbs.talking import Talking

_log = logging.getLogger(__name__)


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
            await self.receive(key, arrival.text, request=request)
        except (Invalid, Conflict) as error:
            _log.warning("a message that arrived through %s was dropped: %s", channel, error)
