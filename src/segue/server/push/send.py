"""Push requests: sends one message to the push service of a device, and says what became of it (RFC 8030)."""

import hashlib
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import Enum

import httpx2

from segue.agents.tools.guarded_address import checked_address, target_of
from segue.agents.tools.registry import ToolRefused
from segue.model.records import PushSubscription
from segue.record import positional
from segue.server.push.encryption import encoded, encrypt
from segue.server.push.vapid import VapidKey

_SECONDS = 10.0
_KEPT_SECONDS = 86_400
"""How long the push service keeps a message for a device that is switched off."""
_LONGEST_PAUSE_SECONDS = 3600.0
_GONE = frozenset({404, 410})
_TEMPORARY = frozenset({408, 425, 429})


class PushResult(Enum):
    SENT = "sent"
    GONE = "gone"
    REFUSED = "refused"
    FAILED = "failed"


@positional
class PushOutcome:
    result: PushResult
    reason: str = ""
    retry_after: float | None = None
    """Seconds, as the push service asks."""


def push_client() -> httpx2.AsyncClient:
    return httpx2.AsyncClient(timeout=_SECONDS, trust_env=False, follow_redirects=False)


async def check_endpoint(endpoint: str, *, private: bool) -> None:
    """Raise `ToolRefused` if the endpoint is not one that this server calls: public and by https.

    `private`: this machine and its network are allowed too, also by http.
    """
    target = target_of(endpoint)
    if target.scheme != "https" and not private:
        raise ToolRefused("the address of a push service begins with https://")
    await checked_address(target.host, target.port, private=private)


async def send(
    client: httpx2.AsyncClient,
    device: PushSubscription,
    key: VapidKey,
    content: bytes,
    *,
    topic: str,
    now_ms: int,
    private: bool,
) -> PushOutcome:
    """Send a message to a device. Of messages with one topic, the push service keeps the newest.

    The address is checked again, and connected to as it was checked: a name may have another address by now.
    """
    try:
        target = target_of(device.endpoint)
        address = await checked_address(target.host, target.port, private=private)
        response = await client.post(
            target.url_at(address),
            content=encrypt(content, device.p256dh, device.auth),
            headers={
                "Host": target.host_header,
                "Authorization": key.authorization(device.endpoint, device.site, now_ms),
                "Content-Encoding": "aes128gcm",
                "Content-Type": "application/octet-stream",
                "TTL": str(_KEPT_SECONDS),
                "Topic": _topic(topic, device),
                "Urgency": "high",
            },
            extensions={"sni_hostname": target.host},
        )
    except (ToolRefused, ValueError) as refusal:
        return PushOutcome(PushResult.REFUSED, str(refusal))
    except httpx2.HTTPError as error:
        return PushOutcome(PushResult.FAILED, type(error).__name__)
    return outcome_of(response.status_code, response.headers.get("retry-after"), now_ms)


def outcome_of(status: int, retry_after: str | None, now_ms: int) -> PushOutcome:
    if 200 <= status < 300:
        return PushOutcome(PushResult.SENT)
    reason = f"it answered {status}"
    if status in _GONE:
        return PushOutcome(PushResult.GONE, reason)
    if status >= 500 or status in _TEMPORARY:
        return PushOutcome(PushResult.FAILED, reason, _pause(retry_after, now_ms))
    return PushOutcome(PushResult.REFUSED, reason)


def _pause(retry_after: str | None, now_ms: int) -> float | None:
    """The seconds of a `Retry-After` header, which is a number or a date."""
    if not retry_after:
        return None
    try:
        if retry_after.isdigit():
            seconds = float(retry_after)
        else:
            now = datetime.fromtimestamp(now_ms / 1000, UTC)
            seconds = (parsedate_to_datetime(retry_after) - now).total_seconds()
    except (ValueError, TypeError):
        return None
    return min(max(seconds, 0.0), _LONGEST_PAUSE_SECONDS)


def _topic(topic: str, device: PushSubscription) -> str:
    """32 characters that tell the push service nothing about the session."""
    return encoded(hashlib.sha256(f"{device.auth} {topic}".encode()).digest()[:24])
