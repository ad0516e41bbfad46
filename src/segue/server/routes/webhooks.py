"""Webhooks: networks that call us when somebody has written."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Header, Request
from pydantic import JsonValue

from segue.channels.telegram import Telegram
from segue.server.error_responses import Refused, responses
from segue.server.request_context import app_state

router = APIRouter(tags=["Webhooks"])


@router.post(
    "/webhooks/telegram",
    summary="Take an update of Telegram",
    status_code=204,
    responses=responses(400, 403, 404, 413, 422, 503),
)
async def telegram_update(
    request: Request,
    update: Annotated[dict[str, JsonValue], Body()],
    x_telegram_bot_api_secret_token: Annotated[str, Header(max_length=300)] = "",
) -> None:
    """When this has answered, the message is kept. The header says that it is Telegram who calls."""
    channel: Any = app_state(request).kernel.channels.get("telegram")
    if not isinstance(channel, Telegram):
        raise Refused(404, "not_found", "no Telegram bot is set up here")
    if not channel.knows(x_telegram_bot_api_secret_token):
        raise Refused(403, "forbidden", "this is not the word that Telegram was told")
    if not await channel.arrived(update):
        raise Refused(503, "not_listening", "nobody listens to Telegram in this process yet; try again")
