"""Pydantic models of read marks and of push subscriptions."""

from typing import Annotated, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StrictInt
from pydantic.config import JsonDict

from segue.server.paging import LARGEST_SEQ
from segue.server.schemas.body import Body

_BASE64 = r"^[A-Za-z0-9_-]+={0,2}$"
_EXAMPLE: JsonDict = {
    "endpoint": "https://push.example.org/send/3f2a",
    "keys": {"p256dh": "B" * 87, "auth": "A" * 22},
}
DeviceId: TypeAlias = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$", examples=["0f" * 16])]
"""The id of a push subscription."""


class MarkRead(Body):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"seq": 12}]})

    seq: StrictInt = Field(ge=0, le=LARGEST_SEQ, description="The number of the newest event that was seen.")


class Unread(BaseModel):
    unread: int = Field(description="Messages that the session's owner has not read.")


class PushKeyOut(BaseModel):
    key: str = Field(description="The `applicationServerKey` to subscribe with, in base64url.")


class DeviceKeys(Body):
    """Of the device, in base64url."""

    p256dh: str = Field(pattern=_BASE64, max_length=200)
    auth: str = Field(pattern=_BASE64, max_length=100)


class PushSubscriptionIn(Body):
    """A push subscription, as `PushSubscription.toJSON()` gives it in a browser."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_EXAMPLE]})

    endpoint: str = Field(min_length=1, max_length=2_000)
    keys: DeviceKeys
    expirationTime: float | None = None
    """Not used: the push service says when a subscription has ended."""


class SubscriptionOut(BaseModel):
    id: DeviceId
