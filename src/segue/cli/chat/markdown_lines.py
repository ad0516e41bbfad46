"""Markdown for a terminal, line by line: an answer is styled while it streams, each line at its end."""

import re

_BOLD, _DIM, _ITALIC, _CODE, _RESET = "\x1b[1m", "\x1b[2m", "\x1b[3m", "\x1b[36m", "\x1b[0m"
_FENCE = re.compile(r"\s*(```|~~~)")
_HEADING = re.compile(r"#{1,6} +(.+?) *#*")
_ITEM = re.compile(r"(\s*)[-*+] +(?:\[([ xX])\] )?(.*)")
_QUOTE = re.compile(r"> ?(.*)")
_SPAN = re.compile(
    r"(?P<code>`[^`]+`)"
    r"|\*\*(?P<bold>\S(?:.*?\S)?)\*\*"
    r"|(?<![\w*])\*(?P<italic>[^\s*](?:[^*]*[^\s*])?)\*(?![\w*])"
    r"|\[(?P<label>[^\]]+)\]\((?P<url>[^)\s]+)\)"
)


class MarkdownLines:
    """Styles the lines of one text. A code block keeps its text as it is."""

    def __init__(self) -> None:
        self._in_code = False

    def line(self, text: str) -> str:
        if _FENCE.match(text):
            self._in_code = not self._in_code
            return f"{_DIM}{text}{_RESET}"
        if self._in_code:
            return f"{_CODE}{text}{_RESET}" if text else text
        if heading := _HEADING.fullmatch(text):
            return f"{_BOLD}{heading[1]}{_RESET}"
        if quote := _QUOTE.fullmatch(text):
            return f"{_DIM}│ {quote[1]}{_RESET}"
        if item := _ITEM.fullmatch(text):
            mark = {None: "•", " ": "☐"}.get(item[2], "☑")
            return f"{item[1]}{mark} {_SPAN.sub(_span, item[3])}"
        return _SPAN.sub(_span, text)


def styled(text: str) -> str:
    """The whole text, styled."""
    lines = MarkdownLines()
    return "\n".join(lines.line(line) for line in text.split("\n"))


def _span(match: re.Match[str]) -> str:
    if match["code"]:
        return f"{_CODE}{match['code'][1:-1]}{_RESET}"
    if match["bold"]:
        return f"{_BOLD}{match['bold']}{_RESET}"
    if match["italic"]:
        return f"{_ITALIC}{match['italic']}{_RESET}"
    return f"{match['label']} ({match['url']})"
