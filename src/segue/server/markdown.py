"""Markdown to HTML that is safe to show, with bounded work: a text that would need more is shown as it is.

Invariants
  - the work for a text grows with its length, not with the square of it; and it ends at a time limit
  - what a text may become is bounded too: a link that is defined once can be used thousands of times
"""

import re
import time
from collections.abc import Callable, Iterator
from html import escape
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

SECONDS = 1.0
"""Of processor time, for one text. 100,000 characters of ordinary Markdown need half of it."""
_CALLS_BETWEEN_LOOKS = 64
_MOST_IN_ATTRIBUTES = 1_000_000
"""Characters of all addresses and titles of one text."""
_LONGEST_LINK = 2_000
"""Characters. The search for links needs time by the square of what it is given at once."""
_SCHEME = re.compile(r"(?:^|[^a-z0-9.+-])(https?)$", re.IGNORECASE)
_SCHEME_AND_BEFORE = len("https") + 1
_BETWEEN_WORDS = re.compile(r"[\s、。，；：！？（）「」『』【】《》]")

_TAGS = {
    *("a", "b", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "li"),
    *("ol", "p", "pre", "s", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"),
}
_ATTRIBUTES = {"a": {"href", "title"}, "code": {"class"}, "ol": {"start"}}
_SCHEMES = {"http", "https", "mailto"}


class TooMuchWork(Exception):
    """This text will not be rendered."""


def plain(text: str) -> str:
    """The text as it was written, as HTML."""
    lines = escape(text, quote=False).replace("\n", "<br>\n")
    return f"<p>{lines}</p>\n"


class Renderer:
    """For one thread: it counts the work of the text that it is at."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._until = 0.0
        self._calls = 0
        self._markdown = MarkdownIt("commonmark", {"html": False, "linkify": True, "breaks": True})
        self._markdown.enable(["table", "strikethrough", "linkify"])
        links = _Links(self._markdown.linkify, self._look)
        self._markdown.linkify = links
        self._markdown.inline.ruler.at("linkify", links.address)
        # Rules that match nothing: they are asked at each block and at each mark inside one.
        self._markdown.block.ruler.before("table", "work", self._count)
        self._markdown.inline.ruler.before("text", "work", self._count)

    def html(self, text: str) -> str:
        """Pictures are left out: showing one would tell its server who reads."""
        self._until, self._calls = time.thread_time() + self._seconds, 0
        try:
            return self._render(text)
        except TooMuchWork:
            return plain(text)

    def _render(self, text: str) -> str:
        tokens = self._markdown.parse(text)
        if sum(map(_in_attributes, tokens)) > _MOST_IN_ATTRIBUTES:
            raise TooMuchWork
        self._look()
        return nh3.clean(
            self._markdown.renderer.render(tokens, self._markdown.options, {}),
            tags=_TAGS,
            attributes=_ATTRIBUTES,
            url_schemes=_SCHEMES,
            link_rel="noopener noreferrer nofollow",
        )

    def _count(self, *_: object) -> bool:
        if self._calls % _CALLS_BETWEEN_LOOKS == 0:
            self._look()
        self._calls += 1
        return False

    def _look(self) -> None:
        if time.thread_time() > self._until:
            raise TooMuchWork


def _in_attributes(token: Token) -> int:
    own = sum(len(str(value)) for value in token.attrs.values())
    return own + sum(map(_in_attributes, token.children or ()))


class _Links:
    """What finds links for markdown-it, given only pieces of a text: it needs the square of their length."""

    def __init__(self, finder: Any, look: Callable[[], None]) -> None:
        self._finder = finder
        self._look = look
        self._found: tuple[str, list[Any]] = ("", [])

    def pretest(self, text: str) -> bool:
        return bool(self._finder.pretest(text))

    def test(self, text: str) -> bool:
        self._found = (text, [link for piece in _pieces(text) for link in self._links_in(*piece)])
        return bool(self._found[1])

    def match(self, text: str) -> list[Any]:
        """Asked directly after `test`, about the same text."""
        return self._found[1] if self._found[0] == text else []

    def _links_in(self, start: int, piece: str) -> Iterator[Any]:
        self._look()
        for link in self._finder.match(piece) or ():
            link.index += start
            link.last_index += start
            yield link

    def address(self, state: StateInline, silent: bool) -> bool:
        """A rule for `https://…`, so that no mark inside it counts as emphasis."""
        if state.linkLevel > 0 or not state.src.startswith("://", state.pos):
            return False
        scheme = _SCHEME.search(state.pending[-_SCHEME_AND_BEFORE:])
        word = scheme and _word(state.src, state.pos - len(scheme[1]))
        found = word and self._finder.match_at_start(word)
        if not scheme or not found:
            return False
        url = found.url.rstrip("*")
        address = state.md.normalizeLink(url)
        if not state.md.validateLink(address):
            return False
        if not silent:
            state.pending = state.pending[: -len(scheme[1])]
            state.push("link_open", "a", 1).attrs = {"href": address}
            state.push("text", "", 0).content = state.md.normalizeLinkText(url)
            state.push("link_close", "a", -1)
        state.pos += len(url) - len(scheme[1])
        return True


def _word(text: str, start: int) -> str | None:
    """The word that begins there, if it is not too long for a link."""
    end = _BETWEEN_WORDS.search(text, start, start + _LONGEST_LINK)
    if end is not None:
        return text[start : end.start()]
    return text[start:] if len(text) - start <= _LONGEST_LINK else None


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """Whole words, as many as fit into the length of a link. A word that is longer is none."""
    start = 0
    while start < len(text):
        end = start + _LONGEST_LINK
        if end < len(text):
            end = max((cut.end() for cut in _BETWEEN_WORDS.finditer(text, start, end)), default=start)
        if end > start:
            yield start, text[start:end]
            start = end
        else:
            after = _BETWEEN_WORDS.search(text, start + _LONGEST_LINK)
            start = len(text) if after is None else after.end()
