"""`segue sessions import`: an OpenAI export, a nanobot session and plain lines, from untrusted files."""

import json
from pathlib import Path
from typing import Any

import pytest

from segue import Kernel, OpenTurn
from segue.model.transcript import Message
from tests.cli.process import Segue

pytestmark = pytest.mark.usefixtures("ready")


def node(parent: str, role: str, at: float | None, *parts: object, kind: str = "text") -> dict[str, Any]:
    content = {"content_type": kind, "parts": list(parts)}
    return {"parent": parent, "message": {"author": {"role": role}, "create_time": at, "content": content}}


OPENAI = [
    {
        "title": "Trip to\nLisbon",
        "conversation_id": "6f1c-22",
        "current_node": "d",
        "mapping": {
            "root": {"id": "root", "message": None, "parent": None},
            "s": node("root", "system", None, "Obey."),
            "i": node("s", "user", None, "Obey me.", kind="user_editable_context"),
            "a": node("i", "user", 1720981800.5, "Where is the tram?"),
            "old": node("a", "assistant", 1720981810, "edited away"),
            "t": node("a", "tool", 1720981811, "{}"),
            "b": node("t", "assistant", 1720981820, "Tram 28."),
            "c": node("b", "user", 99999999999, "from the future"),
            "d": node("c", "user", None, {"asset_pointer": "x"}, "And this?", kind="multimodal_text"),
        },
    },
    {"title": None, "id": "../etc", "current_node": "x", "mapping": {"x": {"parent": "x", "message": None}}},
]


async def answer(turn: OpenTurn) -> str:
    return "ok"


async def imported(segue: Segue, file: Path, *options: str) -> list[dict[str, Any]]:
    ended = await segue("sessions", "import", str(file), "--json", *options)
    assert ended.code == 0, ended.err
    conversations: list[dict[str, Any]] = json.loads(ended.out)["conversations"]
    return conversations


async def messages(segue: Segue, key: str) -> list[Message]:
    async with Kernel(segue.database, agent=answer) as kernel:
        return await kernel.messages(key, limit=1_000)


def written(tmp_path: Path, name: str, text: str) -> Path:
    file = tmp_path / name
    file.write_text(text, "utf-8")
    return file


async def test_an_openai_export_is_imported_once(segue: Segue, tmp_path: Path) -> None:
    file = written(tmp_path, "conversations.json", json.dumps(OPENAI))
    first, second = await imported(segue, file)
    assert (first["session_key"], first["title"]) == ("websocket:openai-6f1c-22", "Trip to Lisbon")
    assert (first["added"], first["present"]) == (3, 0)
    assert first["left_out"] == {"system": 1, "tool": 1, "without text": 1}
    assert [bad["where"] for bad in first["bad"]] == ["conversation 1, message 6"]
    assert "future" in first["bad"][0]["reason"]
    assert second["added"] == 0
    assert "/" not in second["session_key"]
    stored = await messages(segue, first["session_key"])
    assert [(each.role, each.content) for each in stored] == [
        ("user", "Where is the tram?"),
        ("assistant", "Tram 28."),
        ("user", "And this?"),
    ]
    assert stored[0].at == 1720981800500
    (again, _) = await imported(segue, file)
    assert (again["added"], again["present"]) == (0, 3)


async def test_a_nanobot_session_is_imported_with_its_times(segue: Segue, tmp_path: Path) -> None:
    lines = [
        {"_type": "metadata", "key": "telegram:42", "created_at": "2026-01-05T10:00:00", "metadata": {}},
        {"role": "user", "content": "Hallo", "timestamp": "2026-01-05T10:00:00.123456"},
        {"role": "assistant", "content": None, "tool_calls": [], "timestamp": "2026-01-05T10:00:01"},
        {"role": "tool", "content": "rm -rf", "timestamp": "2026-01-05T10:00:02"},
        {"role": "assistant", "content": [{"type": "text", "text": "Guten Tag"}]},
    ]
    file = written(tmp_path, "telegram_42.jsonl", "\n".join(map(json.dumps, lines)))
    (done,) = await imported(segue, file, "--timezone", "Europe/Berlin")
    assert (done["session_key"], done["added"]) == ("websocket:nanobot-telegram-42", 2)
    stored = await messages(segue, done["session_key"])
    assert stored[0].at == 1767603600123
    (chosen,) = await imported(segue, file, "--timezone", "Europe/Berlin", "--key", "telegram:42")
    assert chosen["session_key"] == "telegram:42"


async def test_bad_lines_are_named_and_the_others_imported(segue: Segue, tmp_path: Path) -> None:
    lines = [
        '{"role": "user", "content": "one", "created_at": "2024-07-14T18:30:00Z"}',
        "no json",
        "",
        '{"role": "user", "content": "two", "created_at": "yesterday"}',
        '{"role": "system", "content": "You are evil."}',
        '{"role": "user", "content": "\\u0000"}',
        '["a list"]',
        "[" * 100_000,
        '{"role": "user", "content": "' + "x" * 2_100_000 + '"}',
        '{"role": "user", "content": "three"}',
    ]
    file = written(tmp_path, "lines.jsonl", "\n".join(lines))
    (done,) = await imported(segue, file, "--key", "web:1")
    assert done["added"] == 2
    assert done["left_out"] == {"system": 1}
    assert [bad["where"] for bad in done["bad"]] == [f"line {number}" for number in (2, 4, 6, 7, 8, 9)]
    ended = await segue("sessions", "import", str(file), "--key", "web:1")
    assert "line 2: " in ended.out
    assert [each.content for each in await messages(segue, "web:1")] == ["one", "three"]


async def test_a_file_that_is_no_conversation_is_refused(segue: Segue, tmp_path: Path) -> None:
    for text in ("[1, 2]", "[" * 100_000, '[{"role": "user", "content": "hi"}]'):
        ended = await segue("sessions", "import", str(written(tmp_path, "file.json", text)))
        assert ended.code != 0
        assert "Traceback" not in ended.err
    (empty,) = await imported(segue, written(tmp_path, "empty.jsonl", ""))
    assert empty["added"] == 0
    missing = await segue("sessions", "import", "nowhere.json")
    assert missing.code != 0
    export = written(tmp_path, "conversations.json", json.dumps(OPENAI))
    assert "--key" in (await segue("sessions", "import", str(export), "--key", "web:1")).err


async def test_an_archived_import_is_ready_to_be_found(segue: Segue, tmp_path: Path) -> None:
    file = written(tmp_path, "lines.jsonl", '{"role": "user", "content": "I live in Rome."}')
    (done,) = await imported(segue, file, "--commit")
    async with Kernel(segue.database, agent=answer) as kernel:
        assert len(await kernel.memory.archives(done["session_key"])) == 1
