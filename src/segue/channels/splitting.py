"""A long text in several messages, cut where a reader would cut it.

Invariants
  - no piece is longer than the channel allows, and none is empty
  - a piece ends at the end of a paragraph, else of a line, else of a sentence, else between words; only a
    word that is longer than a message is cut inside
  - a block of code that is cut is closed in one piece and opened again in the next
"""

import re

_ENDS = (re.compile(r"\n\s*\n"), re.compile(r"\n"), re.compile(r"(?<=[.!?…。！？])\s"), re.compile(r"\s"))
_FENCE = re.compile(r"^(```|~~~)[^\n]*$", re.MULTILINE)


def split(text: str, longest: int) -> list[str]:
    pieces: list[str] = []
    left = text.strip()
    while len(left) > longest:
        # Room for the closing fence, should the cut fall into a block of code.
        end = _end(left, longest - len("\n```"))
        piece, left = left[:end].rstrip(), left[end:].lstrip("\n")
        fence = _open_fence(piece)
        if fence is not None:
            piece = f"{piece}\n{fence[:3]}"
            left = f"{fence}\n{left}"
        else:
            left = left.lstrip()
        pieces.append(piece)
    return [*pieces, left] if left else pieces


def _end(text: str, longest: int) -> int:
    """Of those that leave a piece at least half full, the best place to end it."""
    for kind in _ENDS:
        ends = [found.start() for found in kind.finditer(text, longest // 2, longest)]
        if ends:
            return ends[-1] + 1 if kind is _ENDS[2] else ends[-1]
    return longest


def _open_fence(piece: str) -> str | None:
    """The line that opened a block of code which this piece does not close."""
    opened: str | None = None
    for found in _FENCE.finditer(piece):
        opened = None if opened is not None else found[0]
    return opened if opened is None or len(opened) < 40 else opened[:3]
