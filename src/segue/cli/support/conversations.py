"""Reader of conversation files: an OpenAI export, a nanobot session, or one JSON object a line.

A file is untrusted: it has limits, it does not choose the session that it is stored in, and only what users
and assistants said is taken from it. System prompts, custom instructions, tool calls and thoughts are left
out and counted. What cannot be read is reported with its line and skipped.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from segue.cli.support.read_file import unreadable
from segue.errors import BadText, SegueError
from segue.kernel.api.import_messages import IMPORTED_ROLES
from segue.model.text_checks import MAX_NAME
from segue.model.written_message import GivenMessage, SaidAt, written_message
from segue.record import record

MOST_BYTES = 512 * 1024 * 1024
LONGEST_LINE = 2_000_000
MOST_NODES = 100_000
"""Of one conversation of an OpenAI export."""
_TEXTS = ("text", "multimodal_text")
"""Contents that a person reads. Others are custom instructions, thoughts and results of tools."""
_SAFE_NAME = r"[A-Za-z0-9._-]{1,100}"


@record
class BadPart:
    """What could not be read, and why."""

    where: str
    reason: str


@dataclass
class ConversationInFile:
    name: str
    """Unique in its source: it becomes part of the session's key."""
    title: str | None = None
    messages: list[GivenMessage] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    bad: list[BadPart] = field(default_factory=list)

    @property
    def key(self) -> str:
        return f"websocket:{self.name}"


@record
class FileContext:
    """When a file is read, and the zone of its times that have none."""

    now: int
    zone: ZoneInfo


def read_conversations(file: Path, reading: FileContext) -> list[ConversationInFile]:
    """The conversations of a file. Raises `BadText` if none can be read from it."""
    try:
        size = file.stat().st_size
        if size > MOST_BYTES:
            raise BadText(f"{file} has {size:,} bytes; a conversation file has at most {MOST_BYTES:,}")
        with file.open(encoding="utf-8-sig") as opened:
            first = next(
                (line for line in iter(lambda: opened.readline(LONGEST_LINE), "") if line.strip()), ""
            )
            opened.seek(0)
            if first.lstrip().startswith("["):
                return list(_openai(_parsed(opened.read(), str(file)), reading))
            return [_json_lines(enumerate(_lines(opened), start=1), file.stem, reading)]
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(file, "the conversations in", error) from None


def _lines(opened: Any) -> Iterator[str]:
    """The lines of a file; of a line that is too long only its beginning, which is one character too long."""
    while line := opened.readline(LONGEST_LINE + 1):
        yield line
        while len(line) > LONGEST_LINE and not line.endswith("\n"):
            line = opened.readline(LONGEST_LINE + 1)


