"""Markdown to HTML that is safe to show: rendered, then reduced to what a message may hold."""

import asyncio
from collections.abc import Iterable
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


async def render_ahead(texts: Iterable[str]) -> None:
    """What will be asked for, one text after the other: rendered at once, a page of messages would keep the
    loop for a tenth of a second, and nobody else would be heard."""
    for text in texts:
        if len(text) <= _LONGEST_KEPT:
            known = _kept.cache_info().misses
            _kept(text)
            if _kept.cache_info().misses > known:
                await asyncio.sleep(0)  # noqa: TID251 — no time passes, others have their turn


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
