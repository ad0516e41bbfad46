"""A channel: a surface that a session speaks through, named by the first part of the session's key.

A channel takes messages out (`send`) and brings them in (`receive`), and says what it is able to do. Some
surfaces read the log themselves, such as a page or a terminal: for those, stored is sent (`Stored`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any, Protocol

from segue.model.records import Delivery
from segue.record import positional, record


class NotTaken(Exception):
    """The channel refused the message before taking it, so a repeat cannot double it."""

    def __init__(self, reason: str, *, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


class Unreachable(NotTaken):
    """Nobody was there to take it. It is tried again for as long as it may still be of use."""


class Rejected(NotTaken):
    """It will never be taken, however often it is tried: the chat is gone, or does not want us."""


class Markdown(StrEnum):
    """How a channel's readers are shown emphasis, lists and code."""

    PLAIN = "plain"
    """Not at all: the text stands there as it was written."""
    COMMON = "common"
    """As CommonMark says."""
    HTML = "html"
    """As a part of HTML, into which the channel translates."""


@record
class Capabilities:
    idempotent: bool = False
    """Sending the same delivery id twice delivers once."""
    stored: bool = False
    """Its readers look at the log: stored is sent, and nothing is handed to it."""
    edits: bool = False
    """A message can be changed after it was sent, so an answer can be shown while it is being said."""
    longest: int | None = None
    """Characters in one message. What is longer is split by the channel, at a sensible place."""
    markdown: Markdown = Markdown.PLAIN
    groups: bool = False
    """It speaks in groups too, not only with one person."""
    per_second: float | None = None
    """Messages that it takes in a second, in all chats together."""


@positional
class Receipt:
    """The channel took it. `message_id` is its own name for the message, where it has one."""

    message_id: str | None = None


@record
class Arrival:
    """Words that somebody wrote on the other side."""

    chat_id: str
    text: str
    id: str | None = None
    """The channel's own name for the message, by which a second arrival of it is known."""
    chat_type: str = "private"
    title: str | None = None
    sender: str | None = None
    """Who wrote it, by the channel's own name for them; None where everybody who gets here may."""
    sender_name: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Where in the chat it was written, such as a topic. It is kept with the session, and comes back with
    what is sent there. None as a value removes the name."""


class Reception(Protocol):
    """Where a channel hands in what arrived."""

    async def take(self, arrival: Arrival) -> str | None:
        """When it returns, the message is kept and will have its turn, or it is nothing for us.

        Words that come back are to be said at once to somebody who is not known yet.
        """
        ...

    async def welcomes(self, sender: str) -> bool:
        """Whether this person may talk to us, or may ask to."""
        ...

    async def mark(self) -> str | None:
        """How far the channel had listened, as it last said."""
        ...

    async def set_mark(self, mark: str) -> None: ...


@record
class Door:
    """Who may talk to us through a channel."""

    allow: frozenset[str] = frozenset()
    """Senders, by the channel's own name for them; `*` stands for everybody."""
    pairing: bool = False
    """Somebody else gets a code, which lets them in when an operator says it to `segue channels allow`."""

    def admits(self, sender: str | None) -> bool:
        return sender is None or sender in self.allow or "*" in self.allow


OPEN = Door(allow=frozenset({"*"}))


class Channel(Protocol):
    """Whoever derives from it may leave out what is the same for most."""

    name: str
    """The first part of its sessions' keys."""
    door: Door = OPEN

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities()

    async def send(self, delivery: Delivery) -> Receipt:
        """Deliver, or raise `NotTaken` when it certainly was not. Any other error: nobody knows."""
        ...

    async def receive(self, take: Reception) -> None:
        """Bring messages in until cancelled. One that has nothing to bring in returns at once."""
        return

    async def show(
        self, chat_id: str, turn_id: str, text: str, *, metadata: Mapping[str, Any] | None = None
    ) -> None:
        """Where `edits`: what is said so far in a turn whose answer will be sent when it is complete.

        `metadata` is what the delivery of the answer will carry.
        """
        return


class Stored(Channel):
    """A surface whose readers look at the log: a page, a terminal, a program that calls the API."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(idempotent=True, stored=True, edits=True, markdown=Markdown.COMMON, groups=True)

    async def send(self, delivery: Delivery) -> Receipt:
        return Receipt()


INSIDE = frozenset({"cron", "system", "unified"})
"""How the keys of the house's own sessions begin: nobody talks there, and what is said is in the log."""

NETWORKS = frozenset({"telegram", "matrix"})
"""The chat networks that Segue speaks to, switched on or not: a key has the same owner on every day."""


def network_names(channels: Iterable[Channel]) -> frozenset[str]:
    """The channels whose chats are users: the networks, and every channel that brings messages in."""
    return NETWORKS | {each.name for each in channels if type(each).receive is not Channel.receive}


def stored_names(channels: Iterable[Channel]) -> frozenset[str]:
    """The channels for which stored is sent."""
    return INSIDE | {channel.name for channel in channels if channel.capabilities.stored}
