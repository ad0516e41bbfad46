"""Refusals: errors that give the reason in one sentence, and show a wording that works.

The reason is in English, the wordings are in the language of the text: a refusal is raised with English
wordings, with `{time}` for the variable part, and the language's table has a translation of each.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime

from segue.errors import BadTime, ZoneNeeded

SHOWN = 60
"""How many characters of the caller's text a refusal repeats."""


class Refusal(BadTime):
    passed: datetime | None = None
    """The moment that was meant, if it is refused only because it is past."""
    readings: tuple[str, ...] = ()
    """The possible meanings, if the text is refused because there are several."""
    exact: tuple[str, ...] = ()
    """How to write each of the readings, where that can replace the whole text."""

    def __init__(self, reason: str, instead: tuple[str, ...], values: Mapping[str, str]) -> None:
        shown = " or ".join(quoted(wording.format_map(values)) for wording in instead)
        super().__init__(f"{reason}; write for example {shown}")
        self._reason, self._instead, self._values = reason, instead, values

    def worded(self, examples: Mapping[str, str]) -> "Refusal":
        """The same refusal with the wordings of another language, as far as it has them."""
        instead = tuple(examples.get(wording, wording) for wording in self._instead)
        refusal = type(self)(self._reason, instead, self._values)
        refusal.passed, refusal.readings, refusal.exact = self.passed, self.readings, self.exact
        return refusal


class NoZone(Refusal, ZoneNeeded):
    """The text is a clock time, and neither it nor the caller names a zone."""


def refuse(reason: str, *instead: str, **values: str) -> Refusal:
    return Refusal(reason, instead, values)


def refuse_ambiguous(reason: str, readings: Iterable[str], *instead: str, **values: str) -> Refusal:
    """A refusal because the text can mean each of the readings."""
    refusal = refuse(reason, *instead, **values)
    refusal.readings = tuple(readings)
    return refusal


def refuse_to_choose(reason: str, readings: Iterable[str], exact: Iterable[str]) -> Refusal:
    """Like `refuse_ambiguous`, with an exact text for each reading that can replace the whole text."""
    exact = tuple(exact)
    refusal = refuse_ambiguous(reason, readings, *exact)
    refusal.exact = exact
    return refusal


def quoted(text: str) -> str:
    return f'"{text}"' if len(text) <= SHOWN else f'"{text[:SHOWN]}…"'
