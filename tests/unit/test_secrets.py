"""What errors may not tell."""

import pytest

from segue.model.redaction import redact

ENVIRONMENT = {"SOME_API_KEY": "hunter2hunter2", "HOME": "/home/ann"}


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ("key hunter2hunter2 is not known", "key … is not known"),
        ("Authorization: Bearer abc.def", "Authorization: Bearer …"),
        ("sk-proj-12345678 was refused", "… was refused"),
        ("postgresql://ann:secret@db/segue", "postgresql://…@db/segue"),
        ("GET /?api_key=abc&token=def&page=2", "GET /?api_key=…&token=…&page=2"),
        ("no such file: /home/ann", "no such file: /home/ann"),
    ],
)
def test_a_secret_leaves_no_error(error: str, told: str) -> None:
    assert redact(error, ENVIRONMENT) == told


def test_what_this_process_was_given_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER_TOKEN", "open-sesame-1")
    assert redact("open-sesame-1 is wrong") == "… is wrong"


@pytest.mark.parametrize("password", ["segue", "postgres", "correcthorse"])
def test_a_password_that_is_a_word_is_hidden_where_it_stands_as_one(password: str) -> None:
    told = (
        f"{password} could not open postgresql://ann:{password}@db/{password} with password={password} "
        f"and password: {password}"
    )
    assert redact(told, {"PGPASSWORD": password}) == (
        f"{password} could not open postgresql://…@db/{password} with password=… and password: …"
    )
