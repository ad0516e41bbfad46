"""The words of a web page, without its markup.

One pass, each character looked at once: pages come from strangers, and a parser that goes back and forth over
a crafted one could be kept busy for minutes.
"""

import re
from html import unescape

_UNREAD = frozenset({"script", "style", "noscript", "template", "svg", "title"})
"""What stands between these tags is not part of the text. The title is taken from the page by itself."""

_INLINE = frozenset(
    {
        "a",
        "abbr",
        "b",
        "cite",
        "code",
        "del",
        "em",
        "font",
        "i",
        "img",
        "ins",
        "kbd",
        "label",
        "mark",
        "q",
        "s",
    }
    | {"small", "span", "strong", "sub", "sup", "time", "u", "wbr"}
)
"""Tags that end no line."""
_ENDS = {tag: re.compile(f"</{tag}", re.IGNORECASE | re.ASCII) for tag in _UNREAD}
_NAME = re.compile(r"/?([a-zA-Z][a-zA-Z0-9]{0,20})")
_SPACES = re.compile(r"[^\S\n]+")
_LINES = re.compile(r"\s*\n\s*")


def html_to_text(html: str) -> str:
    """The title and the text of a page, a line per block."""
    title = _title(html)
    words = _SPACES.sub(" ", unescape("".join(_pieces(html))))
    body = _LINES.sub("\n", words).strip()
    return f"{title}\n\n{body}" if title and not body.startswith(title) else body


def _pieces(html: str) -> list[str]:
    pieces: list[str] = []
    at = 0
    while at < len(html):
        opened = html.find("<", at)
        if opened < 0:
            pieces.append(html[at:])
            break
        pieces.append(html[at:opened])
        at, piece = _over(html, opened)
        pieces.append(piece)
    return pieces


def _over(html: str, at: int) -> tuple[int, str]:
    """Over the markup that begins here: where the text goes on, and what stands for the markup."""
    if html.startswith("<!--", at):
        return _behind(html, "-->", at), ""
    name = _NAME.match(html, at + 1)
    if name is None:
        # A "<" that opens nothing is a character like any other.
        return (_behind(html, ">", at), "") if html[at + 1 : at + 2] in ("!", "?") else (at + 1, "<")
    tag = name[1].lower()
    if tag in _UNREAD and html[at + 1] != "/":
        end = _ENDS[tag].search(html, at)
        return (_behind(html, ">", end.start()) if end else len(html)), " "
    return _behind(html, ">", at), "" if tag in _INLINE else "\n"


def _behind(text: str, mark: str, at: int) -> int:
    """Behind the next mark. What is never closed reaches to the end: nothing is searched for twice."""
    found = text.find(mark, at)
    return len(text) if found < 0 else found + len(mark)


def _title(html: str) -> str:
    found = re.search(r"<title[^>]{0,200}>([^<]{1,300})", html[:50_000], re.IGNORECASE)
    return " ".join(unescape(found[1]).split()) if found else ""
