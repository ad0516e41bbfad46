"""Redaction: removes secrets from error texts before they are stored or shown."""

import os
import re
from collections.abc import Mapping

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_SECRET = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|key|ghp|hf)[-_][\w-]{8,}"
    r"|(?<=Bearer )[\w.~+/=-]+"
    r"|(?<=/calendar/)[\w%/-]{8,}"
    r"|(?<=://)[^\s/@:]{1,200}:[^\s/@]{1,500}(?=@)"
    r"""|(?<=api_key=)[^\s&]+|(?<=token=)[^\s&]+|(?<=password=)[^\s&]+|(?<=password: )[^\s"',&}]+""",
    re.IGNORECASE,
)
_SHORTEST = 8
_LONG = 16
_KNOWN: set[str] = set()


def remember_secret(secret: str) -> None:
    """From now on, hide this secret in error texts and in the log of this process."""
    _KNOWN.add(secret)


def known_secrets() -> frozenset[str]:
    return frozenset(_KNOWN)


def stands_out(secret: str) -> bool:
    """Whether a secret can be replaced anywhere in a text: a short one of letters only may be any word.

    Such a word is replaced only where it is clearly a secret: in an address, or behind `password=`.
    """
    return len(secret) >= _LONG or (len(secret) >= _SHORTEST and not secret.isalpha())


def redact(text: str, environment: Mapping[str, str] | None = None) -> str:
    """The text without anything that looks like a key, and without the secrets in the environment.

    Providers quote the key that they refuse, some of them completely.
    """
    variables = (os.environ if environment is None else environment).items()
    named = {value for name, value in variables if _SECRET_NAME.search(name)}
    for value in sorted(named | _KNOWN, key=len, reverse=True):
        if stands_out(value):
            text = text.replace(value, "…")
    return _SECRET.sub("…", text)
