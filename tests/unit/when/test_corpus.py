"""Every line of the corpus is read as the line says. The corpus is the specification: read it first.

C2.2: durations, `in …`, days, ISO 8601. C2.3: what cannot be read, an absolute time without a zone and a
time in the past are refused, each with its own reason. Issue 5: six languages, schedules, days on which
clocks change.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from segue.errors import BadTime
from segue.times.reader import (
    Interval,
    Moment,
    RepeatedCronLine,
    When,
    describe,
    explain,
    read,
    read_schedule,
)
from segue.times.reader.readers import LANGUAGES

CORPUS = Path(__file__).with_name("corpus")


class Line(NamedTuple):
    language: str
    number: int
    now: datetime
    zone: str | None
    text: str
    expected: str

    def read(self) -> When:
        return read_schedule(self.text, now=self.now, zone=self.zone)


def corpus() -> Iterator[Line]:
    for file in sorted(CORPUS.glob("*.txt")):
        now, zone = datetime.min.replace(tzinfo=UTC), None
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
            if line.startswith("@ "):
                _, moment, name = line.split()
                now, zone = datetime.fromisoformat(moment), None if name == "-" else name
            elif " => " in line and not line.startswith("#"):
                text, expected = line.split(" => ")
                yield Line(file.stem, number, now, zone, text, expected)


READ = [line for line in corpus() if not line.expected.startswith("!")]
REFUSED = [line for line in corpus() if line.expected.startswith("!")]
ONCE = [line for line in READ if line.expected[0].isdigit()]
REPEATING = [line for line in READ if not line.expected[0].isdigit()]


def utc(moment: datetime) -> datetime:
    """Python never calls a time that clocks show twice equal to one in another zone; in UTC it does."""
    return moment.astimezone(UTC)


def said(when: When, zone: str | None) -> str:
    match when:
        case Moment(at):
            return at.isoformat()
        case Interval(seconds):
            return f"every {seconds}"
        case RepeatedCronLine(expr, there):
            return f"cron {expr}" + (f" in {there}" if there != zone else "")


def every(lines: list[Line], check: Callable[[Line], None]) -> None:
    """Check all the lines of a file, then fail with a list of those that are wrong."""
    assert lines
    wrong: list[str] = []
    for line in lines:
        try:
            check(line)
        except (Exception, pytest.fail.Exception) as error:  # the second one is that of `pytest.raises`
            wrong.append(f"{line.language}.txt:{line.number}: {line.text}: {_sentence(error)}")
    assert not wrong, f"{len(wrong)} of {len(lines)} lines are wrong:\n" + "\n".join(wrong)


def _sentence(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


def of(language: str, lines: list[Line]) -> list[Line]:
    return [line for line in lines if line.language == language]


each_file = pytest.mark.parametrize("language", sorted({line.language for line in READ + REFUSED}))


@each_file
def test_a_time_people_write_is_read(language: str) -> None:
    def check(line: Line) -> None:
        assert said(line.read(), line.zone) == line.expected

    every(of(language, READ), check)


@each_file
def test_a_time_that_is_none_is_refused_with_the_reason_and_an_example(language: str) -> None:
    def check(line: Line) -> None:
        with pytest.raises(BadTime) as refused:
            line.read()
        reason, _, example = str(refused.value).partition("; write for example ")
        assert line.expected.removeprefix("! ") in str(refused.value)
        assert reason
        assert example.startswith('"')
        assert "\n" not in str(refused.value)

    every(of(language, REFUSED), check)


@each_file
def test_one_moment_is_read_alike_by_both_readers(language: str) -> None:
    def check(line: Line) -> None:
        assert Moment(read(line.text, now=line.now, zone=line.zone)) == line.read()

    every(of(language, ONCE), check)


@each_file
def test_a_schedule_is_no_moment(language: str) -> None:
    def check(line: Line) -> None:
        with pytest.raises(BadTime, match="repeats, and one moment is wanted"):
            read(line.text, now=line.now, zone=line.zone)

    every(of(language, REPEATING), check)


@each_file
def test_what_was_read_can_be_said_and_read_again(language: str) -> None:
    def check(line: Line) -> None:
        moment = read(line.text, now=line.now, zone=line.zone)
        assert utc(read(describe(moment, "Asia/Tokyo"), now=line.now)) == utc(moment)
        if not moment.microsecond:
            spoken, _, _ = explain(moment, line.now).partition(" (")
            assert utc(read(spoken, now=line.now, zone=line.zone)) == utc(moment)

    every(of(language, ONCE), check)


def test_a_failure_lists_every_wrong_line_of_its_file() -> None:
    """Otherwise one wrong line would hide the others."""
    wrong = of("english", READ)[:3]

    def check(line: Line) -> None:
        assert line != wrong[0]
        if line == wrong[2]:
            with pytest.raises(BadTime):
                line.read()

    with pytest.raises(AssertionError, match="2 of 3 lines are wrong") as failure:
        every(wrong, check)
    assert all(f"{line.language}.txt:{line.number}: " in str(failure.value) for line in wrong[::2])


@pytest.mark.parametrize("junk", ["x", "foo ", "!", "(", "- ", "please, "])
def test_nothing_may_stand_before_or_behind_a_time(junk: str) -> None:
    for line in READ:
        for text in (junk + line.text, line.text + junk[::-1]):
            with pytest.raises(BadTime):
                read_schedule(text, now=line.now, zone=line.zone)


def test_the_corpus_is_large_in_every_language() -> None:
    read, refused = (Counter(line.language for line in lines) for lines in (READ, REFUSED))
    assert len(read) == len(LANGUAGES)
    assert min(read.values()) >= 80
    assert min(refused.values()) >= 20
    assert read.total() + refused.total() >= 900
