"""Built-in channels, one file each.

Importing this package is cheap: a network's library is imported when its channel is made.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from segue.channels.terminal import Terminal
from segue.channels.websocket import WebSocket
from segue.extras import needed_for
from segue.model.channel import Channel, Door, Stored

if TYPE_CHECKING:
    from segue.config import Configuration


def make_channels(configuration: "Configuration") -> list[Channel]:
    """Return the channels that the settings name, and the WebSocket and the terminal, which always exist."""
    return [WebSocket(), Terminal(), *map(Stored, configuration.read_channels), *_networks(configuration)]


def _networks(configuration: "Configuration") -> Iterator[Channel]:
    telegram, matrix = configuration.telegram, configuration.matrix
    if telegram.token is not None:
        with needed_for("Telegram", "telegram"):
            from segue.channels.telegram import Telegram, Webhook

        webhook = None
        if telegram.webhook_url is not None and telegram.webhook_secret is not None:
            webhook = Webhook(url=telegram.webhook_url, secret=telegram.webhook_secret.reveal())
        yield Telegram(
            telegram.token.reveal(),
            url=telegram.url,
            webhook=webhook,
            door=Door(allow=frozenset(telegram.allow), pairing=telegram.pairing),
            reply_buttons=telegram.reply_buttons,
        )
    if matrix.token is not None:
        with needed_for("Matrix", "matrix"):
            from segue.channels.matrix import Matrix

        yield Matrix(
            matrix.url or "",
            matrix.user or "",
            matrix.token.reveal(),
            door=Door(allow=frozenset(matrix.allow), pairing=matrix.pairing),
        )
