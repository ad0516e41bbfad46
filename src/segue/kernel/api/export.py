"""Export: writes a conversation as Markdown, or as lines of JSON that `segue sessions import` reads."""

import json
from datetime import tzinfo
from enum import StrEnum
from zoneinfo import ZoneInfo

from segue.model.files import File
from segue.model.records import Session
from segue.model.transcript import Message
from segue.times.clock import to_moment

_LINE_ENDS = {ord(each): f"\\u{ord(each):04x}" for each in "\x85\u2028\u2029"}
"""Characters that JSON leaves as they are, and at which some readers end a line."""


class ExportFormat(StrEnum):
    MARKDOWN = "markdown"
    JSON = "json"

    @property
    def suffix(self) -> str:
        return "md" if self is ExportFormat.MARKDOWN else "jsonl"


def heading(session: Session, format: ExportFormat) -> str:
    """What stands before the messages."""
    return f"# {_line(session.title or session.key)}\n" if format is ExportFormat.MARKDOWN else ""


def exported(message: Message, session: Session, format: ExportFormat) -> str:
    """A message as text, which ends with the end of a line; Markdown leaves out what was replaced."""
    if format is ExportFormat.MARKDOWN and message.replaced_by is not None:
        return ""
    zone = ZoneInfo(session.timezone or "UTC")
    return _markdown(message, zone) if format is ExportFormat.MARKDOWN else _json_line(message)


def _markdown(message: Message, zone: tzinfo) -> str:
    said = to_moment(message.at).astimezone(zone)
    title = f"## {message.role.capitalize()}, {said:%Y-%m-%d %H:%M %Z}"
    files = "\n".join(f"- Attachment: {_line(file.name)} ({file.media_type})" for file in message.parts)
    return "".join(f"\n{part}\n" for part in (title, message.content.strip(), files) if part)


def _json_line(message: Message) -> str:
    fields = {
        "role": message.role,
        "content": message.content,
        "created_at": to_moment(message.at).isoformat(timespec="milliseconds"),
        "seq": message.seq,
        "turn_id": message.turn_id,
        "parts": [_part(file) for file in message.parts],
        "replaces": message.replaces,
        "replaced_by": message.replaced_by,
    }
    return json.dumps(fields, ensure_ascii=False).translate(_LINE_ENDS) + "\n"


def _part(file: File) -> dict[str, str | int]:
    return {"id": file.id, "name": file.name, "media_type": file.media_type, "size": file.size}


def _line(text: str) -> str:
    return " ".join(text.split())
