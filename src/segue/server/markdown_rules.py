"""Markdown beyond CommonMark: task lists, footnotes, column alignment, mathematics, images as their text.

Every rule produces tokens or classes; none passes on HTML from the text.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from html import escape
from itertools import islice
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from segue.server.highlight import CLASSES as CODE_CLASSES
from segue.server.highlight import highlighted
from segue.server.math_text import as_text

CLASSES = {
    "td": {"right", "center"},
    "th": {"right", "center"},
    "li": {"task", "done"},
    "ol": {"notes"},
    "sup": {"note"},
    "span": {"box", "image", "math", *CODE_CLASSES},
}
"""The classes that these rules write, by tag."""

_TASK = re.compile(r"\[([ xX])\][ \t]+(?=\S)")
_NUMBER = re.compile(r"[-+−±]?[€$£]?\d[\d.,\u00a0\u202f ]*(?:%|[A-Za-z°€$£]{0,4})?")
_NOTE = re.compile(r"\[\^([^\]\s]{1,60})\]:[ \t]+(\S.*)")
_NOTE_MARK = re.compile(r"\[\^([^\]\s]{1,60})\]")
_MATH = re.compile(
    r"\$\$(.{1,2000}?)\$\$"
    r"|\\\[(.{1,2000}?)\\\]"
    r"|\\\((.{1,500}?)\\\)"
    r"|\$(?=[^\s$])([^$\n]{0,500}?[^\s$\\])\$(?![\d$])",
    re.DOTALL,
)
_NOTES, _NUMBERS = "notes", "note numbers"


def extend(markdown: MarkdownIt, check_time: Callable[[], None]) -> None:
    """Add the rules. `check_time` raises when the time for a text is over."""
    markdown.block.ruler.before("reference", "note", _define_note, {"alt": ["paragraph", "reference"]})
    markdown.inline.ruler.before("escape", "math", _math)
    markdown.inline.ruler.before("link", "note", _refer_to_note)
    markdown.core.ruler.push("tasks", _tasks)
    markdown.core.ruler.push("columns", _columns)
    markdown.core.ruler.push("notes", _list_notes)

    def fence(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        token = tokens[index]
        language = (token.info.split() or [""])[0]
        named = f' class="language-{escape(language)}"' if language else ""
        return f"<pre><code{named}>{highlighted(token.content, language, check_time)}</code></pre>\n"

    markdown.add_render_rule("fence", fence)
    markdown.add_render_rule("image", _image)


def _image(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """The text of an image. Loading the image would reveal the reader to its server."""
    token = tokens[index]
    words = self.renderInlineAsText(token.children or [], options, env)
    return f'<span class="image">{escape(words)}</span>' if words else ""


def _math(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] not in "$\\":
        return False
    found = _MATH.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    if not silent:
        tex = next(part for part in found.groups() if part is not None)
        _push(state, "span", "math", as_text(tex))
    state.pos = found.end()
    return True


def _push(state: StateInline, tag: str, css_class: str, text: str) -> None:
    state.push(f"{tag}_open", tag, 1).attrs = {"class": css_class}
    state.push("text", "", 0).content = text
    state.push(f"{tag}_close", tag, -1)


def _tasks(state: StateCore) -> None:
    """`- [x] done`: a list item with a box."""
    tokens = state.tokens
    for index, token in enumerate(tokens[:-2]):
        words = tokens[index + 2]
        if token.type != "list_item_open" or words.type != "inline" or not words.children:
            continue
        first = words.children[0]
        found = _TASK.match(first.content) if first.type == "text" else None
        if found:
            done = found[1] != " "
            first.content = first.content[found.end() :]
            token.attrs = {"class": "task done" if done else "task"}
            words.children[:0] = _box("☑" if done else "☐")


def _box(character: str) -> list[Token]:
    return [
        Token("span_open", "span", 1, attrs={"class": "box"}),
        Token("text", "", 0, content=character),
        Token("span_close", "span", -1),
        Token("text", "", 0, content=" "),
    ]


def _columns(state: StateCore) -> None:
    """Alignment as a class, because inline styles are not allowed; columns of numbers stand at the right."""
    for rows in _tables(state.tokens):
        for column in range(max(map(len, rows))):
            cells = [row[column] for row in rows if column < len(row)]
            alignment = str(cells[0][0].attrs.get("style", "")).partition(":")[2] or _by_content(cells[1:])
            for opened, _ in cells:
                opened.attrs = {"class": alignment} if alignment in ("right", "center") else {}


def _by_content(cells: Sequence[tuple[Token, str]]) -> str:
    filled = [text for _, text in cells if text]
    return "right" if filled and all(_NUMBER.fullmatch(text) for text in filled) else ""


def _tables(tokens: Sequence[Token]) -> Iterator[list[list[tuple[Token, str]]]]:
    """The rows of each table: the opening token and the text of each cell."""
    rows: list[list[tuple[Token, str]]] = []
    for index, token in enumerate(tokens):
        if token.type == "table_open":
            rows = []
        elif token.type == "tr_open":
            rows.append([])
        elif token.type in ("th_open", "td_open"):
            rows[-1].append((token, tokens[index + 1].content.strip(" *_`")))
        elif token.type == "table_close" and rows:
            yield rows


def _define_note(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """`[^1]: the text`, up to a blank line or the next note."""
    found = _NOTE.match(_line(state, start))
    if found is None or state.is_code_block(start):
        return False
    if not silent:
        lines, after = [found[2]], start + 1
        while after < end and not state.isEmpty(after) and not _NOTE.match(_line(state, after)):
            lines.append(_line(state, after))
            after += 1
        state.env.setdefault(_NOTES, {}).setdefault(found[1], "\n".join(lines))
        state.line = after
    return True


def _line(state: StateBlock, number: int) -> str:
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]]


def _refer_to_note(state: StateInline, silent: bool) -> bool:
    found = _NOTE_MARK.match(state.src, state.pos, state.posMax)
    if found is None or found[1] not in state.env.get(_NOTES, {}):
        return False
    if not silent:
        numbers = state.env.setdefault(_NUMBERS, {})
        number = numbers.setdefault(found[1], len(numbers) + 1)
        _push(state, "sup", "note", str(number))
    state.pos = found.end()
    return True


def _list_notes(state: StateCore) -> None:
    """The notes that the text refers to, in the order of their numbers, at its end."""
    numbers: dict[str, int] = state.env.get(_NUMBERS, {})
    if not numbers:
        return
    labels = list(numbers)
    state.tokens.append(Token("ordered_list_open", "ol", 1, attrs={"class": "notes"}, block=True))
    for label in labels:
        state.tokens.append(Token("list_item_open", "li", 1, block=True))
        parts: list[Token] = []
        state.md.inline.parse(state.env[_NOTES][label], state.md, state.env, parts)
        state.tokens.append(Token("inline", "", 0, children=parts))
        labels += islice(numbers, len(labels), None)  # a note may refer to further notes
        state.tokens.append(Token("list_item_close", "li", -1, block=True))
    state.tokens.append(Token("ordered_list_close", "ol", -1, block=True))
