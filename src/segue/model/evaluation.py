"""Whether an answer is worth somebody's attention.

Asked where nobody may be waiting for one: of the answers of system and legacy jobs, and of a check. The
answer of a job that belongs to its conversation is never asked about.
"""

from enum import StrEnum
from typing import Protocol

from segue.model.agent import OpenTurn
from segue.model.prompts import QUIET

_WRAPPING = " \t\r\n*_`\"'“”.!()[]"
"""What models put around a word that they were told to answer with."""


class Evaluation(StrEnum):
    """Who judges, in a process that is set up by its configuration."""

    RULES = "rules"
    """Whatever says something goes out."""
    MODEL = "model"
    """The model of the settings is asked."""


class EvaluateResponse(Protocol):
    """Given to the kernel as `evaluate_response`. Only True lets an answer out; an error holds it back."""

    async def __call__(self, turn: OpenTurn, answer: str) -> bool: ...


async def evaluate_response(turn: OpenTurn, answer: str) -> bool:
    """The gate of a kernel that was given none: whatever says something may go out."""
    return not says_nothing(answer)


def says_nothing(answer: str) -> bool:
    """Blank, or the agreed word and nothing else, in whatever case and however it is wrapped.

    One word more is something to say: what a check found must not get lost because it was announced badly.
    """
    word = answer.strip(_WRAPPING)
    return not word or word.casefold() == QUIET.casefold()
