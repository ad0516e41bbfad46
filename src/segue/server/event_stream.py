"""Event stream: the response of server-sent events, with pings and a complete end."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.types import Message, Receive, Scope, Send

SEPARATOR = "\n"
"""Of lines. The parser of `@ag-ui/client` knows no other."""
_PING_SECONDS = 15


class EventStream(EventSourceResponse):
    """Sends the final chunk when the server stops, so that the client sees a complete response.

    `on_disconnect` is called when the client leaves before the end, not when the server stops.
    """

    def __init__(
        self,
        events: AsyncIterator[ServerSentEvent],
        *,
        headers: Mapping[str, str] | None = None,
        on_disconnect: Callable[[Message], Awaitable[None]] | None = None,
    ) -> None:
        super().__init__(
            events,
            headers=headers,
            ping=_PING_SECONDS,
            sep=SEPARATOR,
            client_close_handler_callable=on_disconnect,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        ended = False

        async def track_end(message: Message) -> None:
            nonlocal ended
            ended = message["type"] == "http.response.body" and not message.get("more_body")
            await send(message)

        await super().__call__(scope, receive, track_end)
        if not ended:
            await send({"type": "http.response.body", "body": b""})
