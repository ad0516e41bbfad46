"""Cursor of a client in a session's events: it drops what was received before, and says where to read on.

After a lost connection the server sends the events after the last one again, and the text of the running turn
from its beginning.

Invariants
  - each event is taken once, in the order of its number
  - each character of a turn's text is taken once
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from segue.client import parse
from segue.client.parse import JSON
from segue.kernel.live.hub import LiveText
from segue.model.records import Event

_DELTAS = ("stream_delta", "thinking_delta")
_ENVELOPE = frozenset(
    {"type", "session", "seq", "turn_id", "at", "replay", "source", "message", "message_id"}
)


class EventCursor:
    def __init__(self, session_id: str, after: int | None, newest: int) -> None:
        self.after = after
        """The number after which the server is asked to begin; None: at the running turn, or now."""
        self._session_id = session_id
        self._newest = newest
        """The session's newest number before the first request."""
        self._last_seq = 0 if after is None else after
        self._turn: tuple[str | None, int] = (None, 0)
        self._sent: dict[str, int] = {}

    def reconnect(self) -> None:
        """Called when a connection was lost: from now on, begin after what was received."""
        if self.after is None and not self._last_seq:
            self._last_seq = self._newest
        self.after = self._last_seq

    def take(self, wire_event: JSON) -> Event | LiveText | None:
        """The event or text of a message from the server; None if it was received before."""
        if wire_event["type"] in _DELTAS:
            return self._take_text(wire_event)
        if wire_event["seq"] <= self._last_seq:
            return None
        event = _event(wire_event, self._session_id)
        self._last_seq = event.seq
        if event.type == "stream_start":
            self._turn, self._sent = (event.turn_id, event.body["attempt"]), {}
        return event

    def _take_text(self, wire_event: JSON) -> LiveText | None:
        kind, text, offset = wire_event["type"], wire_event["text"], wire_event["offset"]
        turn = self._attempt_of(wire_event)
        if turn != self._turn:
            self._turn, self._sent = turn, {}
        known = max(0, self._sent.get(kind, 0) - offset)
        if known >= len(text):
            return None
        self._sent[kind] = offset + len(text)
        piece = LiveText(
            session_id=self._session_id,
            turn_id=wire_event["turn_id"],
            attempt=turn[1],
            type=kind,
            seq=wire_event["seq"],
            offset=offset,
            text=text,
            replay=wire_event.get("replay", False),
        )
        return replace(piece, offset=offset + known, text=text[known:]) if known else piece

    def _attempt_of(self, wire_event: JSON) -> tuple[str, int]:
        """The turn and its attempt, which is 0 in the text of a turn that ended meanwhile."""
        turn_id, attempt = wire_event["turn_id"], wire_event["attempt"]
        return turn_id, self._turn[1] if attempt == 0 and turn_id == self._turn[0] else attempt


def _event(wire_event: JSON, session_id: str) -> Event:
    message: Mapping[str, Any] = wire_event.get("message") or {}
    body = {name: value for name, value in wire_event.items() if name not in _ENVELOPE}
    if prompt_ref := message.get("metadata", {}).get("cron_prompt_ref"):
        body["prompt_ref"] = prompt_ref
    if parts := message.get("parts"):
        body["parts"] = parts
    if wire_event["type"] == "automation_update":
        body["job_id"] = wire_event["job"]["id"]
    return Event(
        session_id=session_id,
        seq=wire_event["seq"],
        type=wire_event["type"],
        at=parse.ms(wire_event["at"]),
        turn_id=wire_event["turn_id"],
        role=message.get("role"),
        content=message.get("content"),
        source=parse.source(message.get("source") or wire_event.get("source")),
        body=body,
    )
