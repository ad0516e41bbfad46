"""Checks of texts and keys, and the cleaning of texts that cannot be stored."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue.errors import BadKey, BadText
from segue.model.text_checks import MAX_KEY, MAX_TEXT, check_key, check_text, clean


@pytest.mark.parametrize("text", ["a", "x" * MAX_TEXT, "Ünïcödé 🜂", "line\nline", "\ttab"])
def test_a_valid_text_is_returned(text: str) -> None:
    assert check_text(text, "a message") == text


@pytest.mark.parametrize(
    "text", ["", " \n", "\x00", "a\ud800", "\udfff", "x" * (MAX_TEXT + 1), None, 3, b"a"]
)
def test_an_invalid_text_is_refused_by_name(text: object) -> None:
    with pytest.raises(BadText, match="a message"):
        check_text(text, "a message")


@pytest.mark.parametrize(
    "key", ["web:1", "telegram:-100123", "unified:default", "a:b:c", "w:" + "x" * (MAX_KEY - 2)]
)
def test_a_key_is_a_channel_and_a_chat(key: str) -> None:
    assert check_key(key) == key


@pytest.mark.parametrize(
    "key",
    [
        "",
        "web",
        "web:",
        ":1",
        "we b:1",
        "web:a b",
        "a/b:1",
        "web:a/b",
        "web:\n",
        "web:\x7f",
        "w:" + "x" * MAX_KEY,
    ],
)
def test_anything_else_is_no_key(key: str) -> None:
    with pytest.raises(BadKey):
        check_key(key)


@given(st.text(st.characters(codec=None)))
def test_any_text_can_be_stored_once_it_is_cleaned(text: str) -> None:
    kept = clean(text)
    kept.encode()
    assert "\x00" not in kept
    assert len(kept) == len(text)


@given(st.text(st.characters(codec="utf-8", exclude_characters="\x00")))
def test_a_clean_text_is_not_changed(text: str) -> None:
    assert clean(text) == text
