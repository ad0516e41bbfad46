"""Settings of the Telegram and Matrix channels: the account to use, and the allowed senders."""

import re
from typing import Annotated, Any
from urllib.parse import urlsplit

from segue.config.parts import Part, Secret, Wanted
from segue.config.readers import listed, secret, text
from segue.config.values import Switch
from segue.record import record


def _address(value: Any) -> str:
    url = text()(value)
    if not (re.fullmatch(r"https?://[^\s/?#@]+(/[^\s?#]*)?", url) and _has_host(url)):
        raise ValueError("it is no address")
    return url


def _has_host(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port beyond 65535, or a bracket that is not closed
        return False


_ADDRESS = Wanted("an address such as 'https://example.org', without a password", _address)
Address = Annotated[str, _ADDRESS]
MaybeAddress = Annotated[str | None, _ADDRESS]
People = Annotated[
    tuple[str, ...],
    Wanted(
        'a JSON list of ids, such as ["12345"], or ["*"] for all senders',
        listed(text(least=1, most=200)),
        json=True,
    ),
]


@record
class TelegramPart(Part):
    token: Annotated[Secret | None, Wanted("the token that Telegram gave the bot", secret())] = None
    """If set, `segue serve` sends and receives as this bot."""
    url: Address = "https://api.telegram.org"
    """The URL of the Bot API."""
    webhook_url: MaybeAddress = None
    """The URL at which Telegram reaches `/webhooks/telegram` of this server. Unset: long polling."""
    webhook_secret: Annotated[Secret | None, Wanted("a word of letters, digits, _ and -", secret())] = None
    """Authenticates the calls of Telegram."""
    allow: People = ()
    """Ids of the senders that are answered; others are ignored."""
    pairing: Switch = False
    """Whether other senders get a pairing code, with which an operator can admit them."""
    reply_buttons: Switch = False
    """Whether a job's message has the buttons Snooze, Skip and Stop."""

    @property
    def missing(self) -> str | None:
        """A sentence about settings that are missing, or None."""
        if (self.webhook_url is None) == (self.webhook_secret is None):
            return None
        return "telegram.webhook_url and telegram.webhook_secret are set together, or not at all"


@record
class MatrixPart(Part):
    url: MaybeAddress = None
    """The URL of the homeserver."""
    user: Annotated[str | None, Wanted("a full user id such as '@bot:example.org'", text())] = None
    token: Annotated[Secret | None, Wanted("an access token of that user", secret())] = None
    """If set, `segue serve` sends and receives as this user. A new token ends the detection of repeats."""
    allow: People = ()
    """Full ids of the senders that are answered; others are ignored."""
    pairing: Switch = False
    """Whether other senders get a pairing code, with which an operator can admit them."""

    @property
    def missing(self) -> str | None:
        """A sentence about settings that are missing, or None."""
        if self.token is None or (self.url is not None and self.user is not None):
            return None
        return "matrix.token needs matrix.url and matrix.user; set them too"
