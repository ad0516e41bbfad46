"""How a time is refused: one sentence with the reason, and a wording that works."""

from segue.errors import BadTime

SHOWN = 60
"""How much of the caller's own text a refusal repeats, in characters."""


def refuse(reason: str, *instead: str) -> BadTime:
    return BadTime(f"{reason}; write for example {' or '.join(quoted(wording) for wording in instead)}")


def quoted(text: str) -> str:
    return f'"{text}"' if len(text) <= SHOWN else f'"{text[:SHOWN]}…"'
