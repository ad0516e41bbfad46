"""Message splitting: cuts a long text into messages at paragraphs, lines, sentences or words.

Invariants
  - no piece is longer than the channel allows, and none is empty
  - a piece ends at the end of a paragraph, else of a line, else of a sentence, else between words; only a
    word that is longer than a message is cut inside
  - a code block that is cut is closed in one piece and opened again in the next
"""

import re

_ENDS = (re.compile(r"\n\s*\n"), re.compile(r"\n"), re.compile(r"(?<=[.!?…。！？])\s"), re.compile(r"\s"))
_FENCE = re.compile(r"^(```|~~~)[^\n]*$", re.MULTILINE)


def split(text: str, longest: int) -> list[str]:
    """Return the pieces, each at most `longest` characters; none for a blank text."""
    pieces: list[str] = []
    left = text.strip()
    while len(left) > longest:
        # Leave space for the closing fence, in case the cut falls into a code block.
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
    """Return the best index to cut at that leaves the piece at least half full."""
    for kind in _ENDS:
        ends = [match.start() for match in kind.finditer(text, longest // 2, longest)]
        if ends:
            return ends[-1] + 1 if kind is _ENDS[2] else ends[-1]
    return longest


def _open_fence(piece: str) -> str | None:
    """Return the line that opened a code block that the piece does not close, or None."""
    opened: str | None = None
    for match in _FENCE.finditer(piece):
        opened = None if opened is not None else match[0]
    return opened if opened is None or len(opened) < 40 else opened[:3]
