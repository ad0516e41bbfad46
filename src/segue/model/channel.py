"""The channel protocol: how a session exchanges messages with a chat network or another surface.

The first part of a session's key names its channel. A channel sends messages (`send`), brings them in
(`receive`) and declares what it can do. Surfaces that read the log themselves, such as a page or a terminal,
need no sending: for them stored is sent (`Stored`).
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Any, Protocol

from segue.model.records import Delivery
from segue.record import positional, record


class NotTaken(Exception):
    """Raised by a channel that refused a message before taking it, so that a retry cannot send it twice."""

    def __init__(self, reason: str, *, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


class Unreachable(NotTaken):
    """The receiver could not be reached. The delivery is retried for a day."""


class Rejected(NotTaken):
    """The message will never be accepted: the chat is gone, or has blocked us. It is not retried."""


class Markdown(StrEnum):
    """How a channel shows emphasis, lists and code."""

    PLAIN = "plain"
    """Not at all: the text is shown as written."""
    COMMON = "common"
    """As CommonMark."""
    HTML = "html"
    """As a subset of HTML; the channel translates."""


@record
class Capabilities:
    """What a channel can do."""

    idempotent: bool = False
    """Sending the same delivery id twice delivers once."""
    stored: bool = False
    """Its readers read the log: a stored message counts as sent, and `send` is not called."""
    edits: bool = False
    """A sent message can be edited, so an answer can be shown while it is written."""
    longest: int | None = None
    """Characters in one message. The channel splits longer ones."""
    markdown: Markdown = Markdown.PLAIN
    groups: bool = False
    """It supports groups, not only private chats."""
    files: bool = False
    """It sends the files of a delivery (`parts`). Other channels get their names in the text."""
    per_second: float | None = None
    """Messages that it accepts per second, in all chats together."""
    buttons: bool = False
    """It shows buttons under a job's message, and a tap arrives as the reply that the button stands for."""


@positional
class Receipt:
    """The channel accepted the message. `message_id` is the channel's own id of it, if it has one."""

    message_id: str | None = None
    part_ids: tuple[str, ...] = ()
    """The ids of all parts, if it was sent in several."""

    @property
    def all_ids(self) -> tuple[str, ...]:
        return self.part_ids or ((self.message_id,) if self.message_id is not None else ())


@record
class IncomingFile:
    """An image or a file that arrived with a message. It is fetched after its sender was admitted."""

    name: str
    fetch: Callable[[int], Awaitable[bytes]]
    """Returns the content, of which no more bytes are wanted than given: a longer one may be cut after them.
    Raises `Rejected` if it cannot be had, another `NotTaken` or `ConnectionError` if a retry may help."""
    size: int | None = None
    """Bytes, if the network says so."""


@record
class Arrival:
    """A message that arrived through a channel."""

    chat_id: str
    text: str
    id: str | None = None
    """The channel's own id of the message: a second arrival with the same id is ignored."""
    chat_type: str = "private"
    title: str | None = None
    sender: str | None = None
    """The sender, by the channel's own id; None in channels that let every sender in."""
    sender_name: str | None = None
    reply_to: str | None = None
    """The channel's own id of the message that this one quotes."""
    tapped: bool = False
    """It is the tap of a button under the message `reply_to`, whose label is the text."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Where in the chat it was written, such as a topic. The session stores it, and each delivery carries it.
    None as a value removes the name."""
    files: Sequence[IncomingFile] = ()
    """Images and files; the text is then their caption and may be empty."""


class Reception(Protocol):
    """Takes the messages that arrive through a channel."""

    async def take(self, arrival: Arrival) -> str | None:
        """Take a message. When it returns, the message is stored as a turn, was done, or was ignored.

        A returned text is to be sent to the sender at once: the sender is not allowed yet, a file was
        refused, or a tapped button does nothing any more.
        """
        ...

    async def welcomes(self, sender: str) -> bool:
        """Whether this sender may write, or may ask to."""
        ...

    async def mark(self) -> str | None:
        """The channel's read position, as last set by `set_mark`."""
        ...

    async def set_mark(self, mark: str) -> None:
        """Store the channel's read position."""
        ...


@record
class Door:
    """Which senders may write through a channel."""

    allow: frozenset[str] = frozenset()
    """Senders, by the channel's own ids; `*` stands for all."""
    pairing: bool = False
    """Other senders get a code, and an operator allows them by `segue channels allow CODE`."""

    def admits(self, sender: str | None) -> bool:
        return sender is None or sender in self.allow or "*" in self.allow


OPEN = Door(allow=frozenset({"*"}))


class Channel(Protocol):
    """Sends and receives messages for the sessions whose keys begin with its name: `docs/guides/channels.md`.

    Derive from it and override what differs.
    """

    name: str
    """The first part of its sessions' keys."""
    door: Door = OPEN
    """Which senders may write."""

    @property
    def capabilities(self) -> Capabilities:
        """What it can do."""
        return Capabilities()

    async def send(self, delivery: Delivery) -> Receipt:
        """Deliver a message. Raise `NotTaken` if it was not taken; after any other error that is unknown."""
        ...

    async def receive(self, take: Reception) -> None:
        """Bring messages in until cancelled. A channel without incoming messages returns at once."""
        return

    async def show(
        self, chat_id: str, turn_id: str, text: str, *, metadata: Mapping[str, Any] | None = None
    ) -> None:
        """With `edits`: show the text so far of a turn whose answer is sent when it is complete.

        `metadata` is what the delivery of the answer will carry.
        """
        return


class Stored(Channel):
    """A channel whose readers read the log: a page, a terminal, a client of the API. Stored is sent."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(idempotent=True, stored=True, edits=True, markdown=Markdown.COMMON, groups=True)

    async def send(self, delivery: Delivery) -> Receipt:
        return Receipt()


INSIDE = frozenset({"cron", "system", "unified"})
"""The first parts of the keys of Segue's own sessions. No user writes there; their answers are in the log."""

NETWORKS = frozenset({"telegram", "matrix"})
"""The chat networks that Segue supports, configured or not, so that the owner of a key never changes."""


def network_names(channels: Iterable[Channel]) -> frozenset[str]:
    """The channels on which each chat is a user: the networks, and every channel that receives messages."""
    return NETWORKS | {each.name for each in channels if type(each).receive is not Channel.receive}


def stored_names(channels: Iterable[Channel]) -> frozenset[str]:
    """The channels for which a stored message counts as sent."""
    return INSIDE | {channel.name for channel in channels if channel.capabilities.stored}
