"""Routes of login: exchange a key for a cookie that scripts cannot read."""

from fastapi import APIRouter, Request, Response

from segue.server.auth import COOKIE, COOKIE_SECONDS, Caller, uses_tls
from segue.server.error_responses import Refused, responses
from segue.server.request_context import app_state
from segue.server.schemas import system

router = APIRouter(prefix="/auth", tags=["Login"], responses=responses(400, 401, 403, 422))


@router.post("/session", summary="Log in", responses=responses(413))
async def log_in(body: system.Login, request: Request, response: Response) -> system.CallerOut:
    """Set a cookie that is valid for 12 hours, or until the key is removed."""
    state = app_state(request)
    caller = state.keys.caller_by_key(body.key)
    if caller is None:
        raise Refused(401, "unauthorized", "this server does not know that key")
    cookie = state.keys.cookie_for(body.key, state.kernel.clock.ms())
    response.set_cookie(
        COOKIE,
        cookie,
        max_age=COOKIE_SECONDS,
        path="/",
        httponly=True,
        samesite="strict",
        secure=uses_tls(request),
    )
    return _caller_out(caller, state.model.name)


@router.get("/session", summary="Get the current caller")
async def get_caller(request: Request) -> system.CallerOut:
    state = app_state(request)
    return _caller_out(await state.caller(request), state.model.name)


@router.delete("/session", summary="Log out", status_code=204, response_class=Response)
async def log_out(request: Request) -> Response:
    """Delete the cookie."""
    response = Response(status_code=204)
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict", secure=uses_tls(request))
    return response


def _caller_out(caller: Caller, model: str | None) -> system.CallerOut:
    return system.CallerOut(
        account=caller.owner.account, user=caller.owner.user, role=caller.role.value, model=model
    )
