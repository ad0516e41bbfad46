"""The order in which a model sees messages."""

from itertools import count

from segue.model.records import Event
from segue.model.transcript import in_context_order, message_of


def _log(*facts: tuple[str, str | None, str | None]) -> list[Event]:
    """Events of (type, turn, text): a start has the role of the user, an end that of the assistant."""
    roles = {"stream_start": "user", "stream_end": "assistant", "message": "assistant"}
    numbers = count(1)
    return [
        Event(
            session_id="s",
            seq=next(numbers),
            type=kind,
            at=0,
            turn_id=turn,
            role=roles.get(kind) if words else None,
            content=words,
        )
        for kind, turn, words in facts
    ]


def _words(*facts: tuple[str, str | None, str | None]) -> list[str]:
    return [message.content for message in in_context_order(_log(*facts))]


def test_messages_between_turns_stay_where_they_are() -> None:
    assert _words(
        ("message", None, "before"),
        ("stream_start", "a", "ask"),
        ("stream_end", "a", "answer"),
        ("message", None, "after"),
    ) == ["before", "ask", "answer", "after"]


def test_a_message_from_outside_stands_after_the_turn_it_interrupted() -> None:
    assert _words(
        ("stream_start", "a", "ask"),
        ("tool_started", "a", None),
        ("message", None, "one"),
        ("tool_call", "a", None),
        ("message", None, "two"),
        ("stream_end", "a", "answer"),
        ("stream_start", "b", "ask again"),
    ) == ["ask", "answer", "one", "two", "ask again"]


def test_a_message_that_joined_the_turn_stays_in_it() -> None:
    assert _words(
        ("stream_start", "a", "ask"), ("message", "a", "and this"), ("stream_end", "a", "answer")
    ) == ["ask", "and this", "answer"]


def test_a_turn_that_came_back_after_a_crash_is_still_the_same_turn() -> None:
    assert _words(
        ("stream_start", "a", "ask"),
        ("message", None, "from outside"),
        ("stream_start", "a", None),
        ("stream_end", "a", "answer"),
    ) == ["ask", "answer", "from outside"]


def test_another_turn_that_starts_ends_the_wait_for_one_that_was_lost() -> None:
    assert _words(
        ("stream_start", "a", "ask"),
        ("message", None, "from outside"),
        ("stream_start", "b", "other"),
        ("stream_end", "b", "answer"),
    ) == ["ask", "from outside", "other", "answer"]


def test_a_log_that_ends_in_the_middle_of_a_turn_loses_nothing() -> None:
    assert _words(("stream_start", "a", "ask"), ("message", None, "from outside")) == ["ask", "from outside"]


def test_an_event_without_a_role_is_no_message() -> None:
    [event] = _log(("session_sync", "a", None))
    assert message_of(event) is None
