"""Markup: converts Markdown to the HTML subset of Telegram or Matrix."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_TAGS = {"strong": "b", "em": "i", "s": "s", "blockquote": "blockquote"}


def telegram_html(text: str) -> str:
    """Convert to Telegram's tags: bold, italic, struck, code, links, quotes. Headings become bold."""
    return "".join(_telegram(_parser().parse(text))).strip()


def matrix_html(text: str) -> str:
    rendered: str = _parser().render(text)
    return rendered.strip()


def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    # HTML in an answer is shown as text: the model may have copied it from an untrusted page.
    return MarkdownIt("commonmark", {"html": False}).enable("strikethrough")


def _telegram(tokens: "Sequence[Token]") -> Iterator[str]:
    numbers: list[int | None] = []
    for token in tokens:
        kind = token.type
        if token.tag in _TAGS and kind.endswith(("_open", "_close")):
            yield f"<{'' if token.nesting == 1 else '/'}{_TAGS[token.tag]}>"
            if kind == "blockquote_close":
                yield "\n"
        elif kind == "inline":
            yield from _telegram(token.children or ())
        elif kind in ("fence", "code_block"):
            yield f"<pre>{escape(token.content.rstrip(), quote=False)}</pre>\n\n"
        elif kind in ("bullet_list_open", "ordered_list_open"):
            first = int(token.attrs.get("start", 1) or 1)
            numbers.append(first if kind.startswith("ordered") else None)
        elif kind in ("bullet_list_close", "ordered_list_close"):
            numbers.pop()
            yield "" if numbers else "\n"
        elif kind == "list_item_open":
            yield "  " * (len(numbers) - 1) + _bullet(numbers)
        else:
            yield from _simple(token, in_list=bool(numbers))


def _simple(token: "Token", *, in_list: bool) -> Iterator[str]:
    match token.type:
        case "text" | "html_inline" | "html_block":
            yield escape(token.content, quote=False)
        case "code_inline":
            yield f"<code>{escape(token.content, quote=False)}</code>"
        case "softbreak" | "hardbreak":
            yield "\n"
        case "heading_open":
            yield "<b>"
        case "heading_close":
            yield "</b>\n\n"
        case "paragraph_close":
            yield "\n" if in_list else "\n\n"
        case "link_open":
            yield f'<a href="{escape(str(token.attrs.get("href", "")))}">'
        case "link_close":
            yield "</a>"
        case "image":
            yield escape(token.content, quote=False)
        case "hr":
            yield "———\n\n"


def _bullet(numbers: list[int | None]) -> str:
    number = numbers[-1]
    if number is None:
        return "• "
    numbers[-1] = number + 1
    return f"{number}. "
