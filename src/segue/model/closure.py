"""The closure: the visible end that every turn leaves in its session.

What happened, in full, belongs to the run record. What the conversation shows is one short message.
"""

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from segue.model.states import Outcome, TurnState
from segue.model.text_checks import clean
from segue.record import record

NOTHING_TO_SAY = "(no answer)"
NOTHING_TO_REPORT = "(nothing to report)"
HELD_BACK = "(nothing worth saying)"
NOT_EVALUATED = "(the answer was held back: it could not be evaluated)"
PAUSED = "This job failed {failures} times in a row and is paused. Resume it when the cause is mended."


@record
class Closure:
    """How a turn ended: for the turn, for its run, and for the people who watch."""

    state: TurnState
    outcome: Outcome
    shown: str
    """The closure, as it stands in the transcript."""
    reply: str | None = None
    """The agent's own words, if it had any."""
    error: str | None = None
    reason: str | None = None
    """For the run's record, where the outcome alone does not say it."""
    quiet: bool = False
    """Its closure is a status line that the page may fold away and no channel is sent."""
    usage: Mapping[str, Any] = field(default_factory=dict)


def answered(text: str, usage: Mapping[str, Any]) -> Closure:
    if not text.strip():
        return Closure(state=TurnState.DONE, outcome=Outcome.EMPTY, shown=NOTHING_TO_SAY, usage=usage)
    text = clean(text)
    return Closure(state=TurnState.DONE, outcome=Outcome.OK, shown=text, reply=text, usage=usage)


def nothing_to_report(answered: Closure) -> Closure:
    """A check that found nothing."""
    reason = "nothing to report"
    return replace(
        answered, outcome=Outcome.EMPTY, shown=NOTHING_TO_REPORT, reply=None, reason=reason, quiet=True
    )


def held_back(answered: Closure) -> Closure:
    """An answer that nobody is shown is no message either; it stays on the turn's record."""
    return replace(answered, shown=HELD_BACK, reason="held back by evaluate_response", quiet=True)


def not_evaluated(answered: Closure, error: str) -> Closure:
    """Whether the answer may go out could not be found out, so it does not."""
    return replace(
        failed(f"evaluate_response failed: {error}", shown=NOT_EVALUATED, usage=answered.usage),
        reply=answered.reply,
        quiet=True,
    )


def failed(error: str, *, shown: str | None = None, usage: Mapping[str, Any] | None = None) -> Closure:
    return Closure(
        state=TurnState.FAILED,
        outcome=Outcome.ERROR,
        shown=clean(shown or "This turn failed; its record says why."),
        error=clean(error),
        usage=usage or {},
    )


def timed_out(seconds: float) -> Closure:
    return failed(f"no answer within {seconds:g} s", shown=f"No answer within {seconds:g} seconds; given up.")


def stopped(so_far: str, usage: Mapping[str, Any]) -> Closure:
    said = clean(so_far.strip())
    return Closure(
        state=TurnState.CANCELLED,
        outcome=Outcome.STOPPED,
        shown=f"{said}\n\n(stopped)" if said else "(stopped)",
        reply=said or None,
        usage=usage,
    )


def interrupted(reason: str) -> Closure:
    return Closure(
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
