"""The terminal of `segue chat`: an answer as it is being said, and what happens beside it.

While the user is at the prompt nothing is said into the line: what happens meanwhile is shown whole when it
has ended, above the prompt and what was typed so far.
"""

import json
import os
import sys
from collections.abc import Iterable

from segue.cli.support.output import printable
from segue.kernel.live.hub import Heard, LiveText
from segue.model.records import Event, Source
from segue.model.transcript import Message

PROMPT = "> "
_LONGEST_ARGUMENTS = 80
_ERASE_LINE = "\r\x1b[2K"


class Screen:
    def __init__(self) -> None:
        self._faint = ("", "") if os.environ.get("NO_COLOR") else ("\x1b[2m", "\x1b[22m")
        self._at_prompt = False
        self._own: set[str] = set()
        self._turn_id: str | None = None
        self._said = ""
        self._thinking = False

    def read_line(self) -> str:
        """What the user types. EOFError and KeyboardInterrupt are theirs to raise."""
        self._at_prompt = True
        try:
            return input(PROMPT)
        finally:
            self._at_prompt = False

    def expect(self, turn_id: str, position: int) -> None:
        """The turn was asked for here: its question is on the screen already."""
        self._own.add(turn_id)
        if position:
            self.note(f"({position} before it)")

    def show_history(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self._line(_as_line(message.role, message.content, message.source))

    def note(self, words: str) -> None:
        self._line(self._whisper(words))

    def hear(self, heard: Heard) -> None:
        if isinstance(heard, LiveText):
            self._hear_live(heard)
        elif isinstance(heard, Event):
            self._hear_event(heard)

    def _hear_live(self, piece: LiveText) -> None:
        if self._at_prompt:
            return
        if piece.type == "thinking_delta":
            self._thinking = True
            self._write(self._whisper(printable(piece.text)))
            return
        if self._thinking:
            self._thinking = False
            self._write("\n")
        self._said += piece.text
        self._write(printable(piece.text))

    def _hear_event(self, event: Event) -> None:
        match event.type:
            case "stream_start":
                self._turn_id, self._said, self._thinking = event.turn_id, "", False
                if event.role is not None and event.turn_id not in self._own and not self._at_prompt:
                    self._line(_as_line(event.role, event.content or "", event.source))
            case "tool_started" if not self._at_prompt:
                self._break_line()
                self._line(self._whisper(_call(event)))
            case "stream_end":
                self._end(event)
            case "message" if event.role is not None and "joined_turn_id" not in event.body:
                self._line(_as_line(event.role, event.content or "", event.source))

    def _end(self, event: Event) -> None:
        content = event.content or ""
        if not content:
            return
        if self._at_prompt:
            self._line(_as_line("assistant", content, event.source))
        elif self._said and content.startswith(self._said):
            self._line(printable(content[len(self._said) :]))
        else:
            self._break_line()
            self._line(printable(content))

    def _break_line(self) -> None:
        if (self._said and not self._said.endswith("\n")) or self._thinking:
            self._write("\n")
            self._thinking = False

    def _line(self, text: str) -> None:
        if self._at_prompt:
            self._write(f"{_ERASE_LINE}{text}\n{PROMPT}{_typed_so_far()}")
        else:
            self._write(f"{text}\n")

    def _whisper(self, text: str) -> str:
        return f"{self._faint[0]}{text}{self._faint[1]}"

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()


def _as_line(role: str, content: str, source: Source | None) -> str:
    content = printable(content)
    if role == "user" and source is None:
        return f"{PROMPT}{content}"
    return (
        content
        if source is None or role == "user"
        else f"[{source.kind}: {printable(source.label)}] {content}"
    )


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
