"""In every line of `sentences.txt` the finder finds what the line says.

Issue 19, item 20: when a time word beside the found phrase was not read, the result says which, and there is
no moment.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

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


def test_every_verdict_holds_together() -> None:
    failures = [
        f"{line.text}: {broken}"
        for line in LINES
        for broken in contradictions(find(line.text, now=line.now, zone=line.zone), line.text)
    ]
    assert failures == []


def contradictions(found: FoundTime, text: str) -> list[str]:
    is_read = found.verdict is FinderVerdict.READ
    holds = {
        "a moment, if and only if it was read": (found.when is not None) == is_read,
        "readings, if and only if ambiguous": bool(found.readings)
        == (found.verdict is FinderVerdict.AMBIGUOUS),
        "a reason for what was not read": bool(found.unread) == bool(found.reason),
        "read without a rest": not (is_read and found.unread),
        "the phrase is in the text": found.phrase in text,
        "what was not read is in the text": all(part in text for part in found.unread.split(" … ")),
    }
    return [what for what, is_so in holds.items() if not is_so]
