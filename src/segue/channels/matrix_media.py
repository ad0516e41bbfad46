"""Media on Matrix: the files of an event, their upload and download, and what its errors mean."""

from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from io import BytesIO
from typing import Any
from urllib.parse import quote, urlsplit

import aiohttp
from nio import AsyncClient, ErrorResponse, Event, RoomMessageFile, RoomMessageImage, UploadResponse

from segue.model.channel import IncomingFile, NotTaken, Rejected, Unreachable
from segue.model.files import File

_DOWNLOAD = "/_matrix/client/v1/media/download/{server}/{media}"


class MatrixMedia:
    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    def files_in(self, event: Event) -> tuple[IncomingFile, ...]:
        """The image or the file of an event."""
        if not isinstance(event, RoomMessageImage | RoomMessageFile) or not event.url.startswith("mxc://"):
            return ()
        size = _content(event).get("info", {}).get("size")
        return (
            IncomingFile(
                name=str(_content(event).get("filename") or event.body),
                size=size if isinstance(size, int) else None,
                fetch=partial(self._download, event.url),
            ),
        )

    async def _download(self, address: str, most: int) -> bytes:
        at = urlsplit(address)
        path = _DOWNLOAD.format(server=quote(at.netloc), media=quote(at.path.strip("/")))
        headers = {"Authorization": f"Bearer {self._client.access_token}"}
        try:
            response = await self._client.send("GET", path, headers=headers)
            async with response:
                if response.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                    raise ConnectionError(f"the homeserver answered {response.status}")
                if response.status == HTTPStatus.TOO_MANY_REQUESTS:
                    raise NotTaken("the homeserver asks for a pause")
                if response.status != HTTPStatus.OK:
                    raise Rejected(f"the homeserver does not give it out ({response.status}); send it again")
                return await _read(response, most)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise connection_error(error) from None

    async def upload(self, file: File, data: bytes) -> dict[str, Any]:
        """Upload a file, and return the content of the event that shows it.

        A repeat uploads it again: what counts is that the event is sent once.
        """
        try:
            answer, _ = await self._client.upload(
                BytesIO(data), content_type=file.media_type, filename=file.name, filesize=len(data)
            )
        except (aiohttp.ClientError, TimeoutError) as error:
            raise Unreachable(str(connection_error(error))) from None  # no event was sent yet
        if not isinstance(answer, UploadResponse):
            raise to_send_error(answer)
        return {
            "msgtype": "m.image" if file.type == "image" else "m.file",
            "body": file.name,
            "filename": file.name,
            "url": answer.content_uri,
            "info": {"mimetype": file.media_type, "size": file.size},
        }


async def _read(response: aiohttp.ClientResponse, most: int) -> bytes:
    received = bytearray()
    async for piece in response.content.iter_any():
        received += piece
        if len(received) >= most:
            break
    return bytes(received[:most])


def caption_of(event: Event) -> str:
    """The words beside a file: its body, if that is not the name of the file."""
    name = _content(event).get("filename")
    body: str = event.body
    return body if name and name != body else ""


def _content(event: Event) -> Mapping[str, Any]:
    content: Mapping[str, Any] = event.source.get("content", {})
    return content


def connection_error(error: Exception) -> Exception:
    if isinstance(error, aiohttp.ClientConnectorError):
        return Unreachable("the homeserver cannot be reached")
    return ConnectionError(f"the connection to the homeserver broke ({type(error).__name__})")


def to_send_error(answer: ErrorResponse) -> Exception:
    match answer.status_code:
        case "M_LIMIT_EXCEEDED":
            return NotTaken(
                "the homeserver asks for a pause", retry_after=(answer.retry_after_ms or 1000) / 1000
            )
        case "M_UNKNOWN_TOKEN" | "M_MISSING_TOKEN":
            return Unreachable("the homeserver does not know the token")
        case "M_FORBIDDEN" | "M_NOT_FOUND" | "M_TOO_LARGE" | "M_BAD_JSON":
            return Rejected(f"the homeserver refused it: {answer.message}")
        case _:
            return ConnectionError(f"the homeserver answered {answer.status_code or answer.message}")
