"""Controls: which texts order something, and which are left to the agent."""

from datetime import time, timedelta
from itertools import combinations

import pytest

from segue.model.replies.controls import Control, read_control
from segue.model.replies.word_tables import LANGUAGES, Action, folded
from tests.unit.replies.labelled import Sentence, sentences


def _false_acts(labelled: list[Sentence]) -> list[str]:
    """Sentences that would do something else than their label says."""
    return [each.text for each in labelled if (read := read_control(each.text)) and not each.is_met_by(read)]


def _recall(labelled: list[Sentence]) -> float:
    controls = [each for each in labelled if each.is_control]
    return sum(each.is_met_by(read_control(each.text)) for each in controls) / len(controls)


def test_every_labelled_sentence_that_the_rules_were_written_with_is_read_as_its_label() -> None:
    labelled = sentences(set_aside=False)
    assert [each for each in labelled if not each.is_met_by(read_control(each.text))] == []


def test_no_sentence_that_was_set_aside_causes_a_false_act_and_most_controls_are_read() -> None:
    labelled = sentences(set_aside=True)
    assert len(labelled) == 144
    assert _false_acts(labelled) == []
    assert _recall(labelled) >= 0.95


@pytest.mark.parametrize(
    "text", ["snooze 0", "snooze 0 minutes", "snooze 2 years", "snooze 31 days", "snooze 5"]
)
def test_a_snooze_of_an_impossible_length_is_a_control_without_a_length(text: str) -> None:
    assert read_control(text) == Control(action=Action.SNOOZE, wait=None)


@pytest.mark.parametrize(
    ("text", "wait"), [("snooze 1 minute", timedelta(minutes=1)), ("snooze 30 days", timedelta(days=30))]
)
def test_the_ends_of_the_range_of_a_snooze_belong_to_it(text: str, wait: timedelta) -> None:
    assert read_control(text) == Control(action=Action.SNOOZE, wait=wait)


@pytest.mark.parametrize(
    "text", ["", "   ", "!", "?", "stop\nit now, will you", "x" * 41, "stop " * 9, "\0", "8"]
)
def test_what_is_no_control_is_left_to_the_agent(text: str) -> None:
    assert read_control(text) is None


def test_case_accents_and_marks_do_not_matter() -> None:
    for text in ("STOP", " stop ", "Stop!!", "stop…", "Arrete", "PARA.", "停。"):
        assert read_control(text) == Control(action=Action.STOP)


def test_bare_hours_are_those_of_a_24_hour_clock() -> None:
    assert read_control("make it 8") == Control(action=Action.MAKE, at=time(8))
    assert read_control("make it 20") == Control(action=Action.MAKE, at=time(20))


def test_no_phrase_means_two_actions_in_two_languages() -> None:
    meanings = [
        {folded(phrase): action for action, phrases in table.phrases.items() for phrase in phrases.split("|")}
        for table in LANGUAGES
    ]
    for one, other in combinations(meanings, 2):
        assert {phrase for phrase in one.keys() & other.keys() if one[phrase] != other[phrase]} == set()
