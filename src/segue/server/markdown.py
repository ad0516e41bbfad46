"""Markdown renderer: safe HTML with bounded work. A text that needs more work is shown as plain text.

Invariants
  - rendering time is linear in the length of the text, and ends at a time limit
  - the size of the output is limited: a link that is defined once can be used thousands of times
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

from segue.server import markdown_rules

SECONDS = 1.0
"""Processor time for one text. 100,000 characters of ordinary Markdown need half of it."""
_CALLS_BETWEEN_CHECKS = 64
_MAX_ATTRIBUTE_LENGTH = 1_000_000
"""Characters of all addresses and titles of one text."""
_LONGEST_LINK = 2_000
"""Characters. The link search takes quadratic time in the length of its input."""
_SCHEME = re.compile(r"(?:^|[^a-z0-9.+-])(https?)$", re.IGNORECASE)
_SCHEME_AND_BEFORE = len("https") + 1
_BETWEEN_WORDS = re.compile(r"[\s、。，；：！？（）「」『』【】《》]")

_TAGS = {
    *("a", "b", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "li"),
    *("ol", "p", "pre", "s", "span", "strong", "sup", "table", "tbody", "td", "th", "thead", "tr", "ul"),
}
_ATTRIBUTES = {"a": {"href", "title"}, "code": {"class"}, "ol": {"start"}}
_SCHEMES = {"http", "https", "mailto"}


class TooMuchWork(Exception):
    """The text exceeds a limit and is not rendered."""


def plain(text: str) -> str:
    """The unrendered text, escaped as HTML."""
    lines = escape(text, quote=False).replace("\n", "<br>\n")
    return f"<p>{lines}</p>\n"


class Renderer:
    """Use one per thread: it counts the work of the current text."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._until = 0.0
        self._calls = 0
        self._markdown = MarkdownIt("commonmark", {"html": False, "linkify": True, "breaks": True})
        self._markdown.enable(["table", "strikethrough", "linkify"])
        links = _LinkFinder(self._markdown.linkify, self._check_time)
        self._markdown.linkify = links
        self._markdown.inline.ruler.at("linkify", links.address)
        markdown_rules.extend(self._markdown, self._check_time)
        # Rules that match nothing: the parser calls them at each block and at each mark inside one.
        self._markdown.block.ruler.before("table", "work", self._count_call)
        self._markdown.inline.ruler.before("text", "work", self._count_call)

    def html(self, text: str) -> str:
        """Return safe HTML. Of an image only its text is shown."""
        self._until, self._calls = time.thread_time() + self._seconds, 0
        try:
            return self._render(text)
        except TooMuchWork:
            return plain(text)

    def _render(self, text: str) -> str:
        tokens = self._markdown.parse(text)
        if sum(map(_attribute_length, tokens)) > _MAX_ATTRIBUTE_LENGTH:
            raise TooMuchWork
        self._check_time()
        return nh3.clean(
            self._markdown.renderer.render(tokens, self._markdown.options, {}),
            tags=_TAGS,
            attributes=_ATTRIBUTES,
            allowed_classes=markdown_rules.CLASSES,
            url_schemes=_SCHEMES,
            link_rel="noopener noreferrer nofollow",
        )

    def _count_call(self, *_: object) -> bool:
        if self._calls % _CALLS_BETWEEN_CHECKS == 0:
            self._check_time()
        self._calls += 1
        return False

    def _check_time(self) -> None:
        if time.thread_time() > self._until:
            raise TooMuchWork


def _attribute_length(token: Token) -> int:
    own = sum(len(str(value)) for value in token.attrs.values())
    return own + sum(map(_attribute_length, token.children or ()))


class _LinkFinder:
    """Wraps the link finder of markdown-it and passes short pieces to it, because it takes quadratic time."""

    def __init__(self, finder: Any, check_time: Callable[[], None]) -> None:
        self._finder = finder
        self._check_time = check_time
        self._last_match: tuple[str, list[Any]] = ("", [])

    def pretest(self, text: str) -> bool:
        return bool(self._finder.pretest(text))

    def test(self, text: str) -> bool:
        self._last_match = (text, [link for piece in _pieces(text) for link in self._links_in(*piece)])
        return bool(self._last_match[1])

    def match(self, text: str) -> list[Any]:
        """The links that `test` found. markdown-it calls it directly after `test` with the same text."""
        return self._last_match[1] if self._last_match[0] == text else []

    def _links_in(self, start: int, piece: str) -> Iterator[Any]:
        self._check_time()
        for link in self._finder.match(piece) or ():
            link.index += start
            link.last_index += start
            yield link

    def address(self, state: StateInline, silent: bool) -> bool:
        """Inline rule for `https://…`, so that no mark inside it counts as emphasis."""
        if state.linkLevel > 0 or not state.src.startswith("://", state.pos):
            return False
        scheme = _SCHEME.search(state.pending[-_SCHEME_AND_BEFORE:])
        word = scheme and _word(state.src, state.pos - len(scheme[1]))
        link = word and self._finder.match_at_start(word)
        if not scheme or not link:
            return False
        url = link.url.rstrip("*")
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
    """The word that begins at `start`, if it is not too long for a link."""
    end = _BETWEEN_WORDS.search(text, start, start + _LONGEST_LINK)
    if end is not None:
        return text[start : end.start()]
    return text[start:] if len(text) - start <= _LONGEST_LINK else None


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """Split into pieces of whole words, at most _LONGEST_LINK long. Longer words are skipped."""
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
