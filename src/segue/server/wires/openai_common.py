"""OpenAI wire, shared part: its errors, its one model, and counts of tokens."""

from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from sse_starlette import ServerSentEvent

from segue.server.error_responses import Refused
from segue.server.request_context import AuthenticatedRequest
from segue.server.schemas.common import Problem
from segue.server.wires.conversation import sse, wire_route
from segue.server.wires.turn_steps import TurnOver

MODEL = "segue"

_KINDS = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 409: "conflict_error"}


def error_body(status: int, code: str, message: str, field: str | None = None) -> dict[str, Any]:
    kind = _KINDS.get(status) or ("invalid_request_error" if status < 500 else "server_error")
    return {"error": {"message": message, "type": kind, "param": field, "code": code}}


def _body(problem: Problem) -> dict[str, Any]:
    return error_body(problem.status, problem.code, problem.detail, problem.field)


def _respond(problem: Problem) -> JSONResponse:
    status = 400 if problem.status == 422 else problem.status
    headers = {}
    if problem.code in ("turn_failed", "turn_stopped", "still_running"):
        # The client retries 5xx by itself; the message is in the session already and would be sent twice.
        headers["x-should-retry"] = "false"
    return JSONResponse(_body(problem), status, headers)


def failure_frame(problem: Problem) -> ServerSentEvent:
    return sse(_body(problem))


OpenAiRoute = wire_route(_respond)

_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "type", "param", "code"],
            "properties": {
                "message": {"type": "string"},
                "type": {"type": "string"},
                "param": {"type": ["string", "null"]},
                "code": {"type": ["string", "null"]},
            },
        }
    },
}

ERRORS: dict[int | str, dict[str, Any]] = {
    "4XX": {
        "description": "An error in OpenAI's shape.",
        "content": {"application/json": {"schema": _ERROR}},
    }
}

router = APIRouter(route_class=OpenAiRoute, tags=["Wires: OpenAI"], responses=ERRORS)


def check_model(model: str) -> None:
    if model != MODEL:
        raise Refused(404, "model_not_found", f"model: there is no model {model}; use {MODEL}")


def check_answered(over: TurnOver) -> None:
    """Raises Refused for a turn that has no answer to return."""
    if over.failed:
        raise Refused(502, "turn_failed", over.notice)
    if over.stopped and not over.text:
        raise Refused(409, "turn_stopped", over.notice)


def _model(created: int) -> dict[str, Any]:
    return {"id": MODEL, "object": "model", "created": created, "owned_by": "segue"}


@router.get("/v1/models", summary="List models", operation_id="openai_list_models")
async def list_models(request: AuthenticatedRequest) -> dict[str, Any]:
    """List the one model of this server: its agent."""
    return {"object": "list", "data": [_model(request.kernel.clock.ms() // 1000)]}


@router.get("/v1/models/{model}", summary="Get a model", operation_id="openai_get_model")
async def get_model(model: str, request: AuthenticatedRequest) -> dict[str, Any]:
    check_model(model)
    return _model(request.kernel.clock.ms() // 1000)
