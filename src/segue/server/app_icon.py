"""App icon: draws Segue's mark as a PNG of any size, for home screens, which take no SVG."""

import struct
import zlib
from functools import cache
from math import hypot

SIZES = (180, 192, 512)
_GROUND = (11, 107, 99)
_MARK = (250, 249, 246)
_GRID = 32
"""The grid of `web/icon.svg`, whose shapes these are."""
_CENTER = 16.0
_HALF_STROKE = 1.5
_WIDEST = 6.0
"""From the middle to the outer edge of the ring."""
_SHRINK = 0.72
"""The mark lies within the part that every system shows, however it cuts the icon."""


@cache
def app_icon(size: int) -> bytes:
    """Return the PNG of this many pixels a side."""
    scale = _GRID / size / _SHRINK
    sharpness = 1 / scale
    reach = round(_WIDEST / scale) + 1
    middle = size // 2
    ground = bytes(_GROUND)
    rows = []
    for y in range(size):
        v = (y + 0.5 - size / 2) * scale + _CENTER
        row = bytearray(b"\0" + ground * size)
        for x in range(max(0, middle - reach), min(size, middle + reach)):
            u = (x + 0.5 - size / 2) * scale
            cover = min(1.0, max(0.0, (_HALF_STROKE - _distance(u, v)) * sharpness + 0.5))
            if cover:
                start = 1 + 3 * x
                row[start : start + 3] = _blend(cover)
        rows.append(bytes(row))
    header = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    data = zlib.compress(b"".join(rows), 9)
    chunks = (_chunk(b"IHDR", header), _chunk(b"IDAT", data), _chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _distance(u: float, v: float) -> float:
    """From the middle of the nearest stroke: a line, a ring and two dots below it. `u` is from the axis."""
    line = hypot(u, max(3.0 - v, 0.0, v - 12.0))
    ring = abs(hypot(u, v - 17.0) - 4.5)
    dots = min(hypot(u, v - 24.55), hypot(u, v - 29.05))
    return min(line, ring, dots)


def _blend(cover: float) -> bytes:
    return bytes(round(below + (above - below) * cover) for below, above in zip(_GROUND, _MARK, strict=True))


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
