"""Redaction: error texts contain no secrets."""

import pytest

from segue.model.redaction import redact

ENVIRONMENT = {"SOME_API_KEY": "hunter2hunter2", "HOME": "/home/ann"}


@pytest.mark.parametrize(
    ("error", "redacted"),
    [
        ("key hunter2hunter2 is not known", "key … is not known"),
        ("Authorization: Bearer abc.def", "Authorization: Bearer …"),
        ("sk-proj-12345678 was refused", "… was refused"),
        ("postgresql://ann:secret@db/segue", "postgresql://…@db/segue"),
        ("GET /?api_key=abc&token=def&page=2", "GET /?api_key=…&token=…&page=2"),
        ("GET /a/calendar/k3-Tq_x9Zw0aB.ics failed", "GET /a/calendar/….ics failed"),
        ("no such file: /home/ann", "no such file: /home/ann"),
    ],
)
def test_a_secret_is_removed_from_an_error(error: str, redacted: str) -> None:
    assert redact(error, ENVIRONMENT) == redacted


def test_a_secret_of_the_environment_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER_TOKEN", "open-sesame-1")
    assert redact("open-sesame-1 is wrong") == "… is wrong"


@pytest.mark.parametrize("password", ["segue", "postgres", "correcthorse"])
def test_a_password_that_is_a_word_is_removed_only_where_it_is_a_password(password: str) -> None:
    error = (
        f"{password} could not open postgresql://ann:{password}@db/{password} with password={password} "
        f"and password: {password}"
    )
    assert redact(error, {"PGPASSWORD": password}) == (
        f"{password} could not open postgresql://…@db/{password} with password=… and password: …"
    )
