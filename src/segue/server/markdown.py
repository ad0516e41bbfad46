"""Markdown to HTML that is safe to show: rendered, then reduced to what a message may hold."""

from functools import lru_cache

import nh3
from markdown_it import MarkdownIt

_KEPT = 2048
_LONGEST_KEPT = 20_000

_markdown = MarkdownIt("commonmark", {"html": False, "linkify": True, "breaks": True}).enable(
    ["table", "strikethrough", "linkify"]
)
_TAGS = {
    *("a", "b", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "li"),
    *("ol", "p", "pre", "s", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"),
}
_ATTRIBUTES = {"a": {"href", "title"}, "code": {"class"}, "ol": {"start"}}
_SCHEMES = {"http", "https", "mailto"}


def html(text: str) -> str:
    """Pictures are left out: showing one would tell its server who reads."""
    return _kept(text) if len(text) <= _LONGEST_KEPT else _render(text)


def _render(text: str) -> str:
    return nh3.clean(
        _markdown.render(text),
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes=_SCHEMES,
        link_rel="noopener noreferrer nofollow",
    )


_kept = lru_cache(_KEPT)(_render)
"""Many clients are shown the same message."""
