"""How well search finds, on a labelled set: `python -m tests.memory.retrieval.measure [first|second|fresh]`.

The set is one user's conversations, in English and in Chinese, and the questions that are asked about them
later. All of them are put away and learned from; a question counts if its answer is among the first five that
are found. Ranking is changed by the first half alone: the questions about every other conversation, from the
first on. The second half shows whether that helps with unseen questions. The fresh part is newer
than the ranking, was written without a look at it, and is asked when all the others are put away as well.
"""

import asyncio
import sys
import tomllib
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from segue import Kernel
from segue.testing import ManualClock, ScriptedAgent, quiet

FOLDER = Path(__file__).parent
LANGUAGES = ("english", "chinese")
FOUND = 5


class Part(StrEnum):
    FIRST = "first"
    SECOND = "second"
    FRESH = "fresh"


HALVES = (Part.FIRST, Part.SECOND)


@dataclass(frozen=True, slots=True)
class Question:
    language: str
    part: Part
    ask: str
    answer: str
    """Words of the passage that has it."""


@dataclass(frozen=True, slots=True)
class Conversation:
    key: str
    said: list[tuple[str, str]]
    questions: list[Question]


def conversations() -> list[Conversation]:
    """Those of the two halves."""
    return [
        _conversation(f"{language}:{number}", language, HALVES[number % 2], each)
        for language in LANGUAGES
        for number, each in enumerate(_read(language))
    ]


def fresh_conversations() -> list[Conversation]:
    return [
        _conversation(f"fresh:{number}", each["language"], Part.FRESH, each)
        for number, each in enumerate(_read("fresh"))
    ]


def questions(part: Part) -> list[Question]:
    asked_about = fresh_conversations() if part is Part.FRESH else conversations()
    return [question for each in asked_about for question in each.questions if question.part is part]


@asynccontextmanager
async def remembering(url: str, put_away: Iterable[Conversation]) -> AsyncIterator[Kernel]:
    """A kernel that has put these conversations away."""
    async with Kernel(url, agent=ScriptedAgent(), clock=ManualClock()) as kernel:
        for conversation in put_away:
            await kernel.log.write_all(conversation.key, conversation.said)
            await kernel.memory.commit(conversation.key)
        await quiet(kernel)
        yield kernel


async def found(kernel: Kernel, question: Question) -> list[tuple[str, float]]:
    """What is found, the best first."""
    return [
        (each.memory.content, each.score) for each in await kernel.memory.search(question.ask, limit=FOUND)
    ]


async def missed(kernel: Kernel, asked: Iterable[Question]) -> list[Question]:
    return [
        question
        for question in asked
        if not any(question.answer in content for content, _ in await found(kernel, question))
    ]


def _read(name: str) -> list[dict[str, Any]]:
    read: list[dict[str, Any]] = tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8"))["conversation"]
    return read


def _conversation(key: str, language: str, part: Part, given: dict[str, Any]) -> Conversation:
    lines = [line.partition(": ") for line in given["said"]]
    said = [(role, words) for role, _, words in lines]
    asked = [Question(language, part, **question) for question in given["questions"]]
    return Conversation(key, said, asked)


async def measure(part: Part) -> None:
    put_away = [*conversations(), *(fresh_conversations() if part is Part.FRESH else ())]
    async with remembering("sqlite://:memory:", put_away) as kernel:
        for language in LANGUAGES:
            asked = [question for question in questions(part) if question.language == language]
            lost = await missed(kernel, asked)
            share = 1 - len(lost) / len(asked)
            print(f"{part}, {language}: {len(asked) - len(lost)} of {len(asked)}, {share:.2f}")  # noqa: T201
            for question in lost:
                print(f"  missed: {question.ask} ({question.answer})")  # noqa: T201


async def main(parts: Iterable[Part]) -> None:
    for part in parts:
        await measure(part)


if __name__ == "__main__":
    asyncio.run(main([Part(name) for name in sys.argv[1:]] or list(Part)))
