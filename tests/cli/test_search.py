"""`segue search` and `segue sessions export`, without a running server."""

import json

import pytest

from tests.cli.process import Segue

pytestmark = pytest.mark.usefixtures("ready")


async def test_messages_are_found_by_their_words(segue: Segue) -> None:
    await segue("sessions", "add-message", "web:1", "We did the rollback.", "--user", "ada")
    await segue("sessions", "add-message", "web:2", "今天的天气很好", "--user", "ben")
    found = await segue("search", "rollb")
    assert "web:1" in found.out
    assert "We did the rollback." in found.out
    assert "web:2" in (await segue("search", "天气")).out
    assert (await segue("search", "rollback", "--user", "ben")).out == "No message was found.\n"
    listed = json.loads((await segue("search", "rollback", "--session", "web:1", "--json")).out)
    assert [message["excerpt"] for message in listed["messages"]] == ["We did the rollback."]


async def test_a_query_without_a_word_is_refused(segue: Segue) -> None:
    await segue("db", "migrate")
    ended = await segue("search", "?!")
    assert (ended.code, ended.out) == (2, "")
    assert "give a word or a character to search for" in ended.err


async def test_an_exported_conversation_can_be_imported(segue: Segue) -> None:
    told = [
        {"role": "user", "content": "Hello\nyou\u2028there", "created_at": "2026-11-16T09:00:00+01:00"},
        {"role": "assistant", "content": "Good morning.", "created_at": "2026-11-16T09:00:05+01:00"},
    ]
    await segue("sessions", "add-messages", "web:1", text=json.dumps(told))
    exported = await segue("sessions", "export", "web:1", "--format", "json")
    (segue.folder / "kept.jsonl").write_text(exported.out, "utf-8")
    imported = await segue("sessions", "import", "kept.jsonl", "--key", "web:2", "--json")
    assert json.loads(imported.out)["conversations"][0]["added"] == 2
    again = await segue("sessions", "export", "web:2", "--json")
    fields = ("role", "content", "created_at")
    assert [[json.loads(line)[name] for name in fields] for line in again.out.splitlines()] == [
        [json.loads(line)[name] for name in fields] for line in exported.out.splitlines()
    ]


async def test_an_export_as_markdown_is_for_readers(segue: Segue) -> None:
    await segue("sessions", "add-message", "web:1", "Hello.", "--created-at", "2026-11-16T09:00:00Z")
    exported = await segue("sessions", "export", "web:1")
    assert exported.out == "# Hello.\n\n## User, 2026-11-16 09:00 UTC\n\nHello.\n"
    other = await segue("sessions", "export", "web:1", "--user", "ben")
    assert (other.code, other.out) == (1, "")
