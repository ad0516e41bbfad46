"""How well search finds, on a labelled set: `python -m tests.memory.retrieval.measure [first|second]`.

The set is one user's conversations, in English and in Chinese, and the questions that are asked about them
later. All of them are put away and learned from; a question counts if its answer is among the first five that
are found. Ranking is changed by the first half alone: the questions about every other conversation, from the
first on. The second half shows whether that helps questions that nobody looked at.
"""

import asyncio
import sys
import tomllib
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from segue import Kernel
from segue.testing import ManualClock, ScriptedAgent, quiet

FOLDER = Path(__file__).parent
LANGUAGES = ("english", "chinese")
FOUND = 5


class Half(StrEnum):
    FIRST = "first"
    SECOND = "second"


@dataclass(frozen=True, slots=True)
class Question:
    language: str
    half: Half
    ask: str
    answer: str
    """Words of the passage that has it."""


@dataclass(frozen=True, slots=True)
class Conversation:
    key: str
    said: list[tuple[str, str]]
    questions: list[Question]


def conversations() -> list[Conversation]:
    return [
        _conversation(f"{language}:{number}", language, list(Half)[number % 2], each)
        for language in LANGUAGES
        for number, each in enumerate(
            tomllib.loads((FOLDER / f"{language}.toml").read_text("utf-8"))["conversation"]
        )
    ]


def questions(half: Half) -> list[Question]:
    return [question for each in conversations() for question in each.questions if question.half is half]


@asynccontextmanager
async def remembering(url: str) -> AsyncIterator[Kernel]:
    """A kernel that has put all conversations away."""
    async with Kernel(url, agent=ScriptedAgent(), clock=ManualClock()) as kernel:
        for conversation in conversations():
            await kernel.write_all(conversation.key, conversation.said)
            await kernel.commit(conversation.key)
        await quiet(kernel)
        yield kernel


async def found(kernel: Kernel, question: Question) -> list[tuple[str, float]]:
    """What is found, the best first."""
    return [(each.memory.content, each.score) for each in await kernel.recollect(question.ask, limit=FOUND)]


async def missed(kernel: Kernel, asked: Iterable[Question]) -> list[Question]:
    return [
        question
        for question in asked
        if not any(question.answer in content for content, _ in await found(kernel, question))
    ]


def _conversation(key: str, language: str, half: Half, given: dict[str, list[str]]) -> Conversation:
    lines = [line.partition(": ") for line in given["said"]]
    said = [(role, words) for role, _, words in lines]
    asked = [Question(language, half, **question) for question in given["questions"]]  # type: ignore[arg-type]
    return Conversation(key, said, asked)


async def main(halves: Iterable[Half]) -> None:
    async with remembering("sqlite://:memory:") as kernel:
        for half in halves:
            for language in LANGUAGES:
                asked = [question for question in questions(half) if question.language == language]
                lost = await missed(kernel, asked)
                share = 1 - len(lost) / len(asked)
                print(f"{half} half, {language}: {len(asked) - len(lost)} of {len(asked)}, {share:.2f}")  # noqa: T201
                for question in lost:
                    print(f"  missed: {question.ask} ({question.answer})")  # noqa: T201


if __name__ == "__main__":
    asyncio.run(main([Half(name) for name in sys.argv[1:]] or list(Half)))
