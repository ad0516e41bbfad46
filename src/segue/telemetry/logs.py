"""The log of a process: lines for people on a terminal, JSON for machines elsewhere, never a secret.

Everything logs through the standard library; this puts one handler at its root. What is written is redacted
as the last step, when a line is whole: whatever a library put into it, in a field or in a traceback, is seen.
"""

import json
import logging
import os
import re
import sys
from collections.abc import Iterable
from typing import Any, TextIO
from urllib.parse import quote

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from segue.model.redaction import stands_out

HIDDEN = "•••"

_QUIETER = ("asyncio", "httpcore", "httpcore2", "httpx", "httpx2", "mcp", "uvicorn.error")
"""Libraries that tell of every step: only their warnings are for us."""

_LOOKS_LIKE_ONE = (
    # Authorization: Bearer …, also as a field of JSON or of a Python dict
    re.compile(r"""(?i)(authorization["']?\s*[:=]\s*["']?(?:(?:bearer|basic|token)\s+)?)[^\s"',}]+"""),
    re.compile(r"(?i)\b((?:bearer|basic)\s+)[\w.~+/=-]{8,}"),
    re.compile(r"""(?i)((?:api[_-]?key|password|secret|cookie)["']?\s*[:=]\s*["']?)[^\s"',&}]+"""),
    re.compile(r"\b(sk-)[\w-]{8,}"),
    # the password in postgresql://user:password@host
    re.compile(r"""(\b[a-z][a-z0-9+.-]{0,30}://[^\s/:@]{0,200}:)[^\s"']{1,500}(?=@)"""),
)


class Redaction:
    """Hides the secrets it was told, and whatever looks like one or stands as one."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = {form for secret in secrets if stands_out(secret) for form in _forms(secret)}
        self._longest_first = sorted(known, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        for secret in self._longest_first:
            text = text.replace(secret, HIDDEN)
        for pattern in _LOOKS_LIKE_ONE:
            text = pattern.sub(rf"\1{HIDDEN}", text)
        return text


def configure(
    format: str = "auto",
    *,
    secrets: Iterable[str] = (),
    level: int = logging.INFO,
    stream: TextIO | None = None,
) -> None:
    """Send every log of this process to standard error, or to `stream`; a second call replaces the first."""
    stream = sys.stderr if stream is None else stream
    terminal = stream.isatty()
    human = format == "human" or (format == "auto" and terminal)
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=_facts(human),
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *_rendering(human, colours=terminal and not os.environ.get("NO_COLOR")),
                _Last(Redaction(secrets)),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in _QUIETER:
        logging.getLogger(name).setLevel(max(level, logging.WARNING))


class _Last:
    """The redaction, as the step after the line was made."""

    def __init__(self, redaction: Redaction) -> None:
        self._redaction = redaction

    def __call__(self, logger: WrappedLogger, method: str, line: Any) -> str:
        return self._redaction(str(line))


def _facts(human: bool) -> list[Processor]:
    return [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="%H:%M:%S" if human else "iso", utc=not human),
    ]


def _rendering(human: bool, *, colours: bool) -> list[Processor]:
    if human:
        return [
            structlog.dev.ConsoleRenderer(
                colors=colours,
                pad_event_to=0,
                # Not the fancy one: it shows local variables, and those hold secrets.
                exception_formatter=structlog.dev.plain_traceback,
            )
        ]
    return [
        structlog.processors.format_exc_info,
        _event_as_message,
        structlog.processors.JSONRenderer(ensure_ascii=False),
    ]


def _event_as_message(logger: WrappedLogger, method: str, line: EventDict) -> EventDict:
    """`message` is the name that collectors of logs look for; the time and the level come first."""
    first = {"timestamp": line.pop("timestamp"), "level": line.pop("level"), "logger": line.pop("logger")}
    return {**first, "message": line.pop("event"), **line}


def _forms(secret: str) -> set[str]:
    """The secret as JSON, Python or a URL would spell it."""
    return {secret, json.dumps(secret)[1:-1], repr(secret)[1:-1], quote(secret, safe="")}
