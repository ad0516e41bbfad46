"""Content lines: folding, escaping and the events of an `.ics` file (RFC 5545, section 3.1).

A file comes from outside. It is read in one pass, its size is limited, and nothing in it is believed: neither
the nesting of its parts nor their number.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from segue.errors import BadCalendar
from segue.times.format import quoted

LARGEST_FILE = 1_000_000
"""Characters, and over HTTP bytes."""

_LONGEST_TITLE = 100
_LONGEST_LINE = 75
"""Bytes of a written line, without its end."""
_FOLDED = re.compile(r"\r?\n[ \t]")
_ESCAPED = re.compile(r"\\([\\;,nN])")
_TO_ESCAPE = re.compile(r"[\\;,]")
_LINE_ENDS = re.compile(r"\r\n|[\r\n\v\f\x85\u2028\u2029]")


class Property(NamedTuple):
    """`DTSTART;TZID=Europe/Berlin:20261120T090000`, without its name."""

    parameters: dict[str, str]
    value: str


VEvent: TypeAlias = dict[str, list[Property]]
"""The properties of a VEVENT by their names, in order. Those of its alarms are left out."""


def events_in(text: str) -> Iterator[VEvent]:
    """The events of a calendar file. Raises BadCalendar if it is too large or ends within an event."""
    if len(text) > LARGEST_FILE:
        raise BadCalendar(f"a calendar file may have {LARGEST_FILE:,} characters, got {len(text):,}")
    event: VEvent | None = None
    inner = 0
    for line in _FOLDED.sub("", text.removeprefix("\ufeff")).split("\n"):
        head, value = _split(line)
        name, *parameters = head.split(";")
        name, within = name.strip().upper(), value.strip().upper()
        if event is None:
            event = {} if (name, within) == ("BEGIN", "VEVENT") else None
        elif name == "BEGIN":
            inner += 1
        elif name == "END" and inner:
            inner -= 1
        elif name == "END":
            yield event
            event = None
        elif not inner:
            event.setdefault(name, []).append(Property(_parameters(parameters), value.strip()))
    if event is not None:
        raise BadCalendar(f"the calendar file ends in the middle of the event {quoted(title_of(event))}")


def value_of(event: VEvent, name: str) -> str:
    """The value of the first property of that name, or an empty text."""
    return event[name][0].value if name in event else ""


def is_cancelled(event: VEvent) -> bool:
    return value_of(event, "STATUS").upper() == "CANCELLED"


def title_of(event: VEvent) -> str:
    return one_line(value_of(event, "SUMMARY")) or "without a title"


def one_line(value: str) -> str:
    """An escaped text as one short line without control characters."""
    plain = _ESCAPED.sub(lambda found: " " if found[1] in "nN" else found[1], value)
    words = "".join(letter if letter.isprintable() else " " for letter in plain).split()
    return " ".join(words)[:_LONGEST_TITLE].strip()


def escaped(text: str) -> str:
    """A text as the value of a property: no letter of it can end its line or begin another property."""
    lines = _LINE_ENDS.sub("\n", text).split("\n")
    printable = ("".join(letter if letter.isprintable() else " " for letter in line) for line in lines)
    return "\\n".join(_TO_ESCAPE.sub(r"\\\g<0>", line) for line in printable)


def folded(lines: Iterator[str]) -> str:
    """The text of a file: each line folded at 75 bytes, never within a letter, and ended by CRLF."""
    return "".join(f"{piece}\r\n" for line in lines for piece in _pieces(line))


def _pieces(line: str) -> Iterator[str]:
    if line.isascii() and len(line) <= _LONGEST_LINE:
        yield line
        return
    piece, size = "", 0
    for letter in line:
        bytes_of_letter = len(letter.encode("utf-8", "replace"))
        if size + bytes_of_letter > _LONGEST_LINE:
            yield piece
            piece, size = " ", 1
        piece += letter
        size += bytes_of_letter
    yield piece


def _split(line: str) -> tuple[str, str]:
    """The name with its parameters, and the value: a quoted parameter may have a colon."""
    head, _, value = line.partition(":")
    if head.count('"') % 2 == 0:
        return head, value
    within_quotes = False
    for place, letter in enumerate(line):
        if letter == '"':
            within_quotes = not within_quotes
        elif letter == ":" and not within_quotes:
            return line[:place], line[place + 1 :]
    return head, value


def _parameters(given: list[str]) -> dict[str, str]:
    pairs = (each.partition("=") for each in given)
    return {name.strip().upper(): value.strip().strip('"') for name, _, value in pairs}
