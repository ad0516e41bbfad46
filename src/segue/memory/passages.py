"""Passages: splits an archive into exchanges, word for word, for the search index."""

from collections.abc import Iterable, Iterator

from segue.model.transcript import Message

_LONGEST = 2_000


def exchanges(messages: Iterable[Message]) -> Iterator[tuple[Message, str]]:
    """Yields each exchange (a user's message and the answers to it) as its first message and its text."""
    group: list[Message] = []
    for message in messages:
        if message.role not in ("user", "assistant"):
            continue
        if group and message.role == "user":
            yield group[0], _text(group)
            group = []
        group.append(message)
    if group:
        yield group[0], _text(group)


def _text(group: list[Message]) -> str:
    return "\n".join(f"{message.role}: {message.content.strip()}" for message in group)[:_LONGEST]
