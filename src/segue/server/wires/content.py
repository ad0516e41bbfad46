"""Content of foreign messages: reads the text, and the images and files that come with it as data URLs. Pure.

A file at an address of another server is refused: to fetch it would let a client make this server send
requests for it.
"""

import base64
import binascii
from typing import Any
from urllib.parse import unquote_to_bytes

from segue.model.files import MOST_PARTS
from segue.record import positional
from segue.server.error_responses import Refused

_TEXTS = ("text", "input_text")


@positional
class GivenFile:
    data: bytes
    name: str = ""
    """Empty if the client gave none."""


@positional
class GivenContent:
    text: str
    files: tuple[GivenFile, ...] = ()


def content_of(content: object) -> GivenContent:
    """The content of a message: a string, or parts, each a text or a file. Raises Refused."""
    if isinstance(content, str):
        return GivenContent(content)
    if not isinstance(content, list):
        raise Refused(422, "invalid", "content: give a text, or a list of parts")
    texts: list[str] = []
    files: list[GivenFile] = []
    for part in content:
        if isinstance(part, dict) and part.get("type") in _TEXTS and isinstance(part.get("text"), str):
            texts.append(part["text"])
        else:
            files.append(_file_in(part))
    if len(files) > MOST_PARTS:
        raise Refused(422, "bad_file", f"content: a message has at most {MOST_PARTS} files, got {len(files)}")
    return GivenContent("\n".join(texts), tuple(files))


def text_only(content: GivenContent) -> str:
    """The text of a message that is stored for later, without files. Raises Refused."""
    if content.files:
        raise Refused(422, "unsupported_content", "content: a scheduled message has no files; give a text")
    return content.text


def _file_in(part: Any) -> GivenFile:
    match part:
        # OpenAI: chat completions, and LangChain, which also gives the address itself; then responses.
        case {"type": "image_url", "image_url": {"url": str(url)} | str(url)}:
            return _from_url(url)
        case {"type": "input_image", "image_url": str(url)}:
            return _from_url(url)
        case {"type": "file", "file": {"file_data": str(data), **more}}:
            return _from_base64(data, more.get("filename"))
        case {"type": "input_file", "file_data": str(data), **more}:
            return _from_base64(data, more.get("filename"))
        # AI SDK.
        case {"type": "file", "url": str(url), **more}:
            return _from_url(url, more.get("filename"))
        # AG-UI, its present form and the one before it.
        case {"source": {"type": "data", "value": str(data)}}:
            return _from_base64(data, None)
        case {"source": {"type": "url", "value": str(url)}}:
            return _from_url(url)
        case {"type": "binary", "data": str(data), **more}:
            return _from_base64(data, more.get("filename"))
        case {"type": "binary", "url": str(url), **more}:
            return _from_url(url, more.get("filename"))
    kind = part.get("type") if isinstance(part, dict) else None
    raise Refused(
        422,
        "unsupported_content",
        f"content: a part of type {kind!r} was given; a text is read here, or a file as a data: URL. Upload "
        "others with POST /sessions/KEY/files, and send them with POST /sessions/KEY/turns",
    )


def _from_url(url: str, name: object = None) -> GivenFile:
    """The file in a data URL (RFC 2397). Raises Refused for any other address."""
    head, comma, data = url.partition(",")
    if not head.lower().startswith("data:"):
        raise Refused(
            422,
            "unsupported_content",
            "content: a file at another address is not fetched; send the file itself, as a data: URL",
        )
    if not comma:
        raise Refused(
            422, "bad_file", "content: a data: URL is data:TYPE;base64,CONTENT; the comma is missing"
        )
    if head.lower().endswith(";base64"):
        return _decoded(data, name)
    return _named(unquote_to_bytes(data), name)


def _from_base64(text: str, name: object) -> GivenFile:
    """A file that is given as base64, or as a data URL."""
    return _from_url(text, name) if ":" in text else _decoded(text, name)


def _decoded(text: str, name: object) -> GivenFile:
    try:
        return _named(base64.b64decode(text, validate=True), name)
    except binascii.Error:
        raise Refused(
            422, "bad_file", "content: the content of a file is not base64; encode it again"
        ) from None


def _named(data: bytes, name: object) -> GivenFile:
    return GivenFile(data, name if isinstance(name, str) else "")
