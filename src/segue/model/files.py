"""Files of a message: what a file is, by its bytes; its name, made safe; and its estimated tokens.

The type is decided by the content alone. The name that a client gives, and the media type that it claims, are
not believed: a browser or a model would otherwise be told that a script is an image.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

from segue.record import record

MOST_PARTS = 20
"""Files of one message."""
IMAGE_TOKENS = 1_500
"""About what providers count for an image that they scale down."""
DOCUMENT_TOKENS = 3_000
"""For a file that is neither an image nor text: a provider that reads it counts by its pages."""
MOST_TEXT_BYTES = 200_000
"""A longer text file is cut before a model gets it."""

IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""The images that model providers take."""
TEXT = "text/plain"
PDF = "application/pdf"
UNKNOWN = "application/octet-stream"

_LONGEST_NAME = 100
_EXTENSIONS = {
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/gif": ".gif",
    "image/webp": ".webp",
    TEXT: ".txt",
    PDF: ".pdf",
    "application/zip": ".zip",
}
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)
_NOT_IN_NAMES = re.compile(r'[<>:;"|?*%]')
_CONTROLS = re.compile("[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f]")


@record
class File:
    """A file of a session, and a part of each message that it was sent with."""

    id: str
    name: str
    """Safe to save under: no folder, no control character."""
    media_type: str
    """By its content."""
    size: int
    """Bytes."""

    @property
    def type(self) -> str:
        """`image` for what a model can look at, else `file`."""
        return "image" if self.media_type in IMAGE_TYPES else "file"

    @property
    def tokens(self) -> int:
        """An estimate of what a model reads of it."""
        if self.type == "image":
            return IMAGE_TOKENS
        return ceil(min(self.size, MOST_TEXT_BYTES) / 4) if self.media_type == TEXT else DOCUMENT_TOKENS

    def to_json(self) -> dict[str, Any]:
        return {
            "type": self.type,
            "media_type": self.media_type,
            "name": self.name,
            "id": self.id,
            "size": self.size,
        }


def file_from_json(data: Mapping[str, Any]) -> File:
    return File(id=data["id"], name=data["name"], media_type=data["media_type"], size=data["size"])


def files_from_json(data: Sequence[Mapping[str, Any]]) -> tuple[File, ...]:
    return tuple(map(file_from_json, data))


def text_of(files: Sequence[File]) -> str:
    """The text of a message without words: the names of its files."""
    return ", ".join(f"[{file.name}]" for file in files)


def media_type_of(data: bytes) -> str:
    """What the bytes are. Markup and scripts are plain text, and what is not known is a row of bytes."""
    head = data[:16]
    if head.startswith(b"\x89PNG\r\n\x1a\n") and head[12:16] == b"IHDR":
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if head.startswith(b"RIFF"):
        return {b"WEBP": "image/webp", b"WAVE": "audio/wav"}.get(head[8:12], UNKNOWN)
    if head[4:8] == b"ftyp":
        return "video/mp4"
    for magic, media_type in _MAGIC:
        if head.startswith(magic):
            return media_type
    return TEXT if _is_text(data) else UNKNOWN


_MAGIC = (
    (b"%PDF-", PDF),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"OggS", "audio/ogg"),
    (b"ID3", "audio/mpeg"),
)


def _is_text(data: bytes) -> bool:
    try:
        return not _CONTROLS.search(data.decode())
    except UnicodeDecodeError:
        return False


def safe_name(name: str, media_type: str) -> str:
    """The last part of a path, without what a file system, a terminal or a header could misread."""
    name = unicodedata.normalize("NFC", re.split(r"[/\\]", name)[-1])
    # Cc, Cf, Cs, Co, Cn: control characters, invisible ones that turn the reading order, and no characters.
    name = "".join(" " if unicodedata.category(each)[0] in "CZ" else each for each in name)
    name = " ".join(_NOT_IN_NAMES.sub("_", name).split()).strip(". ")
    if not name:
        return f"file{_EXTENSIONS.get(media_type, '.bin')}"
    if _RESERVED.match(name):
        name = f"_{name}"
    return _shortened(name)


def _shortened(name: str) -> str:
    if len(name) <= _LONGEST_NAME:
        return name
    stem, dot, extension = name.rpartition(".")
    ending = f"{dot}{extension}" if stem and len(extension) <= 10 else ""
    return name[: _LONGEST_NAME - len(ending)].rstrip(". ") + ending
