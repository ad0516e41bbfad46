"""In every line of `sentences.txt` the finder finds what the line says.

Issue 19, item 20: when a time word beside the found phrase was not read, the result says which, and there is
no moment.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from segue.times.reader import Interval, Moment, RepeatedCronLine, When
from segue.times.reader.finder import FinderVerdict, FoundTime, find

SENTENCES = Path(__file__).with_name("sentences.txt")
LANGUAGES = ("English", "German", "French", "Spanish", "Russian", "Chinese")


class Line(NamedTuple):
    section: str
    now: datetime
    zone: str
    text: str
    expected: str


def sentences() -> Iterator[Line]:
    now, zone, section = datetime.min.replace(tzinfo=UTC), "UTC", ""
    for line in SENTENCES.read_text("utf-8").splitlines():
        if line.startswith("@ "):
            _, moment, zone = line.split()
            now = datetime.fromisoformat(moment)
        elif line.startswith("# "):
            section = line.removeprefix("# ")
        elif " => " in line and not line.startswith("#"):
            text, expected = line.split(" => ")
            yield Line(section, now, zone, text, expected)


def said(found: FoundTime) -> str:
    match found.verdict:
        case FinderVerdict.READ:
            assert found.when is not None
            return f"passed {when(found.when)}" if found.passed else when(found.when)
        case FinderVerdict.AMBIGUOUS:
            return f"? {' | '.join(found.readings)}"
        case FinderVerdict.NOT_READ:
            return f"! {found.unread}" if found.unread else "-"


def when(found: When) -> str:
    match found:
        case Moment(at):
            return at.isoformat()
        case Interval(seconds):
            return f"every {seconds}"
        case RepeatedCronLine(expr, _):
            return f"cron {expr}"


LINES = list(sentences())


def test_every_sentence_is_found_as_it_says() -> None:
    failures = [
        f"{line.text}: {answer}, not {line.expected}"
        for line in LINES
        if (answer := said(find(line.text, now=line.now, zone=line.zone))) != line.expected
    ]
    assert failures == []


def test_there_are_sentences_in_every_language_and_for_every_verdict() -> None:
    assert len(LINES) >= 150
    for language in LANGUAGES:
        own = [line.expected[0] for line in LINES if line.section.startswith(language)]
        assert len(own) >= 20, language
        assert {"!", "?"} < set(own), language


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.text)
def test_a_verdict_holds_together(line: Line) -> None:
    found = find(line.text, now=line.now, zone=line.zone)
    is_read = found.verdict is FinderVerdict.READ
    assert (found.when is not None) == is_read
    assert bool(found.readings) == (found.verdict is FinderVerdict.AMBIGUOUS)
    assert bool(found.unread) == bool(found.reason)
    assert not (is_read and found.unread)
    assert found.phrase in line.text
    assert all(part in line.text for part in found.unread.split(" … "))
