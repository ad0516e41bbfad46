"""Settings of the Telegram and Matrix channels: the account to use, and the allowed senders."""

import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr

from segue.config.layers import Wanted
from segue.config.values import Strict, Switch


def _address(url: str | None) -> str | None:
    if url is not None and not (re.fullmatch(r"https?://[^\s/?#@]+(/[^\s?#]*)?", url) and _has_host(url)):
        raise ValueError("it is no address")
    return url


def _has_host(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port beyond 65535, or a bracket that is not closed
        return False


Address = Annotated[
    str, AfterValidator(_address), Wanted("an address such as 'https://example.org', without a password")
]
MaybeAddress = Annotated[
    str | None,
    AfterValidator(_address),
    Wanted("an address such as 'https://example.org', without a password"),
]
People = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=200)], ...],
    Wanted('a JSON list of ids, such as ["12345"], or ["*"] for all senders', json=True),
]


class TelegramPart(Strict):
    token: Annotated[SecretStr | None, Wanted("the token that Telegram gave the bot")] = None
    """If set, `segue serve` sends and receives as this bot."""
    url: Address = "https://api.telegram.org"
    """The URL of the Bot API."""
    webhook_url: MaybeAddress = None
    """The URL at which Telegram reaches `/webhooks/telegram` of this server. Unset: long polling."""
    webhook_secret: Annotated[SecretStr | None, Wanted("a word of letters, digits, _ and -")] = None
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


class MatrixPart(Strict):
    url: MaybeAddress = None
    """The URL of the homeserver."""
    user: Annotated[str | None, Wanted("a full user id such as '@bot:example.org'")] = None
    token: Annotated[SecretStr | None, Wanted("an access token of that user")] = None
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
