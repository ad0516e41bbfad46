"""Labelled sentences: what a user may answer to a job's message, and the control that it is."""

from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from segue.model.replies.controls import SNOOZE, Control
from segue.model.replies.word_tables import Action
from segue.times.reader import read_schedule
from segue.times.reader.readers import read_clock, read_duration

FOLDER = Path(__file__).parent / "sentences"
_NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)


class Sentence(NamedTuple):
    language: str
    label: str
    text: str
    set_aside: bool

    @property
    def is_control(self) -> bool:
        return self.label != "-"

    def is_met_by(self, control: Control | None) -> bool:
        """Whether the control is the one of the label, with its time."""
        if control is None or not self.is_control:
            return control is None and not self.is_control
        word, _, rest = self.label.partition(" ")
        if word == "every":
            return control.schedule is not None and _schedule(control.schedule) == _schedule(rest)
        if control.action != Action(word):
            return False
        if word == "snooze":
            return control.wait == (read_duration(rest) if rest else SNOOZE)
        times = [read_clock(each) for each in rest.split()]
        return [at for at in (control.instead_of, control.at) if at is not None] == times


def _schedule(words: str) -> object:
    return read_schedule(words, now=_NOW, zone="UTC")


def sentences(*, set_aside: bool) -> list[Sentence]:
    """Those that the rules were written with, or the third that is set aside."""
    found = []
    for file in sorted(FOLDER.glob("*.txt")):
        lines = [line for line in file.read_text().splitlines() if not line.startswith("#")]
        for number, line in enumerate(lines, 1):
            label, _, text = line.partition(" | ")
            found.append(Sentence(file.stem, label, text, number % 3 == 0))
    return [each for each in found if each.set_aside == set_aside]
