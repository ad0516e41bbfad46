"""Passages: the exchanges of an archive, word for word, as search finds them."""

from collections.abc import Iterable, Iterator

from segue.model.transcript import Message

_LONGEST = 2_000


def exchanges(messages: Iterable[Message]) -> Iterator[tuple[Message, str]]:
    """Each with its first message: what a user said, and the answers to it."""
    group: list[Message] = []
    for message in messages:
        if message.role not in ("user", "assistant"):
            continue
        if group and message.role == "user":
            yield group[0], _words(group)
            group = []
        group.append(message)
    if group:
        yield group[0], _words(group)


def _words(group: list[Message]) -> str:
    return "\n".join(f"{message.role}: {message.content.strip()}" for message in group)[:_LONGEST]
