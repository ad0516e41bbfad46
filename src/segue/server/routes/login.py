"""Logging in: a page exchanges its user's key for a cookie that no script can read."""

from fastapi import APIRouter, Request, Response

from segue.server.auth import COOKIE, COOKIE_SECONDS, Caller, secure
from segue.server.error_responses import Refused, responses
from segue.server.request_context import app_state
from segue.server.schemas import common

router = APIRouter(prefix="/auth", tags=["Login"], responses=responses(400, 401, 403, 422))


@router.post("/session", summary="Log in", responses=responses(413))
async def log_in(body: common.Login, request: Request, response: Response) -> common.Who:
    """Sets a cookie for half a day. It ends with the key."""
    house = app_state(request)
    caller = house.keys.caller_of(body.key)
    if caller is None:
        raise Refused(401, "unauthorized", "this server does not know that key")
    cookie = house.keys.cookie_for(body.key, house.kernel.clock.ms())
    response.set_cookie(
        COOKIE,
        cookie,
        max_age=COOKIE_SECONDS,
        path="/",
        httponly=True,
        samesite="strict",
        secure=secure(request),
    )
    return _who(caller)


@router.get("/session", summary="Who am I?")
async def who_am_i(request: Request) -> common.Who:
    return _who(app_state(request).caller(request))


@router.delete("/session", summary="Log out", status_code=204, response_class=Response)
async def log_out(request: Request) -> Response:
    """The cookie is taken away."""
    response = Response(status_code=204)
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict", secure=secure(request))
    return response


def _who(caller: Caller) -> common.Who:
    return common.Who(account=caller.owner.account, user=caller.owner.user, role=caller.role.value)
