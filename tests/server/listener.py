"""A client that remembers: its place in the log, and the text of the turn as its pieces gave it."""

import asyncio
import json
import random
from dataclasses import dataclass, field
from typing import Any

from websockets.asyncio.client import ClientConnection, connect


@dataclass
class Listener:
    """Folds events the way a page does. It fails on a gap, on a repeat and on a piece out of place."""

    session: str
    seq: int = 0
    text: str = ""
    types: list[str] = field(default_factory=list)
    pieces: int = 0
    replayed: int = 0
    end: dict[str, Any] | None = None
    synced: dict[str, Any] | None = None

    @property
    def over(self) -> bool:
        return self.synced is not None

    def hear(self, event: dict[str, Any]) -> None:
        assert event["session"] == self.session, event
        if event["type"] in ("stream_delta", "thinking_delta"):
            self._grow(event)
            return
        assert event["seq"] == self.seq + 1, f"{event} after {self.seq}"
        self.seq = event["seq"]
        self.types.append(event["type"])
        if event["type"] == "stream_end":
            self.end = event
            if event.get("replay") and not self.pieces:  # it began and ended while nobody was here
                self.text = event["reply"]
        elif event["type"] == "session_sync":
            self.synced = event["object"]

    def _grow(self, event: dict[str, Any]) -> None:
        assert event["seq"] == self.seq, event
        assert self.end is None, "a piece after the end"
        offset, text = event["offset"], event["text"]
        assert offset <= len(self.text), f"a gap before {offset}, have {len(self.text)}"
        if event.get("replay"):
            self.replayed += 1
        else:
            assert offset == len(self.text), "a piece was said twice, or is missing"
        known = self.text[offset : offset + len(text)]
        assert text.startswith(known), "what was said again is not what was said"
        self.text = self.text[:offset] + text if offset + len(text) > len(self.text) else self.text
        self.pieces += 1

    async def follow(self, socket: ClientConnection, *, events: int | None = None) -> None:
        """Listen until the turn is over, or for so many events."""
        await socket.send(json.dumps({"type": "subscribe", "session": self.session, "after": self.seq}))
        while not self.over and (events is None or events > 0):
            event = json.loads(await socket.recv())
            if event["type"] not in ("accepted", "error"):
                self.hear(event)
                events = None if events is None else events - 1


async def restless(url: str, listener: Listener, rng: random.Random) -> int:
    """Connect again and again, each time for a few events; how many connections it took."""
    connections = 0
    while not listener.over:
        connections += 1
        async with connect(url) as socket:
            try:
                async with asyncio.timeout(rng.uniform(0.02, 0.4)):
                    await listener.follow(socket, events=rng.randrange(1, 40))
            except TimeoutError:
                continue
    return connections
