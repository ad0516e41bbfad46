"""The reader answers the phrases of `phrases/` rightly, and is hardly ever wrong.

Issue 26: wrong at most 1 % of the answers and right at least 60 % of all phrases in each language. The part
that is set aside is only counted, so that the reader is not fitted to it. `python -m bench.times` shows the
figures.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache

import pytest

from segue.times.reader.finder import find
from tests.unit.when import phrase_corpus
from tests.unit.when.phrase_corpus import (
    LANGUAGES,
    Outcome,
    Phrase,
    chat,
    daily,
    phrases,
    requests,
    sentences,
)

LEAST_PHRASES = 2_000

# More than one test looks at an outcome, which depends on the phrase alone.
judge_phrase = cache(phrase_corpus.judge_phrase)
judge_sentence = cache(phrase_corpus.judge_sentence)


def failures(lines: Iterable[Phrase], judge: Callable[[Phrase], tuple[Outcome, str]]) -> list[str]:
    judged = [(line, *judge(line)) for line in lines]
    return [
        f"{outcome}: {line.text!r} is {line.expected}, not {answer}"
        for line, outcome, answer in judged
        if outcome is Outcome.WRONG
    ]


def shares(lines: Iterable[Phrase], judge: Callable[[Phrase], tuple[Outcome, str]]) -> tuple[float, float]:
    """The share of right lines, and of wrong ones among the answers."""
    counts = Counter(judge(line)[0] for line in lines)
    right, wrong = counts[Outcome.RIGHT], counts[Outcome.WRONG]
    return (right + counts[Outcome.ASKED]) / counts.total(), wrong / max(1, right + wrong)


def test_there_are_thousands_of_phrases_and_a_third_is_set_aside() -> None:
    every = [phrase for language in LANGUAGES for phrase in phrases(language)]
    assert len(every) >= LEAST_PHRASES
    assert 0.25 < sum(phrase.set_aside for phrase in every) / len(every) < 0.4


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_phrase_is_read_wrongly(language: str) -> None:
    assert failures((line for line in phrases(language) if not line.set_aside), judge_phrase) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_most_phrases_are_read_rightly(language: str) -> None:
    right, _ = shares((line for line in phrases(language) if not line.set_aside), judge_phrase)
    assert right >= 0.9


@pytest.mark.parametrize("language", LANGUAGES)
def test_phrases_that_were_set_aside_are_read_and_hardly_ever_wrongly(language: str) -> None:
    aside = (line for line in phrases(language) if line.set_aside)
    right, wrong = shares(aside, judge_phrase)
    assert right >= 0.6
    assert wrong <= 0.01


def test_no_time_in_a_sentence_is_read_wrongly() -> None:
    assert failures([*sentences(), *sentences(later=True)], judge_sentence) == []
    right, _ = shares(sentences(), judge_sentence)
    assert right >= 0.9


def test_no_time_in_a_chat_is_read_wrongly() -> None:
    assert failures(chat(), judge_sentence) == []
    right, _ = shares(chat(), judge_sentence)
    assert right >= 0.9


def test_times_in_a_later_chat_are_hardly_ever_read_wrongly() -> None:
    right, wrong = shares(chat(later=True), judge_sentence)
    assert right >= 0.9
    assert wrong <= 0.02


@pytest.mark.parametrize(("later", "most_wrong"), [(False, 0.02), (True, 0.04)])
def test_times_in_daily_life_are_hardly_ever_read_wrongly(later: bool, most_wrong: float) -> None:
    """Those set aside are not at the goal of 2 %: `docs/reference/times.md` has the first figures."""
    right, wrong = shares(daily(later=later), judge_sentence)
    assert right >= 0.85
    assert wrong <= most_wrong


def test_a_sentence_without_a_time_has_none_at_any_hour() -> None:
    """The verdict must not depend on whether the number would be a past hour."""
    every = [*sentences(), *requests(), *chat(), *daily(), *daily(later=True)]
    failures = [
        f"{line.text} at {now:%H:%M}"
        for line in every
        if line.expected == "-"
        for now in (line.now.replace(hour=hour) for hour in (0, 5))
        if (found := find(line.text, now=now, zone=line.zone)).when is not None and not found.passed
    ]
    assert failures == []


def test_no_time_in_a_request_is_read_wrongly() -> None:
    every = [*requests(), *requests(later=True)]
    assert failures(every, judge_sentence) == []
    right, _ = shares(every, judge_sentence)
    assert right >= 0.9
