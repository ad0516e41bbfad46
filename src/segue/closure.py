"""The closure: the visible end that every turn leaves in its session.

What happened, in full, belongs to the run record. What the conversation shows is one short message.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from segue.states import Outcome, TurnState
from segue.text import clean

NOTHING_TO_SAY = "(no answer)"
PAUSED = "This job failed {failures} times in a row and is paused. Resume it when the cause is mended."


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a turn ended: for the turn, for its run, and for the people who watch."""

    state: TurnState
    outcome: Outcome
    shown: str
    """The closure, as it stands in the transcript."""
    reply: str | None = None
    """The agent's own words, if it had any."""
    error: str | None = None
    usage: Mapping[str, Any] = field(default_factory=dict)


def answered(text: str, usage: Mapping[str, Any]) -> Ending:
    if not text.strip():
        return Ending(state=TurnState.DONE, outcome=Outcome.EMPTY, shown=NOTHING_TO_SAY, usage=usage)
    text = clean(text)
    return Ending(state=TurnState.DONE, outcome=Outcome.OK, shown=text, reply=text, usage=usage)


def failed(error: str, *, shown: str | None = None, usage: Mapping[str, Any] | None = None) -> Ending:
    return Ending(
        state=TurnState.FAILED,
        outcome=Outcome.ERROR,
        shown=clean(shown or "This turn failed; its record says why."),
        error=clean(error),
        usage=usage or {},
    )


def timed_out(seconds: float) -> Ending:
    return failed(f"no answer within {seconds:g} s", shown=f"No answer within {seconds:g} seconds; given up.")


def stopped(so_far: str, usage: Mapping[str, Any]) -> Ending:
    said = clean(so_far.strip())
    return Ending(
        state=TurnState.CANCELLED,
        outcome=Outcome.STOPPED,
        shown=f"{said}\n\n(stopped)" if said else "(stopped)",
        reply=said or None,
        usage=usage,
    )


def interrupted(reason: str) -> Ending:
    return Ending(
        state=TurnState.FAILED,
        outcome=Outcome.INTERRUPTED,
        shown=f"This turn was interrupted: {reason}.",
        error=reason,
    )


def trigger_words(kind: str, name: str, prompt: str, *, hidden: bool) -> str:
    """What the transcript shows in place of the prompt that a scheduled turn runs with."""
    if kind == "recall":
        return f"Recall: {name}"
    title = f"Scheduled cron job triggered: {name}"
    return title if hidden else f"{title}\n\n{prompt}"
