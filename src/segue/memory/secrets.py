"""Errors as they may be shown: short, and without keys."""

import re

from segue.text import clean

_SECRET = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|key|ghp|hf)[-_][\w-]{8,}"
    r"|(?<=Bearer )[\w.~+/=-]+"
    r"|(?<=://)[^\s/@:]+:[^\s/@]+(?=@)"
    r"|(?<=api_key=)[^\s&]+|(?<=token=)[^\s&]+|(?<=password=)[^\s&]+",
    re.IGNORECASE,
)
_LONGEST = 500


def redacted(error: str) -> str:
    return clean(_SECRET.sub("…", error))[:_LONGEST]
