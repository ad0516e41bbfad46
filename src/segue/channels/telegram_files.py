"""Files on Telegram: which a message has, and how one is downloaded and sent.

Invariant: the token is in no error: a path of the API is never quoted.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import httpx2

from segue.model.channel import NotTaken, Rejected, Unreachable
from segue.model.files import File

LARGEST_PHOTO = 10_000_000
"""Telegram shows larger images as files only."""


class TelegramFile(NamedTuple):
    """A file of a message, by the id under which Telegram gives it out."""

    id: str
    name: str
    size: int | None


def files_in(message: Mapping[str, Any]) -> Iterator[TelegramFile]:
    """The photo and the document of a message. Of a photo Telegram keeps several sizes, the largest last."""
    sizes = message.get("photo")
    if isinstance(sizes, list) and sizes and _is_file(sizes[-1]):
        yield TelegramFile(sizes[-1]["file_id"], "photo.jpg", _size(sizes[-1]))
    document = message.get("document") or {}
    if _is_file(document):
        name = text_or_none(document.get("file_name"))
        yield TelegramFile(document["file_id"], name or "file", _size(document))


async def download(client: httpx2.AsyncClient, url: str, most: int) -> bytes:
    """The first bytes of a file, at most so many. Raises `NotTaken`, `ConnectionError`."""
    received = bytearray()
    try:
        async with client.stream("GET", url) as response:
            if response.status_code >= 500:
                raise ConnectionError(f"Telegram answered {response.status_code}")
            if response.status_code != 200:
                raise Rejected(f"Telegram answered {response.status_code}; send it again")
            async for piece in response.aiter_bytes():
                received += piece
                if len(received) >= most:
                    break
    except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout):
        raise Unreachable("Telegram cannot be reached; send it again later") from None
    except httpx2.HTTPError:
        raise ConnectionError("the download from Telegram broke; send it again") from None
    return bytes(received[:most])


def method_of(file: File) -> tuple[str, str]:
    """The method that sends a file, and the field that has its content."""
    is_photo = file.type == "image" and file.media_type != "image/gif" and file.size <= LARGEST_PHOTO
    return ("sendPhoto", "photo") if is_photo else AS_DOCUMENT


AS_DOCUMENT = ("sendDocument", "document")


def refused_as_photo(refusal: Exception) -> bool:
    """Whether an image was refused for its form, so that it can be sent as a document."""
    text = str(refusal).lower()
    return not isinstance(refusal, NotTaken) and ("photo" in text or "image" in text)


def text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _is_file(value: object) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("file_id"), str)


def _size(value: Mapping[str, Any]) -> int | None:
    size = value.get("file_size")
    return size if isinstance(size, int) else None
