"""A client that tracks its position in the log and builds the text of a turn from its pieces."""

import asyncio
import json
import random
from dataclasses import dataclass, field
from typing import Any

from websockets.asyncio.client import ClientConnection, connect


@dataclass
class Listener:
    """Applies events as the page does. Fails on a gap, on a repeat and on a misplaced piece."""

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

    def receive(self, event: dict[str, Any]) -> None:
        assert event["session"] == self.session, event
        if event["type"] in ("stream_delta", "thinking_delta"):
            self._append(event)
            return
        assert event["seq"] == self.seq + 1, f"{event} after {self.seq}"
        self.seq = event["seq"]
        self.types.append(event["type"])
        if event["type"] == "stream_start":  # of a second attempt too: its text starts from the beginning
            self.text = ""
        elif event["type"] == "stream_end":
            self.end = event
            if event.get("replay") and not self.pieces:  # the turn began and ended while disconnected
                self.text = event["reply"]
        elif event["type"] == "session_sync":
            self.synced = event["object"]

    def _append(self, event: dict[str, Any]) -> None:
        assert event["seq"] == self.seq, event
        assert self.end is None, "a piece after the end"
        offset, text = event["offset"], event["text"]
        assert offset <= len(self.text), f"a gap before {offset}, have {len(self.text)}"
        if event.get("replay"):
            self.replayed += 1
        else:
            assert offset == len(self.text), "a piece is repeated or missing"
        known = self.text[offset : offset + len(text)]
        assert text.startswith(known), "a repeated piece differs"
        self.text = self.text[:offset] + text if offset + len(text) > len(self.text) else self.text
        self.pieces += 1

    async def follow(self, socket: ClientConnection, *, events: int | None = None) -> None:
        """Listen until the turn has ended, or for that many events."""
        await socket.send(json.dumps({"type": "subscribe", "session": self.session, "after": self.seq}))
        while not self.over and (events is None or events > 0):
            event = json.loads(await socket.recv())
            if event["type"] not in ("accepted", "error"):
                self.receive(event)
                events = None if events is None else events - 1


async def follow_with_reconnects(url: str, listener: Listener, rng: random.Random) -> int:
    """Reconnect after every few events until the turn has ended. Returns the number of connections."""
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
