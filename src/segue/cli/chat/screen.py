"""Terminal display of `segue chat`: streams the answer and shows other events of the session.

While the user types at the prompt, nothing is streamed. A complete message is then shown above the prompt and
the typed text.
"""

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Iterable

from segue.cli.chat.markdown_lines import MarkdownLines, styled
from segue.cli.support.output import printable
from segue.cli.support.table import cells
from segue.kernel.live.hub import LiveText
from segue.model.records import Event, Source
from segue.model.transcript import Message

PROMPT = "> "
_LONGEST_ARGUMENTS = 80
_ERASE_LINE = "\r\x1b[2K"


class Screen:
    def __init__(self) -> None:
        self._plain = bool(os.environ.get("NO_COLOR"))
        self._dim_codes = ("", "") if self._plain else ("\x1b[2m", "\x1b[22m")
        self._markdown = MarkdownLines()
        self._written = ""
        """The text of the line that is being streamed."""
        self._at_prompt = False
        self._own: set[str] = set()
        self._turn_id: str | None = None
        self._shown_text = ""
        self._thinking = False

    def read_line(self) -> str:
        """Read a line. Raises EOFError on Ctrl-D and KeyboardInterrupt on Ctrl-C."""
        self._at_prompt = True
        try:
            return input(PROMPT)
        finally:
            self._at_prompt = False

    def expect(self, turn_id: str, position: int) -> None:
        """This client started the turn, so its question is already on the screen."""
        self._own.add(turn_id)
        if position:
            self.note(f"({position} queued before it)")

    def show_history(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self._line(self._as_line(message.role, message.content, message.source))

    def note(self, text: str) -> None:
        """Show a sentence of the chat itself, broken between words."""
        columns = shutil.get_terminal_size().columns
        lines = [textwrap.fill(line, columns, break_on_hyphens=False) for line in text.splitlines()]
        self._line(self._dim("\n".join(lines)))

    def show(self, item: Event | LiveText) -> None:
        if isinstance(item, LiveText):
            self._show_live_text(item)
        elif isinstance(item, Event):
            self._show_event(item)

    def _show_live_text(self, piece: LiveText) -> None:
        if self._at_prompt:
            return
        if piece.type == "thinking_delta":
            self._thinking = True
            self._write(self._dim(printable(piece.text)))
            return
        if self._thinking:
            self._thinking = False
            self._write("\n")
        self._shown_text += piece.text
        self._stream(printable(piece.text))

    def _show_event(self, event: Event) -> None:
        match event.type:
            case "stream_start":
                self._turn_id, self._shown_text, self._thinking = event.turn_id, "", False
                self._markdown, self._written = MarkdownLines(), ""
                if event.role is not None and event.turn_id not in self._own and not self._at_prompt:
                    self._line(self._as_line(event.role, event.content or "", event.source))
            case "tool_started" if not self._at_prompt:
                self._break_line()
                self._line(self._dim(_call(event)))
            case "stream_end":
                self._end(event)
            case "message" if event.role is not None and "joined_turn_id" not in event.body:
                self._line(self._as_line(event.role, event.content or "", event.source))

    def _end(self, event: Event) -> None:
        content = event.content or ""
        if not content:
            return
        if self._at_prompt:
            self._line(self._as_line("assistant", content, event.source))
        elif self._shown_text and content.startswith(self._shown_text):
            self._stream(printable(content[len(self._shown_text) :]))
            self._finish_line()
        else:
            self._break_line()
            self._line(self._styled(printable(content)))

    def _stream(self, text: str) -> None:
        first, *lines = text.split("\n")
        self._extend_line(first)
        for line in lines:
            self._finish_line()
            self._extend_line(line)

    def _extend_line(self, text: str) -> None:
        self._written += text
        self._write(text)

    def _finish_line(self) -> None:
        """End the streamed line. If it contains Markdown, write it again with its style."""
        line = self._markdown.line(self._written)
        if line != self._written and not self._plain:
            rows = max(0, cells(self._written) - 1) // shutil.get_terminal_size().columns
            up = f"\x1b[{rows}A" if rows else ""
            self._write(f"{up}\r\x1b[J{line}")
        self._write("\n")
        self._written = ""

    def _styled(self, text: str) -> str:
        return text if self._plain else styled(text)

    def _as_line(self, role: str, content: str, source: Source | None) -> str:
        content = printable(content)
        if role == "user":
            return content if source is not None else f"{PROMPT}{content}"
        content = self._styled(content)
        return content if source is None else f"[{source.kind}: {printable(source.label)}] {content}"

    def _break_line(self) -> None:
        if self._shown_text and not self._shown_text.endswith("\n"):
            self._finish_line()
        elif self._thinking:
            self._write("\n")
        self._thinking = False

    def _line(self, text: str) -> None:
        if self._at_prompt:
            self._write(f"{_ERASE_LINE}{text}\n{PROMPT}{_typed_so_far()}")
        else:
            self._write(f"{text}\n")

    def _dim(self, text: str) -> str:
        return f"{self._dim_codes[0]}{text}{self._dim_codes[1]}"

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()


def _call(event: Event) -> str:
    arguments = json.dumps(event.body.get("arguments", {}), ensure_ascii=False)
    if len(arguments) > _LONGEST_ARGUMENTS:
        arguments = f"{arguments[:_LONGEST_ARGUMENTS]}…"
    return printable(f"· {event.body.get('name')} {arguments}")


def _typed_so_far() -> str:
    try:
        import readline
    except ImportError:  # Windows has none
        return ""
    return readline.get_line_buffer()
