"""The conditions that a policy can name, read from JSON and written to it. None of them needs a model.

{"if": "unanswered", "since": "last_run"}      no user has written since the job's last run
{"if": "quiet", "for_seconds": 7200}           no user has written for two hours
{"if": "unsaid", "words": ["done"]}            no user has said one of these words
{"if": "not_done"}                             the job's message was not answered with "done"
{"if": "outcome", "job": "…", "is": "ok"}      another job of this session ended so
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import Any

from segue.errors import BadPolicy
from segue.model.states import Outcome
from segue.times.format import quoted

MOST_CONDITIONS = 10
MOST_WORDS = 10
MOST_SECONDS = 366 * 86_400
_LONGEST_WORD = 100


class If(StrEnum):
    """What a condition looks at."""

    UNANSWERED = "unanswered"
    ANSWERED = "answered"
    QUIET = "quiet"
    ACTIVE = "active"
    SAID = "said"
    UNSAID = "unsaid"
    NOT_DONE = "not_done"
    OUTCOME = "outcome"


class Since(StrEnum):
    """From when on messages count. Before the first run, `last_run` means `created`."""

    LAST_RUN = "last_run"
    CREATED = "created"


class Otherwise(StrEnum):
    """What happens to a slot whose conditions do not hold."""

    SKIP = "skip"
    """It is recorded as skipped."""
    END = "end"
    """It is recorded as skipped, and the job ends."""
    POSTPONE = "postpone"
    """It is looked at again with the next message, and in an hour."""


_FIELDS: Mapping[If, frozenset[str]] = {
    If.UNANSWERED: frozenset({"since"}),
    If.ANSWERED: frozenset({"since"}),
    If.QUIET: frozenset({"for_seconds"}),
    If.ACTIVE: frozenset({"for_seconds"}),
    If.SAID: frozenset({"words", "since"}),
    If.UNSAID: frozenset({"words", "since"}),
    If.NOT_DONE: frozenset(),
    If.OUTCOME: frozenset({"job", "is", "within_seconds"}),
}
_NEEDED = frozenset({"for_seconds", "words", "job", "is"})
"""Fields without a default, where a condition has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One condition. Which fields it has depends on `test`."""

    test: If
    since: Since = Since.LAST_RUN
    for_seconds: float = 0
    words: tuple[str, ...] = ()
    """Whole words or phrases, compared without case."""
    job: str = ""
    outcome: str = ""
    within_seconds: float | None = None

    def to_json(self) -> dict[str, Any]:
        named = {
            "since": str(self.since),
            "for_seconds": self.for_seconds,
            "words": list(self.words),
            "job": self.job,
            "is": self.outcome,
            "within_seconds": self.within_seconds,
        }
        return {"if": str(self.test), **{name: named[name] for name in named if name in _FIELDS[self.test]}}


def unless(word: str, *, repeats: bool) -> dict[str, Any]:
    """The fields of a policy for "unless answered" and "unless done": what tools and commands can say."""
    if word == "done":
        return {"when": [{"if": "not_done"}], "otherwise": "end"}
    if word != "answered":
        raise BadPolicy(f"unless is one of answered, done; got {quoted(word)}")
    if repeats:
        return {"when": [{"if": "unanswered", "since": "last_run"}], "otherwise": "skip"}
    return {"when": [{"if": "unanswered", "since": "created"}], "otherwise": "end"}


def read_conditions(given: object) -> tuple[Condition, ...]:
    """The conditions of a policy. Raises `BadPolicy`."""
    if not isinstance(given, list | tuple) or not 1 <= len(given) <= MOST_CONDITIONS:
        raise BadPolicy(f"when is a list of 1 to {MOST_CONDITIONS} conditions, or null; got {quoted(given)}")
    return tuple(one if isinstance(one, Condition) else _read(one) for one in given)


def _read(given: object) -> Condition:
    if not isinstance(given, Mapping):
        raise BadPolicy(f"a condition is an object such as {{'if': 'unanswered'}}; got {quoted(given)}")
    test = _test(given.get("if"))
    fields = {name: value for name, value in given.items() if name != "if"}
    for name in fields:
        if name not in _FIELDS[test]:
            raise BadPolicy(f"the condition {test} has no {quoted(name)}; {_it_has(test)}")
    for name in sorted(_FIELDS[test] & _NEEDED):
        if fields.get(name) is None:
            raise BadPolicy(f"the condition {test} needs {name}; {_it_has(test)}")
    since = fields.get("since", Since.LAST_RUN)
    if since not in list(Since):
        raise BadPolicy(f"since is one of {', '.join(Since)}; got {quoted(since)}")
    within = fields.get("within_seconds")
    return Condition(
        test=test,
        since=Since(since),
        for_seconds=_seconds("for_seconds", fields["for_seconds"]) if "for_seconds" in fields else 0,
        words=_words(fields["words"]) if "words" in fields else (),
        job=_job_id(fields["job"]) if "job" in fields else "",
        outcome=_outcome(fields["is"]) if "is" in fields else "",
        within_seconds=None if within is None else _seconds("within_seconds", within),
    )


def _test(given: object) -> If:
    for each in If:
        if given == each:
            return each
    close = get_close_matches(str(given).casefold(), list(If), n=1, cutoff=0.4)
    hint = f"did you mean {close[0]}?" if close else f"it is one of {', '.join(If)}"
    raise BadPolicy(f"a condition has no if {quoted(given)}; {hint}")


def _it_has(test: If) -> str:
    return f"it has {', '.join(sorted(_FIELDS[test]))}" if _FIELDS[test] else "it has no other field"


def _seconds(name: str, given: object) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not 1 <= given <= MOST_SECONDS:
        raise BadPolicy(f"{name} is a number from 1 to {MOST_SECONDS:,}; got {quoted(given)}")
    return given


def _words(given: object) -> tuple[str, ...]:
    if not isinstance(given, Sequence) or isinstance(given, str) or not 1 <= len(given) <= MOST_WORDS:
        raise BadPolicy(f"words is a list of 1 to {MOST_WORDS} words; got {quoted(given)}")
    for word in given:
        if not isinstance(word, str) or not word.strip() or len(word) > _LONGEST_WORD:
            raise BadPolicy(f"a word has 1 to {_LONGEST_WORD} characters; got {quoted(word)}")
    return tuple(word.strip() for word in given)


def _job_id(given: object) -> str:
    if not isinstance(given, str) or not 1 <= len(given) <= 200:
        raise BadPolicy(f"job is the id of a job of this session; got {quoted(given)}")
    return given


def _outcome(given: object) -> str:
    if given not in list(Outcome):
        raise BadPolicy(f"is is one of {', '.join(Outcome)}; got {quoted(given)}")
    return str(given)
