"""Routes of guests: the senders of channels that the settings do not name."""

from typing import Annotated, TypeAlias

from fastapi import APIRouter, Path

from segue.model.records import Owner
from segue.server.auth import Caller, require_admin
from segue.server.error_responses import Refused, responses
from segue.server.paging import Limit
from segue.server.request_context import AuthenticatedRequest, AuthenticatedRoute
from segue.server.schemas import guests

router = APIRouter(
    prefix="/guests", route_class=AuthenticatedRoute, tags=["Guests"], responses=responses(400, 401, 403, 422)
)

Name: TypeAlias = Annotated[str, Path(min_length=1, max_length=200, pattern=r"^[^\x00]+$")]


@router.get("", summary="List guests")
async def list_guests(request: AuthenticatedRequest, limit: Limit = 100) -> guests.GuestsOut:
    """List the senders that the settings do not name, by channel: allowed by a code, or asking. Requires a
    key of the default account with the role admin, as every route of guests does."""
    _check(request.caller)
    found = await request.kernel.guests.list(limit=limit)
    return guests.GuestsOut(guests=[guests.guest_out(each) for each in found])


@router.post("/allow", summary="Allow a guest", responses=responses(404, 413))
async def allow_guest(body: guests.AllowGuest, request: AuthenticatedRequest) -> guests.GuestOut:
    """Allow the sender that was given this code."""
    _check(request.caller)
    return guests.guest_out(await request.kernel.guests.allow(body.code, user=body.user))


@router.patch("/{channel}/{sender:path}", summary="Bind a guest to a user", responses=responses(413))
async def bind_guest(
    channel: Name, sender: Name, body: guests.BindGuest, request: AuthenticatedRequest
) -> guests.GuestOut:
    """Make a user the owner of a sender's private chats, from the next message on. It does not allow the
    sender."""
    _check(request.caller)
    return guests.guest_out(await request.kernel.guests.bind(channel, sender, user=body.user))


@router.delete("/{channel}/{sender:path}", summary="Delete a guest", responses=responses(404))
async def delete_guest(channel: Name, sender: Name, request: AuthenticatedRequest) -> guests.GuestOut:
    """Remove a sender's permission, or its pairing code."""
    _check(request.caller)
    return guests.guest_out(await request.kernel.guests.delete(channel, sender))


def _check(caller: Caller) -> None:
    """Channels belong to the default account."""
    require_admin(caller)
    if caller.owner.account != Owner().account:
        raise Refused(403, "forbidden", "channels belong to the default account; use a key of it")
