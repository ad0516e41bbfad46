"""The text of the test agent, known to both the server and the test."""

import random

_WORDS = ("segue", "größe", "会話", "🙂", "\n", " and ", "**so**", "x")


def pieces_of(asked: str, length: int) -> list[str]:
    rng = random.Random(asked)
    return [rng.choice(_WORDS) for _ in range(length)]


def text_of(asked: str) -> str:
    return "".join(pieces_of(asked, int(asked.split()[0])))
