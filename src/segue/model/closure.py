"""The closure: the end of a turn, which every turn leaves in its session as one short message.

The details are stored with the run.
"""

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from segue.model.files import File
from segue.model.states import Outcome, TurnState
from segue.model.text_checks import clean
from segue.record import record

NOTHING_TO_SAY = "(no answer)"
NOTHING_TO_REPORT = "(nothing to report)"
HELD_BACK = "(nothing worth saying)"
NOT_EVALUATED = "(the answer was held back: it could not be evaluated)"
PAUSED = "This job failed {failures} times in a row and is paused. Resume it once the problem is fixed."


@record
class Closure:
    """How a turn ended, for the turn, its run and its readers."""

    state: TurnState
    outcome: Outcome
    shown: str
    """The text in the transcript."""
    reply: str | None = None
    """The agent's own text, if any."""
    error: str | None = None
    code: str | None = None
    """Why it failed, for programs (`AgentFailed.code`)."""
    reason: str | None = None
    """Stored with the run, where the outcome alone does not explain it."""
    quiet: bool = False
    """It is a status line, which the page may fold away and which is not sent to a channel."""
    usage: Mapping[str, Any] = field(default_factory=dict)
    waiting: "OpenQuestion | None" = None
    """The question that the session waits for an answer to."""
    saved: str | None = None
    """The agent's own state as JSON, to be stored; None: it stays as it was."""
    parts: tuple[File, ...] = ()
    """The files of the answer."""


@record
class OpenQuestion:
    """A question that the session waits for an answer to: until then its scheduled turns are held."""

    question: str
    choices: tuple[str, ...]
    until: int
    said: int
    """Characters of the answer before the question."""
    stored: str
    """The JSON that the user's next turn is given (`Resumed`)."""

    @property
    def words(self) -> str:
        """The question with its choices, as it ends the answer."""
        return f"{self.question} ({' / '.join(self.choices)})" if self.choices else self.question


def answered(text: str, usage: Mapping[str, Any]) -> Closure:
    if not text.strip():
        return Closure(state=TurnState.DONE, outcome=Outcome.EMPTY, shown=NOTHING_TO_SAY, usage=usage)
    text = clean(text)
    return Closure(state=TurnState.DONE, outcome=Outcome.OK, shown=text, reply=text, usage=usage)


def asked(text: str, usage: Mapping[str, Any], waiting: "OpenQuestion") -> Closure:
    """The agent waits for a person; its text ends with the question."""
    text = clean(text)
    return Closure(
        state=TurnState.DONE, outcome=Outcome.ASKED, shown=text, reply=text, usage=usage, waiting=waiting
    )


def nothing_to_report(answered: Closure, *, tools_called: int) -> Closure:
    """A check that found nothing. One that used none of its tools is told apart: it may not have looked."""
    reason = "nothing to report"
    if answered.usage.get("tools_offered") and not tools_called:
        reason += "; no tool was used"
    return replace(
        answered, outcome=Outcome.EMPTY, shown=NOTHING_TO_REPORT, reply=None, reason=reason, quiet=True
    )


def held_back(answered: Closure) -> Closure:
    """An answer that is not shown: it is no message, but stays on the turn's record."""
    return replace(answered, shown=HELD_BACK, reason="held back by evaluate_response", quiet=True)


def not_evaluated(answered: Closure, error: str) -> Closure:
    """The evaluation failed, so the answer is not sent."""
    return replace(
        failed(f"evaluate_response failed: {error}", shown=NOT_EVALUATED, usage=answered.usage),
        reply=answered.reply,
        quiet=True,
    )


def failed(
    error: str, *, shown: str | None = None, code: str | None = None, usage: Mapping[str, Any] | None = None
) -> Closure:
    return Closure(
        state=TurnState.FAILED,
        outcome=Outcome.ERROR,
        shown=clean(shown or "This turn failed; its record says why."),
        error=clean(error),
        code=code,
        usage=usage or {},
    )


def timed_out(seconds: float) -> Closure:
    return failed(f"no answer within {seconds:g} s", shown=f"No answer within {seconds:g} seconds; given up.")


def stopped(so_far: str, usage: Mapping[str, Any]) -> Closure:
    text = clean(so_far.strip())
    return Closure(
        state=TurnState.CANCELLED,
        outcome=Outcome.STOPPED,
        shown=f"{text}\n\n(stopped)" if text else "(stopped)",
        reply=text or None,
        usage=usage,
    )


def over_budget(so_far: str, usage: Mapping[str, Any], reason: str) -> Closure:
    """A scheduled run that was stopped because it used much more than it had reserved."""
    ending = stopped(so_far, usage)
    said = f"{ending.reply}\n\n" if ending.reply else ""
    return replace(ending, shown=f"{said}(stopped: {reason})", reason=reason)


def interrupted(reason: str) -> Closure:
    return Closure(
        state=TurnState.FAILED,
        outcome=Outcome.INTERRUPTED,
        shown=f"This turn was interrupted: {reason}.",
        error=reason,
    )


def trigger_words(kind: str, name: str, prompt: str, *, hidden: bool) -> str:
    """The text that the transcript shows instead of the prompt of a scheduled turn."""
    if kind == "recall":
        return f"Recall: {name}"
    title = f"Scheduled cron job triggered: {name}"
    return title if hidden else f"{title}\n\n{prompt}"
