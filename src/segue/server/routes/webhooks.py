"""Webhooks: routes that messaging networks call when a user has written."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Header, Request
from pydantic import JsonValue

from segue.server.error_responses import Refused, responses
from segue.server.request_context import app_state

router = APIRouter(tags=["Webhooks"])


@router.post(
    "/webhooks/telegram",
    summary="Receive a Telegram update",
    status_code=204,
    responses=responses(400, 403, 404, 413, 422, 503),
)
async def receive_telegram_update(
    request: Request,
    update: Annotated[dict[str, JsonValue], Body()],
    x_telegram_bot_api_secret_token: Annotated[str, Header(max_length=300)] = "",
) -> None:
    """Store the message of an update. The header must hold the secret that Telegram was given."""
    channel: Any = app_state(request).kernel.channels.get("telegram")
    if channel is None or not _is_bot(channel):
        raise Refused(404, "not_found", "no Telegram bot is set up here")
    if not channel.knows(x_telegram_bot_api_secret_token):
        raise Refused(403, "forbidden", "the secret token is not the one that Telegram was given")
    if not await channel.arrived(update):
        raise Refused(503, "not_listening", "this process does not listen to Telegram yet; try again")


def _is_bot(channel: object) -> bool:
    from segue.channels.telegram import Telegram  # its library is an extra of its own

    return isinstance(channel, Telegram)
