"""Texts of maximum length that are expensive to render as Markdown."""

from segue.model.text_checks import MAX_TEXT


def _repeated(part: str, *, before: str = "") -> str:
    return (before + part * (MAX_TEXT // len(part) + 1))[:MAX_TEXT]


HOSTILE = {
    "nested quotes": _repeated(">" * 50 + " a\n"),
    "nested lists": _repeated("\n".join("  " * depth + "- a" for depth in range(50)) + "\n"),
    "open links": _repeated("["),
    "open pictures": _repeated("!["),
    "links without an end": _repeated("[a](<b"),
    "emphasis": _repeated("*a_ "),
    "a table": _repeated("|x|y|\n", before="|a|b|\n|-|-|\n"),
    "backticks": _repeated("".join("`" * length + " " for length in range(1, 440))),
    "HTML": _repeated("<a <!-- "),
    "addresses without spaces": _repeated("http://a"),
    "addresses with open brackets": _repeated("http://a/(" * 199 + " "),
    "mail addresses": _repeated("a@b."),
    "a link that is used often": _repeated("[a]", before=f"[a]: {'x' * (MAX_TEXT // 2)}\n\n"),
    "entities": _repeated("&#1;&a"),
}
