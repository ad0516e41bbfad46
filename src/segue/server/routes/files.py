"""Routes of files: upload a file to a session, download it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Path, Query, Response
from starlette.datastructures import UploadFile

from segue.server.error_responses import Refused, responses
from segue.server.request_context import AppState, AuthenticatedRequest, AuthenticatedRoute, IdempotencyKey
from segue.server.routes.sessions import KeyInPath
from segue.server.schemas import files

router = APIRouter(route_class=AuthenticatedRoute, tags=["Files"], responses=responses(400, 401, 403, 422))

MOST_UPLOADS = 32
"""At once, in one process: each is held in memory until it is stored."""

_HEADERS = {
    # The bytes come from a user. A browser must save them, not show them, and must not guess what they are.
    "Content-Security-Policy": "default-src 'none'; sandbox; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
}
_BINARY = {"type": "string", "format": "binary"}
_CONTENT = {
    "application/octet-stream": {"schema": _BINARY},
    "multipart/form-data": {
        "schema": {"type": "object", "properties": {"file": _BINARY}, "required": ["file"]}
    },
}


@router.post(
    "/sessions/{key}/files",
    summary="Upload a file",
    status_code=201,
    responses=responses(404, 409, 413, 503),
    openapi_extra={"requestBody": {"required": True, "content": _CONTENT}},
)
async def upload_file(
    key: KeyInPath,
    request: AuthenticatedRequest,
    idempotency_key: IdempotencyKey = None,
    name: Annotated[str, Query(description="The file's name. It is made safe.", examples=["photo.png"])] = "",
) -> files.PartOut:
    """Store a file, to be sent with a message. The body is the file itself, or a form with one file.

    Creates the session if it does not exist. The type is found from the content: neither the name nor the
    header `Content-Type` is believed. The answer is a part: put it into `parts` of a message.
    """
    await request.may_open(key)
    with _counted(request.app_state):
        named, content = await uploaded(request, request.kernel.files.most_bytes)
        stored = await request.kernel.files.add(
            key,
            name or named,
            content,
            owner=request.owner,
            # A form that is sent again has another boundary.
            request=await request.idempotency(idempotency_key, content),
        )
    return files.part(stored)


async def uploaded(request: AuthenticatedRequest, most: int) -> tuple[str, bytes]:
    """The name, if the body says one, and the content, of at most so many bytes. Raises `Refused`."""
    if not request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        content = await request.body()
        name = ""
    else:
        async with request.form(max_files=1, max_fields=10) as form:
            given = [value for value in form.values() if isinstance(value, UploadFile)]
            if not given:
                raise Refused(
                    422, "no_file", "the form has no file; send one, such as curl -F file=@photo.png"
                )
            name, content = given[0].filename or "", await given[0].read()
    if len(content) > most:
        raise Refused(413, "too_large", f"a file may have {most:,} bytes, got {len(content):,}")
    return name, content


@contextmanager
def _counted(state: AppState) -> Iterator[None]:
    if state.uploads >= MOST_UPLOADS:
        raise Refused(503, "busy", f"{MOST_UPLOADS} files are being uploaded; try again in a few seconds")
    state.uploads += 1
    try:
        yield
    finally:
        state.uploads -= 1


@router.get(
    "/files/{file_id}",
    summary="Download a file",
    response_class=Response,
    responses={
        200: {"description": "The content of the file.", "content": {"*/*": {}}},
        **responses(404),
    },
)
async def download_file(
    file_id: Annotated[str, Path(max_length=200, pattern=r"^[^\x00]+$")], request: AuthenticatedRequest
) -> Response:
    """Return a file as an attachment, never to be shown in place."""
    file = await request.kernel.files.get(file_id, owner=request.owner)
    content = await request.kernel.files.read(file, owner=request.owner)
    return Response(
        content,
        media_type=file.media_type,
        headers={**_HEADERS, "Content-Disposition": attachment(file.name)},
    )


def attachment(name: str) -> str:
    """A header that saves under a name: in ASCII for old programs, and in full (RFC 6266)."""
    plain = "".join(each if each.isascii() and each not in '"\\' else "_" for each in name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
