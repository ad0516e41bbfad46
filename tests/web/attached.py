"""Files for tests of the page: pictures, and dropping files on it."""

import struct
import zlib
from base64 import b64encode

from playwright.sync_api import Page

_DROP = """([to, files, kind]) => {
  const data = new DataTransfer();
  for (const { name, type, content } of files) {
    const bytes = Uint8Array.from(atob(content), (each) => each.charCodeAt(0));
    data.items.add(new File([bytes], name, { type }));
  }
  const event = kind === "paste"
    ? new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true })
    : new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true });
  document.querySelector(to).dispatchEvent(event);
}"""


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int = 240, height: int = 160, colour: tuple[int, int, int] = (11, 107, 99)) -> bytes:
    """A picture of one colour."""
    head = _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    pixels = zlib.compress((b"\x00" + bytes(colour) * width) * height)
    return b"\x89PNG\r\n\x1a\n" + head + _chunk(b"IDAT", pixels) + _chunk(b"IEND", b"")


def give(page: Page, files: list[tuple[str, str, bytes]], *, by: str = "drop") -> None:
    """Drop files on the conversation, or paste them into the message field: name, type, content."""
    given = [{"name": name, "type": kind, "content": b64encode(data).decode()} for name, kind, data in files]
    to = "segue-composer textarea" if by == "paste" else "segue-talk .scroll"
    page.evaluate(_DROP, [to, given, by])
