"""Syntax highlighting: code as HTML with a class for each kind of word, within a limit of work.

Code comes from a model and is untrusted. Only well-known languages are highlighted, and only code of ordinary
size: a lexer is a set of regular expressions, and cannot be interrupted within one line.
"""

from collections.abc import Callable, Iterator
from html import escape
from typing import Any

CLASSES = frozenset({"kw", "st", "nu", "co", "fn", "bi", "in", "de"})
_MOST_CHARACTERS = 20_000
_LONGEST_LINE = 1_000
_LANGUAGES = """
bash c console cpp csharp css diff docker go html ini java javascript json kotlin lua make nginx php
postgresql python r ruby rust scala sql swift toml typescript xml yaml
"""
_SHORT_NAMES = """
c++ cpp cs csharp dockerfile docker golang go js javascript jsx javascript makefile make patch diff
postgres postgresql py python py3 python rb ruby rs rust sh bash shell bash svg xml ts typescript
tsx typescript yml yaml zsh bash
"""
_LEXERS = {name: name for name in _LANGUAGES.split()} | dict(
    zip(_SHORT_NAMES.split()[::2], _SHORT_NAMES.split()[1::2], strict=True)
)
"""The language after a fence → the name of its lexer."""


def highlighted(code: str, language: str, check_time: Callable[[], None]) -> str:
    """Return the code as HTML; escaped only, if its language is not known or it is too long."""
    name = _LEXERS.get(language.lower())
    if name is None or len(code) > _MOST_CHARACTERS or max(map(len, code.split("\n"))) > _LONGEST_LINE:
        return escape(code, quote=False)
    return "".join(_spans(code, name, check_time))


def _spans(code: str, name: str, check_time: Callable[[], None]) -> Iterator[str]:
    from pygments.lexers import get_lexer_by_name  # its tables are large, and most messages have no code

    lexer = get_lexer_by_name(name, stripnl=False, ensurenl=False)
    for number, (kind, text) in enumerate(lexer.get_tokens(code)):
        if number % 64 == 0:
            check_time()
        shown = escape(text, quote=False)
        css_class = _class_of(kind)
        yield f'<span class="{css_class}">{shown}</span>' if css_class else shown


def _class_of(kind: Any) -> str | None:
    from pygments.token import Comment, Generic, Keyword, Name, Number, String

    kinds = (
        (Comment, "co"),
        (Keyword, "kw"),
        (Name.Tag, "kw"),
        (String, "st"),
        (Number, "nu"),
        (Name.Function, "fn"),
        (Name.Class, "fn"),
        (Name.Decorator, "fn"),
        (Name.Attribute, "fn"),
        (Name.Builtin, "bi"),
        (Generic.Inserted, "in"),
        (Generic.Deleted, "de"),
    )
    return next((css_class for group, css_class in kinds if kind in group), None)
