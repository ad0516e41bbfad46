"""Routes of Web Push: the server's key, and the devices that are told of news."""

import asyncio
from hashlib import sha256
from importlib import import_module
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from segue.agents.tools.registry import ToolRefused
from segue.errors import BadSetting
from segue.extras import needed_for
from segue.model.records import PushSubscription
from segue.server.error_responses import Refused, responses
from segue.server.request_context import AuthenticatedRequest, AuthenticatedRoute
from segue.server.schemas.push import DeviceId, PushKeyOut, PushSubscriptionIn, SubscriptionOut

router = APIRouter(
    prefix="/push", route_class=AuthenticatedRoute, tags=["Push"], responses=responses(400, 401, 403, 422)
)


@router.get("/key", summary="Get the push key", responses=responses(500))
async def get_push_key(request: AuthenticatedRequest) -> PushKeyOut:
    """Return the public key that a browser subscribes with. It is made when it is first asked for."""
    return PushKeyOut(key=await _public_key(request))


@router.post("/subscriptions", summary="Subscribe a device", status_code=201, responses=responses(413, 500))
async def add_push_subscription(body: PushSubscriptionIn, request: AuthenticatedRequest) -> SubscriptionOut:
    """Tell this device of news in the caller's sessions. A repeat changes the subscription.

    The body is what `PushSubscription.toJSON()` gives in a browser. The endpoint must be a public address:
    422 `push_endpoint_refused`. Keys that no browser makes: 422 `push_keys_refused`.
    """
    await _check(body, private=request.app_state.configuration.fetch_private)
    device = PushSubscription(
        id=sha256(body.endpoint.encode("utf-8", "surrogatepass")).hexdigest()[:32],
        owner=request.owner.own,
        endpoint=body.endpoint,
        p256dh=body.keys.p256dh,
        auth=body.keys.auth,
        vapid_key=await _public_key(request),
        site=request.headers.get("origin", ""),
    )
    await request.kernel.push.subscribe(device)
    return SubscriptionOut(id=device.id)


@router.delete(
    "/subscriptions",
    summary="Unsubscribe a device",
    status_code=204,
    response_class=Response,
    responses=responses(404),
)
async def remove_push_subscription(
    request: AuthenticatedRequest,
    id: Annotated[DeviceId, Query(description="As the subscription was answered.")],
) -> Response:
    """Tell this device nothing any more. Do it before logging out."""
    await request.kernel.push.unsubscribe(id, owner=request.owner)
    return Response(status_code=204)


async def _public_key(request: AuthenticatedRequest) -> str:
    vapid = await _module("vapid")
    key_file = vapid.VapidKeyFile(request.app_state.configuration.data)
    try:
        key = await asyncio.to_thread(key_file.read_or_make)
    except BadSetting as error:
        raise Refused(500, "push_key_unreadable", str(error)) from None
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise Refused(500, "not_saved", f"the push key could not be stored: {why}") from None
    return str(key.public)


async def _check(body: PushSubscriptionIn, *, private: bool) -> None:
    encryption, send = await _module("encryption"), await _module("send")
    try:
        encryption.device_key(body.keys.p256dh)
        encryption.auth_secret(body.keys.auth)
    except encryption.BadKeys as error:
        raise Refused(422, "push_keys_refused", f"{error}; subscribe again in the browser") from None
    try:
        await send.check_endpoint(body.endpoint, private=private)
    except ToolRefused as refusal:
        raise Refused(
            422,
            "push_endpoint_refused",
            f"endpoint: {refusal}; send the address that the browser's push service gave",
        ) from None


async def _module(name: str) -> Any:
    """A module that needs the extra `push`. The first import takes time; in a thread it blocks no request."""
    with needed_for("Web Push", "push"):
        return await asyncio.to_thread(import_module, f"segue.server.push.{name}")
