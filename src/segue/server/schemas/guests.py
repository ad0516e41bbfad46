"""Models of guests: the senders of channels, in requests and responses."""

from pydantic import BaseModel, ConfigDict, Field

from segue.kernel.api.guests import Guest
from segue.server.schemas import views
from segue.server.schemas.body import Body
from segue.server.schemas.common import Moment, Name


class AllowGuest(Body):
    code: str = Field(min_length=1, max_length=50, pattern=r"^[^\x00]+$")
    user: Name | None = Field(None, description="The user that will own the sender's private chats.")

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"code": "K7QX2M"}]})


class BindGuest(Body):
    user: Name = Field(description="The user that will own the sender's private chats.")

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"user": "ana"}]})


class GuestOut(BaseModel):
    channel: str = Field(examples=["telegram"])
    sender: str
    name: str | None
    code: str
    allowed: bool
    came_at: Moment
    user: str | None = Field(description="Null: each of the sender's chats is a user of its own.")


class GuestsOut(BaseModel):
    guests: list[GuestOut]


def guest_out(guest: Guest) -> GuestOut:
    return GuestOut(
        channel=guest.channel,
        sender=guest.sender,
        name=guest.name,
        code=guest.code,
        allowed=guest.allowed,
        came_at=views.moment(guest.came_at),
        user=guest.user,
    )
