"""Zone lookup: finds the time zone that a user means by `Berlin`, `Europe/Berlin` or `UTC+2`.

Abbreviations such as `EST` or `IST` are not accepted: they mean several places, or only half of the year.
"""

import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from zoneinfo import available_timezones

from segue.times.cron_line import zone_named

_REGIONS = (
    "Africa",
    "America",
    "Antarctica",
    "Arctic",
    "Asia",
    "Atlantic",
    "Australia",
    "Europe",
    "Indian",
    "Pacific",
)
_OFFSET = re.compile(r"(?:utc|gmt)?\s?([+-])\s?([0-9]{1,2})(?::?00)?")


def zone_called(words: str) -> str | None:
    """Returns the IANA name of a zone by its name, its city, or whole hours from UTC; None if unknown."""
    if offset := _OFFSET.fullmatch(words.strip().casefold()):
        return _fixed(offset[1], int(offset[2]))
    return _by_name().get(_plain(words))


def _fixed(sign: str, hours: int) -> str | None:
    """In the zone database the signs are reversed: `Etc/GMT-2` is two hours ahead of UTC."""
    if hours == 0:
        return "UTC"
    name = f"Etc/GMT{'-' if sign == '+' else '+'}{hours}"
    return name if zone_named(name) else None


@cache
def _by_name() -> Mapping[str, str]:
    known = sorted(name for name in available_timezones() if _means_one_place(name))
    names = {_plain(name): name for name in known}
    for name in known:
        region, _, city = name.partition("/")
        if region in _REGIONS:
            names.setdefault(_plain(city.rpartition("/")[2]), name)
    return names


def _means_one_place(name: str) -> bool:
    return name in ("UTC", "GMT") or (not name.isupper() and zone_named(name) is not None)


def _plain(words: str) -> str:
    """In lower case, without accents, and with single spaces."""
    letters = unicodedata.normalize("NFKD", words.casefold())
    letters = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return " ".join(re.sub(r"[_\s.-]+", " ", letters).split())