def _parsed(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadText(f"{what} is no JSON: {error}") from None


def _json_lines(lines: Iterator[tuple[int, str]], stem: str, reading: FileContext) -> ConversationInFile:
    """A nanobot session, which begins with a line of metadata, or plain lines of messages."""
    conversation = ConversationInFile(name=f"import-{_safe(stem)}")
    for number, line in lines:
        if not line.strip():
            continue
        where = f"line {number}"
        try:
            if len(line) > LONGEST_LINE:
                raise BadText(f"the line is longer than {LONGEST_LINE:,} characters")
            given = _parsed(line, "the line")
            if isinstance(given, dict) and given.get("_type") == "metadata":
                conversation.name = f"nanobot-{_safe(str(given.get('key') or stem))}"
                continue
            if isinstance(given, dict) and given.get("replaced_by"):
                continue  # the message that replaced it follows
            _add_line(conversation, given, reading)
        except SegueError as error:
            conversation.bad.append(BadPart(where=where, reason=str(error)))
    return conversation


def _add_line(conversation: ConversationInFile, given: Any, reading: FileContext) -> None:
    if not isinstance(given, dict) or not isinstance(given.get("role"), str):
        raise BadText('a line is {"role": …, "content": …, "created_at": …}')
    said = given.get("created_at", given.get("timestamp"))
    if said is not None and not isinstance(said, str):
        raise BadText(f"created_at is RFC 3339, such as 2026-11-16T09:00:00+01:00, got {type(said).__name__}")
    _add(conversation, given["role"], _text(given.get("content")), _zoned(said, reading), reading)


def _add(conversation: ConversationInFile, role: str, text: str, said: SaidAt, reading: FileContext) -> None:
    """Add a message, or count it as left out. Raises if it cannot be stored."""
    if role not in IMPORTED_ROLES:
        conversation.left_out[role if role in ("system", "tool", "developer") else "other roles"] += 1
    elif not text.strip():
        conversation.left_out["without text"] += 1
    else:
        message = (role, text, said)
        written_message(*message, now=reading.now)
        conversation.messages.append(message)


def _text(content: Any) -> str:
    """A content as text: a string, or the texts of its parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return "\n".join(text for text in texts if isinstance(text, str) and text.strip())


def _zoned(said: str | None, reading: FileContext) -> SaidAt:
    """The time, in the zone of the reading if it names none, as nanobot's do."""
    if said is None:
        return None
    try:
        moment = datetime.fromisoformat(said)
    except ValueError:
        return said  # refused with a sentence where it is checked
    return moment.replace(tzinfo=reading.zone) if moment.tzinfo is None and "T" in said else said


def _openai(given: Any, reading: FileContext) -> Iterator[ConversationInFile]:
    if not isinstance(given, list) or not all(isinstance(each, dict) and "mapping" in each for each in given):
        raise BadText(
            "a file that begins with [ is an OpenAI export: a list of conversations with a `mapping`; "
            "for a list of messages write one a line"
        )
    names: set[str] = set()
    for number, each in enumerate(given, start=1):
        conversation = _conversation(each, number, reading)
        if conversation.name in names:
            conversation.messages.clear()
            conversation.bad.append(BadPart(where=f"conversation {number}", reason="its id is not unique"))
        names.add(conversation.name)
        yield conversation


def _conversation(given: Mapping[str, Any], number: int, reading: FileContext) -> ConversationInFile:
    named = given.get("conversation_id") or given.get("id") or given.get("title") or number
    conversation = ConversationInFile(name=f"openai-{_safe(str(named))}", title=_title(given.get("title")))
    said: SaidAt = None
    for place, message in enumerate(_path(given), start=1):
        try:
            at = _epoch(message.get("create_time")) or said
            author, content = message.get("author"), message.get("content")
            role = author.get("role") if isinstance(author, dict) else None
            shown = isinstance(content, dict) and content.get("content_type") in _TEXTS
            text = _text(content.get("parts")) if isinstance(content, dict) and shown else ""
            _add(conversation, str(role), text, at, reading)
            said = at
        except SegueError as error:
            where = f"conversation {number}, message {place}"
            conversation.bad.append(BadPart(where=where, reason=str(error)))
    return conversation


def _path(given: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The messages from the root to the newest one, by their parents. Other branches were edited away."""
    nodes, at = given["mapping"], given.get("current_node")
    messages: list[Mapping[str, Any]] = []
    seen: set[str] = set()
    while isinstance(nodes, dict) and isinstance(at, str) and at not in seen and len(seen) < MOST_NODES:
        seen.add(at)
        node = nodes.get(at)
        if not isinstance(node, dict):
            break
        if isinstance(node.get("message"), dict):
            messages.append(node["message"])
        at = node.get("parent")
    return messages[::-1]


def _epoch(seconds: Any) -> SaidAt:
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise BadText(f"create_time is a number of seconds, got {type(seconds).__name__}")
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        raise BadText("create_time is no moment of the calendar") from None


def _title(given: Any) -> str | None:
    title = " ".join(given.split())[:MAX_NAME] if isinstance(given, str) else ""
    return title if title and not re.search("[\x00\ud800-\udfff]", title) else None


def _safe(name: str) -> str:
    """A name that may be part of a session's key."""
    plain = re.sub(r"[:_\s]+", "-", name)
    return (
        plain if re.fullmatch(_SAFE_NAME, plain) else sha256(name.encode("utf-8", "replace")).hexdigest()[:16]
    )
