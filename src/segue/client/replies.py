"""Replies of a client, with the verbs of `kernel.replies`."""

from collections.abc import Sequence
from typing import Any

from segue.client.files import part_bodies
from segue.client.records import RemoteControl, RemoteQueuedTurn
from segue.client.transport import Transport
from segue.kernel.api.files import FileRef
from segue.kernel.api.turns import check_when_busy
from segue.model.states import WhenBusy
from segue.model.text_checks import check_key, check_text


class ClientReplies:
    """Users' messages that may order a job something: `client.replies`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def take(
        self,
        key: str,
        text: str,
        *,
        parts: Sequence[FileRef] = (),
        reply_to: str | None = None,
        when_busy: WhenBusy | str | None = None,
        replaces: str | None = None,
        idempotency_key: str | None = None,
    ) -> RemoteQueuedTurn | RemoteControl:
        """Sends a user's message: an order to a job is done at once, any other message becomes a turn.

        Works as `kernel.replies.take` does. Raises what `receive` raises.
        """
        body = turn_body(text, parts, reply_to, when_busy, replaces)
        data = (
            await self._transport.create(
                "sessions", check_key(key), "turns", body=body, idempotency_key=idempotency_key
            )
        ).data
        if data["turn_id"] is not None:
            return RemoteQueuedTurn(data["turn_id"], key, data["position"])
        return RemoteControl(line=data["reply"], **data["control"])


def turn_body(
    text: str,
    parts: Sequence[FileRef],
    reply_to: str | None,
    when_busy: WhenBusy | str | None,
    replaces: str | None,
) -> dict[str, Any]:
    """The body of a request that sends a user's message."""
    if text or (not parts and replaces is None):
        check_text(text, "a message")
    check_when_busy(when_busy)
    mode = None if when_busy is None else str(when_busy)
    given: dict[str, Any] = {"reply_to": reply_to, "when_busy": mode, "replaces": replaces}
    return {"content": text, "parts": part_bodies(parts)} | {
        name: value for name, value in given.items() if value is not None
    }
