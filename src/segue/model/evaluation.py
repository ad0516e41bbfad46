"""Response evaluation: decides whether an answer is sent to the user.

It applies to answers that no user may be waiting for: those of system jobs, legacy jobs and checks. The
answers of other jobs are always sent.
"""

from enum import StrEnum
from typing import Protocol

from segue.model.agent import OpenTurn
from segue.model.prompts import QUIET

_WRAPPING = " \t\r\n*_`\"'“”.!()[]"
"""Characters that models put around a word that they were told to answer with."""


class Evaluation(StrEnum):
    """The configured way to evaluate answers."""

    RULES = "rules"
    """Every answer that says something is sent."""
    MODEL = "model"
    """The configured model decides."""


class EvaluateResponse(Protocol):
    """`Kernel(evaluate_response=…)`. An answer is sent only if it returns True; an error holds it back."""

    async def __call__(self, turn: OpenTurn, answer: str) -> bool: ...


async def evaluate_response(turn: OpenTurn, answer: str) -> bool:
    """The default of a kernel: every answer that says something is sent."""
    return not says_nothing(answer)


def says_nothing(answer: str) -> bool:
    """Whether an answer is blank or only the agreed word, in any case and with any quotes around it.

    One word more counts as an answer: a check's finding must not be lost because of its form.
    """
    word = answer.strip(_WRAPPING)
    return not word or word.casefold() == QUIET.casefold()
