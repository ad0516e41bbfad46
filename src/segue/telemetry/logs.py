"""Logging: readable lines on a terminal, JSON elsewhere, with secrets redacted.

All modules log through the standard library; `configure` installs one handler at its root. Redaction is the
last step, on the rendered line, so it covers fields and tracebacks of libraries too.
"""

import json
import logging
import os
import re
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TextIO
from urllib.parse import quote

from segue.model.agent import turn_of_task
from segue.model.redaction import known_secrets, stands_out

if TYPE_CHECKING:
    from structlog.typing import EventDict, Processor, WrappedLogger

HIDDEN = "•••"

_VERBOSE_LIBRARIES = ("asyncio", "httpcore", "httpcore2", "httpx", "httpx2", "mcp", "uvicorn.error")
"""Libraries that log every step: only their warnings are kept."""
_REQUESTS = "uvicorn.access"
"""Logs every request: a page view is dozens of lines, which a person on a terminal does not read."""

_SECRET_PATTERNS = (
    # Authorization: Bearer …, also as a field of JSON or of a Python dict
    re.compile(r"""(?i)(authorization["']?\s*[:=]\s*["']?(?:(?:bearer|basic|token)\s+)?)[^\s"',}]+"""),
    re.compile(r"(?i)\b((?:bearer|basic)\s+)[\w.~+/=-]{8,}"),
    re.compile(r"""(?i)((?:api[_-]?key|password|secret|cookie)["']?\s*[:=]\s*["']?)[^\s"',&}]+"""),
    re.compile(r"\b(sk-)[\w-]{8,}"),
    # the token in the address of a calendar
    re.compile(r"(?i)(/calendar/)[\w%/-]{8,}"),
    # the password in postgresql://user:password@host
    re.compile(r"""(\b[a-z][a-z0-9+.-]{0,30}://[^\s/:@]{0,200}:)[^\s"']{1,500}(?=@)"""),
)


class Redaction:
    """Hides the given secrets, and text that looks like one."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._given = frozenset(secrets)
        self._secrets: frozenset[str] | None = None
        self._longest_first: list[str] = []

    def __call__(self, text: str) -> str:
        for secret in self._forms():
            text = text.replace(secret, HIDDEN)
        for pattern in _SECRET_PATTERNS:
            text = pattern.sub(rf"\1{HIDDEN}", text)
        return text

    def _forms(self) -> list[str]:
        """All spellings of the secrets, the longest first. A model's key may be connected at any time."""
        secrets = self._given | known_secrets()
        if secrets != self._secrets:
            known = {form for secret in secrets if stands_out(secret) for form in _forms(secret)}
            self._secrets, self._longest_first = secrets, sorted(known, key=len, reverse=True)
        return self._longest_first


def configure(
    format: str = "auto",
    *,
    secrets: Iterable[str] = (),
    level: int = logging.INFO,
    stream: TextIO | None = None,
) -> None:
    """Send all logs of this process to standard error, or to `stream`. A second call replaces the first."""
    import structlog

    stream = sys.stderr if stream is None else stream
    terminal = stream.isatty()
    human = format == "human" or (format == "auto" and terminal)
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=_collectors(human),
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *_renderers(human, colours=terminal and not os.environ.get("NO_COLOR")),
                _RedactLine(Redaction(secrets)),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in (*_VERBOSE_LIBRARIES, *([_REQUESTS] if human else [])):
        logging.getLogger(name).setLevel(max(level, logging.WARNING))


def configure_errors(secrets: Iterable[str] = ()) -> None:
    """For a short command: plain lines on standard error, redacted, without loading the log library."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_PlainFormatter(Redaction(secrets)))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.ERROR)


class _PlainFormatter(logging.Formatter):
    def __init__(self, redaction: Redaction) -> None:
        super().__init__("%(levelname)s %(name)s: %(message)s")
        self._redaction = redaction

    def format(self, record: logging.LogRecord) -> str:
        return self._redaction(super().format(record))


class _RedactLine:
    """The last processor: redacts the rendered line."""

    def __init__(self, redaction: Redaction) -> None:
        self._redaction = redaction

    def __call__(self, logger: "WrappedLogger", method: str, line: Any) -> str:
        return self._redaction(str(line))


def _collectors(human: bool) -> "list[Processor]":
    import structlog

    return [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        _add_turn,
        structlog.processors.TimeStamper(fmt="%H:%M:%S" if human else "iso", utc=not human),
    ]


def _add_turn(logger: "WrappedLogger", method: str, line: "EventDict") -> "EventDict":
    """The ids of the turn in whose task a line is logged, also by a library that its agent uses."""
    turn = turn_of_task()
    if turn is not None:
        line["turn_id"], line["session_id"] = turn.id, turn.session.id
        if turn.source is not None:
            line["run_id"] = turn.source.run_id
    return line


def _renderers(human: bool, *, colours: bool) -> "list[Processor]":
    import structlog

    if human:
        return [
            structlog.dev.ConsoleRenderer(
                0,  # no padding of the event; the argument's name differs between versions of structlog
                colors=colours,
                # The default formatter shows local variables, which may hold secrets.
                exception_formatter=structlog.dev.plain_traceback,
            )
        ]
    return [
        structlog.processors.format_exc_info,
        _event_as_message,
        structlog.processors.JSONRenderer(ensure_ascii=False),
    ]


def _event_as_message(logger: "WrappedLogger", method: str, line: "EventDict") -> "EventDict":
    """Rename `event` to `message`, which log collectors expect; time and level come first."""
    first = {"timestamp": line.pop("timestamp"), "level": line.pop("level"), "logger": line.pop("logger")}
    return {**first, "message": line.pop("event"), **line}


def _forms(secret: str) -> set[str]:
    """Return the secret as JSON, Python and a URL spell it."""
    return {secret, json.dumps(secret)[1:-1], repr(secret)[1:-1], quote(secret, safe="")}
