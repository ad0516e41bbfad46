"""The settings of the networks that people talk through: as whom we speak there, and who may."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field, SecretStr

from segue.config.layers import Wanted
from segue.config.values import Strict, Switch


def _address(url: str | None) -> str | None:
    if url is not None and not re.fullmatch(r"https?://[^\s/?#@]+[^\s?#]*", url):
        raise ValueError("it is no address")
    return url


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
    Wanted('a JSON list of ids, such as ["12345"], or ["*"] for everybody', json=True),
]


class TelegramPart(Strict):
    token: Annotated[SecretStr | None, Wanted("the token that Telegram gave the bot")] = None
    """Set, `segue serve` speaks and listens as this bot."""
    url: Address = "https://api.telegram.org"
    """Where the Bot API is."""
    webhook_url: MaybeAddress = None
    """Where Telegram can reach `/webhooks/telegram` of this server. Unset: long polling."""
    webhook_secret: Annotated[SecretStr | None, Wanted("a word of letters, digits, _ and -")] = None
    """By which a call is known to come from Telegram."""
    allow: People = ()
    """Ids of those who may talk to the bot; nobody else is answered."""
    pairing: Switch = False
    """Whether somebody else gets a code to be let in by."""

    @property
    def lacks(self) -> str | None:
        """What is missing beside what is set."""
        if (self.webhook_url is None) == (self.webhook_secret is None):
            return None
        return "telegram.webhook_url and telegram.webhook_secret are set together, or not at all"


class MatrixPart(Strict):
    url: MaybeAddress = None
    """Of the homeserver."""
    user: Annotated[str | None, Wanted("a full user id such as '@bot:example.org'")] = None
    token: Annotated[SecretStr | None, Wanted("an access token of that user")] = None
    """Set, `segue serve` speaks and listens as this user. Keep the same one: repeats are known by it."""
    allow: People = ()
    """Full ids of those who may talk to the bot; nobody else is answered."""
    pairing: Switch = False
    """Whether somebody else gets a code to be let in by."""

    @property
    def lacks(self) -> str | None:
        """What is missing beside what is set."""
        if self.token is None or (self.url is not None and self.user is not None):
            return None
        return "matrix.token needs matrix.url and matrix.user; set them too"
