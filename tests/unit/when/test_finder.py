"""Finding the time in a sentence. Most expectations are in `sentences.txt`: `test_sentences.py`."""

import random
from datetime import UTC, datetime

import pytest

from segue.times.reader import Moment
from segue.times.reader.finder import FinderVerdict, FoundTime, find
from segue.times.reader.readers import LANGUAGES

NOW = datetime(2026, 11, 16, 8, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("sentence", "phrase"),
    [
        ("remind me tomorrow at 9 to call Ana", "tomorrow at 9"),
        ("in 20 minutes, look at the build.", "in 20 minutes"),
        ("every weekday at 17:30 ask me how it went", "every weekday at 17:30"),
        ("call Ana friday 5pm!", "friday 5pm"),
        ("call Ana (tomorrow at 5 p.m.)", "tomorrow at 5 p.m."),
    ],
)
def test_the_time_of_a_sentence_is_found(sentence: str, phrase: str) -> None:
    found = find(sentence, now=NOW, zone="Europe/Berlin")
    assert (found.verdict, found.phrase, found.unread) == (FinderVerdict.READ, phrase, "")


@pytest.mark.parametrize("sentence", ["", "what a nice day", "call Ana about the 9 apples", "x" * 5000])
def test_no_time_is_found_in_a_sentence_without_one(sentence: str) -> None:
    assert find(sentence, now=NOW, zone="Europe/Berlin") == FoundTime(FinderVerdict.NOT_READ)


def test_a_past_moment_is_found_and_marked() -> None:
    found = find("call Ana today at 8", now=NOW, zone="Europe/Berlin")
    assert (found.phrase, found.passed) == ("today at 8", True)
    assert isinstance(found.when, Moment)
    assert found.when.at.isoformat() == "2026-11-16T08:00:00+01:00"


def test_only_the_beginning_of_a_long_text_is_looked_at() -> None:
    assert find("word " * 50 + "tomorrow at 9", now=NOW, zone="UTC") == FoundTime(FinderVerdict.NOT_READ)


def test_any_time_words_get_a_verdict() -> None:
    chance = random.Random(20_261_117)
    words = [word for language in LANGUAGES for word in (*language.vocabulary, *language.fixed_words)]
    words += [
        "Ana",
        "9",
        "17:30",
        "p.m.",
        "EST",
        "2027-03-28",
        "9-11",
        "3.",
        ",",
        "-",
        ".",
        "\u0000",
        "call",
    ] * 40
    for _ in range(200):
        sentence = " ".join(chance.choices(words, k=chance.randint(1, 9)))
        found = find(sentence, now=NOW, zone="Europe/Berlin")
        assert (found.when is not None) == (found.verdict is FinderVerdict.READ), sentence
        assert bool(found.unread) == bool(found.reason), sentence
        assert found.phrase in sentence
