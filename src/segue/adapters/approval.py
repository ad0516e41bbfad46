"""Approval of tool calls: the question that a turn ends with, and how the user's answer is read.

Only the word `yes` approves. Anything else refuses the calls, and the model gets the user's words.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from segue.model.agent import OpenTurn, Waiting

CHOICES = ("yes", "no")
_LONGEST_ARGUMENTS = 500


def ask_approval(calls: Sequence[tuple[str, Mapping[str, Any]]], state: Mapping[str, Any]) -> Waiting:
    """Return the question whether tools may be called: their names with their arguments."""
    listed = "; ".join(f"{name} {_shown(arguments)}" for name, arguments in calls)
    return Waiting(f"May I call {listed}?", CHOICES, state)


def is_approved(turn: OpenTurn) -> bool:
    """Whether the user's message approves what was asked."""
    return turn.text.strip().rstrip(".!").casefold() == CHOICES[0]


def refusal(turn: OpenTurn) -> str:
    """What the model is told instead of a refused call's result."""
    return f"The user did not approve this call, and said: {turn.text}"


def _shown(arguments: Mapping[str, Any]) -> str:
    text = json.dumps(dict(arguments), ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST_ARGUMENTS else f"{text[:_LONGEST_ARGUMENTS]}…"
