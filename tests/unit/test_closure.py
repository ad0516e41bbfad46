"""The closure: one short message for users, and the details for the run."""

import pytest

from segue.model import closure
from segue.model.closure import Closure


def test_an_answer_is_shown_as_it_is() -> None:
    end = closure.answered("Green.", {"tokens": 3})
    assert (end.state, end.outcome, end.shown, end.reply, end.usage) == (
        "done",
        "ok",
        "Green.",
        "Green.",
        {"tokens": 3},
    )


@pytest.mark.parametrize("text", ["", "  \n"])
def test_an_agent_without_a_word_is_empty_and_still_visible(text: str) -> None:
    end = closure.answered(text, {})
    assert (end.state, end.outcome, end.reply) == ("done", "empty", None)
    assert end.shown


def test_a_failure_shows_no_exception() -> None:
    end = closure.failed("Traceback: secret token 123")
    assert (end.state, end.outcome, end.error) == ("failed", "error", "Traceback: secret token 123")
    assert "secret" not in end.shown


def test_a_failure_shows_the_words_meant_for_people() -> None:
    assert closure.failed("401", shown="The key is not valid.").shown == "The key is not valid."


def test_a_stop_keeps_what_was_said() -> None:
    assert closure.stopped("Half a ", {}).shown == "Half a\n\n(stopped)"
    assert closure.stopped("  ", {}).shown == "(stopped)"
    assert closure.stopped("", {}).reply is None


def test_a_time_out_and_an_interruption_say_what_happened() -> None:
    assert closure.timed_out(30).error == "no answer within 30 s"
    assert "worker was lost" in closure.interrupted("its worker was lost").shown


@pytest.mark.parametrize(
    "end",
    [
        closure.answered("a\x00b", {}),
        closure.failed("a\x00b", shown="a\ud800b"),
        closure.stopped("a\x00b", {}),
    ],
)
def test_no_closure_holds_what_no_database_takes(end: Closure) -> None:
    for words in (end.shown, end.reply, end.error):
        if words is not None:
            words.encode()
            assert "\x00" not in words


def test_the_trigger_of_a_job_shows_its_name_and_its_prompt_unless_hidden() -> None:
    assert closure.trigger_words("cron", "Build", "Read the log.", hidden=False) == (
        "Scheduled cron job triggered: Build\n\nRead the log."
    )
    assert closure.trigger_words("cron", "Build", "Read the log.", hidden=True) == (
        "Scheduled cron job triggered: Build"
    )


def test_the_trigger_of_a_recall_shows_its_name_alone() -> None:
    assert closure.trigger_words("recall", "the exam", "Ask about it.", hidden=False) == "Recall: the exam"
