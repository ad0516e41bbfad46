"""Error responses: convert errors to problem+json and choose the HTTP status. Codes are of `segue.errors`."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from segue import errors
from segue.model.redaction import redact
from segue.model.text_checks import clean
from segue.server.schemas.body import BROKEN_RULE, UNION_TAG
from segue.server.schemas.common import Problem

_log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"

_STATUS: Mapping[type[errors.SegueError], int] = {
    errors.Invalid: 422,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.LeaseLost: 409,
    errors.AgentFailed: 502,
    errors.StoreUnavailable: 503,
    errors.DatabaseGone: 503,
    errors.StoreError: 500,
}

_TITLES = {
    400: "Bad request",
    401: "Unauthorized",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    408: "Too slow",
    409: "Conflict",
    413: "Too large",
    415: "Not this format",
    422: "Not valid",
    500: "Internal error",
    502: "The agent failed",
    503: "Not available",
    504: "Not ended in time",
}

_CODES = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
}


class Refused(HTTPException):
    """The server refuses the request. Has a status and an error code."""

    def __init__(
        self, status: int, code: str, detail: str, *, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, detail, dict(headers or {}))
        self.code = code


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """OpenAPI `responses` of a route for these error statuses."""
    refusal = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"description": _TITLES[status], "content": refusal} for status in statuses}


def problem_of(error: Exception) -> Problem:
    match error:
        case RequestValidationError():
            # The first part of a place says where the value was given: in the body, the query, a header.
            first = error.errors()[0]
            return validation_problem({**first, "loc": first["loc"][1:]})
        case Refused():
            return _problem(error.status_code, error.code, error.detail)
        case HTTPException():
            code = _CODES.get(error.status_code, "error")
            return _problem(error.status_code, code, str(error.detail))
        case errors.DaysInUse():
            return _problem(409, error.code, str(error), jobs=list(error.jobs))
        case errors.StoreError():
            # The sentence may name files and servers, which clients must not see.
            detail = "the database could not do it; nothing was promised, try again"
            return _problem(_status_of(error), error.code, detail)
        case errors.Invalid():
            return _problem(422, error.code, str(error), field=error.field)
        case errors.SegueError():
            return _problem(_status_of(error), error.code, str(error))
        case _:
            return _problem(500, "internal", "internal error; see the server's log")


def validation_problem(error: Mapping[str, Any], what: str = "the body") -> Problem:
    """The problem of the first error that pydantic found, which names the field."""
    if error["type"] == "json_invalid":
        return _problem(422, "invalid", "the body is not JSON")
    # A rule about several fields is broken by the model; it says which field to change.
    named = [*error["loc"], *filter(None, [error.get("ctx", {}).get("field")])]
    field = ".".join(str(part) for part in named if not str(part).startswith(UNION_TAG)) or None
    return _problem(422, "invalid", f"{field or what}: {_reason(error)}", field=field)


def _reason(error: Mapping[str, Any]) -> str:
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    message: str = error["msg"]
    return message if error["type"] == BROKEN_RULE else f"{message[:1].lower()}{message[1:]}"


@contextmanager
def naming(fields: Mapping[type[errors.Invalid], str]) -> Iterator[None]:
    """Name the field of a request whose value the kernel refuses, by the class of the error."""
    try:
        yield
    except errors.Invalid as error:
        error.field = next((field for kind, field in fields.items() if isinstance(error, kind)), None)
        raise


def problem_response(problem: Problem, headers: Mapping[str, str] | None = None) -> JSONResponse:
    return JSONResponse(
        problem.model_dump(exclude_none=True), problem.status, dict(headers or {}), media_type=MEDIA_TYPE
    )


def install(app: FastAPI) -> None:
    for kind in (errors.SegueError, HTTPException, RequestValidationError, Exception):
        app.add_exception_handler(kind, _handle)


def log_failure(request: Request, problem: Problem, error: Exception) -> None:
    if problem.status >= 500:
        _log.error("%s %s failed", request.method, redact(request.url.path), exc_info=error)


async def _handle(request: Request, error: Exception) -> JSONResponse:
    problem = problem_of(error)
    log_failure(request, problem, error)
    headers = dict(getattr(error, "headers", None) or {})
    if problem.status == 405:
        headers["Allow"] = ", ".join(_methods_at(request))
    return problem_response(problem, headers)


def _methods_at(request: Request) -> list[str]:
    """The methods of all routes of the path; the route that refused knows only its own."""
    route = request.scope.get("route")
    described = request.app.openapi()["paths"].get(getattr(route, "path_format", ""))
    if described is None:
        return sorted(getattr(route, "methods", None) or {"GET"})
    return [method.upper() for method in described]


async def refuse(refusal: Refused, scope: Scope, receive: Receive, send: Send) -> None:
    """Send a refusal before the request reaches a route."""
    await problem_response(problem_of(refusal), refusal.headers)(scope, receive, send)


def _problem(
    status: int,
    code: str,
    detail: str,
    *,
    field: str | None = None,
    jobs: list[str] | None = None,
) -> Problem:
    title = _TITLES.get(status, "Refused")
    return Problem(
        type="about:blank",
        title=title,
        status=status,
        # A detail may quote what the caller sent, also characters that no response can have.
        detail=clean(detail),
        code=code,
        field=None if field is None else clean(field),
        jobs=jobs,
    )


def _status_of(error: errors.SegueError) -> int:
    return next(status for kind, status in _STATUS.items() if isinstance(error, kind))
