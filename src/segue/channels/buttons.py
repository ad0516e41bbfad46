"""Telegram buttons: Snooze, Skip and Stop under a job's message. A tap is the reply that its label says."""

from collections.abc import Mapping
from typing import Any

from segue.model.channel import Arrival
from segue.model.records import Delivery
from segue.model.states import JobKind

_LABELS = ("Snooze", "Skip", "Stop")


def keyboard(delivery: Delivery) -> dict[str, Any]:
    """The arguments that show the buttons, if the delivery is the message of an automation."""
    source = delivery.source
    if source is None or delivery.logged or source.kind not in (JobKind.CRON, JobKind.LEGACY):
        return {}
    row = [{"text": label, "callback_data": label.lower()} for label in _LABELS]
    return {"reply_markup": {"inline_keyboard": [row]}}


def tap(update: Mapping[str, Any]) -> tuple[str, Arrival] | None:
    """The id of a tap and the reply that it stands for; None if the update is no tap of our buttons."""
    query = update.get("callback_query")
    if not isinstance(query, Mapping) or not isinstance(query.get("message"), Mapping):
        return None
    message, sender = query["message"], query.get("from")
    chat, label = message.get("chat"), _label(query.get("data"))
    if not isinstance(chat, Mapping) or not isinstance(sender, Mapping) or label is None:
        return None
    if not isinstance(chat.get("id"), int) or not isinstance(update.get("update_id"), int):
        return None
    return str(query.get("id")), Arrival(
        chat_id=str(chat["id"]),
        text=label,
        id=str(update["update_id"]),
        chat_type="private" if chat.get("type") == "private" else "group",
        sender=str(sender.get("id", "")),
        reply_to=str(message.get("message_id")),
        tapped=True,
    )


def _label(data: object) -> str | None:
    return next((label for label in _LABELS if label.lower() == data), None)
