"""HTML to text: extracts the title and the text of a web page.

A single linear pass: pages are not trusted, and a crafted one could keep a backtracking parser busy for
minutes.
"""

import re
from html import unescape

_IGNORED = frozenset({"script", "style", "noscript", "template", "svg", "title"})
"""The content of these tags is not part of the text. The title is read separately."""

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
"""Tags that do not start a new line."""
_ENDS = {tag: re.compile(f"</{tag}", re.IGNORECASE | re.ASCII) for tag in _IGNORED}
_NAME = re.compile(r"/?([a-zA-Z][a-zA-Z0-9]{0,20})")
_SPACES = re.compile(r"[^\S\n]+")
_LINES = re.compile(r"\s*\n\s*")


def html_to_text(html: str) -> str:
    """Return the title and the text of a page, one line per block."""
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
        at, piece = _skip_markup(html, opened)
        pieces.append(piece)
    return pieces


def _skip_markup(html: str, at: int) -> tuple[int, str]:
    """Return where the text continues after the markup at `at`, and what replaces the markup."""
    if html.startswith("<!--", at):
        return _after(html, "-->", at), ""
    name = _NAME.match(html, at + 1)
    if name is None:
        # A "<" that opens no tag is text.
        return (_after(html, ">", at), "") if html[at + 1 : at + 2] in ("!", "?") else (at + 1, "<")
    tag = name[1].lower()
    if tag in _IGNORED and html[at + 1] != "/":
        end = _ENDS[tag].search(html, at)
        return (_after(html, ">", end.start()) if end else len(html)), " "
    return _after(html, ">", at), "" if tag in _INLINE else "\n"


def _after(text: str, mark: str, at: int) -> int:
    """Return the index after the next mark; unclosed markup reaches to the end of the text."""
    found = text.find(mark, at)
    return len(text) if found < 0 else found + len(mark)


def _title(html: str) -> str:
    found = re.search(r"<title[^>]{0,200}>([^<]{1,300})", html[:50_000], re.IGNORECASE)
    return " ".join(unescape(found[1]).split()) if found else ""
