"""Source tree: every folder of `src/segue`, with the first sentence of every entry.

`python -m tests.docs.tree` writes the listing into `docs/design/tree.md`.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "design" / "tree.md"
SOURCE = ROOT / "src" / "segue"
BEGIN, END = "<!-- tree -->\n", "<!-- end of tree -->\n"

WITHOUT_TEXT = {
    "model/cost/prices.json": "Built-in prices of models, made from the library genai-prices.",
    "py.typed": "Marker: the package has type annotations.",
    "server/web": "The web page: custom elements without a build step.",
    "server/web/elements": "Custom elements, one file each.",
    "server/web/icon.svg": "Icon of the page.",
    "server/web/index.html": "The page: loads the styles, `early.js` and `app.js`.",
    "server/web/lib": "What the elements share.",
    "server/web/manifest.webmanifest": "Manifest: how the page looks as an installed app.",
    "server/web/styles": "Style sheets.",
    "server/web/words": "Translations, one catalogue for each language.",
    "store/migrations": "Schema changes, numbered. A released one does not change.",
    "store/migrations/0001_kernel.sql": "Tables of the kernel.",
    "store/migrations/0002_server.sql": "Idempotency keys, and counts of a session's messages and tokens.",
    "store/migrations/0003_memory.sql": "Archives, tasks and memories.",
    "store/migrations/0004_stamps.sql": "Commit stamps, on PostgreSQL (decision 0023).",
    "store/migrations/0005_to_stop.sql": "Index of turns that were asked to stop.",
    "store/migrations/0006_runs_are_told_by_their_turns.sql": "Runs read from turns (decision 0025).",
    "store/migrations/0007_directory.sql": "Session lookup (decision 0027).",
    "store/migrations/0008_chats_have_owners.sql": "Owners of chats on networks (decision 0028).",
    "store/migrations/0009_recalls_and_deliveries_are_told_by_turns.sql": "Status views (decision 0031).",
    "store/sql": "Named queries, a file for each table.",
    "times/days/data": "Day sets, a file for each country, made from the library holidays.",
}

COMMENT = re.compile(r"\s*(?:--|//|/\*+|\*)\s?(.*?)\s*(?:\*/)?")
SENTENCE = re.compile(r"(.+?[.。])(?=\s|$)")


def folders() -> Iterator[Path]:
    yield SOURCE
    for path in sorted(SOURCE.rglob("*")):
        if path.is_dir() and path.name != "__pycache__" and entries(path):
            yield path


def entries(folder: Path) -> list[Path]:
    """Modules and other files first, then folders. The text of an `__init__.py` is that of its folder."""
    left_out = {"__pycache__"} if folder == SOURCE else {"__pycache__", "__init__.py"}
    kept = [path for path in sorted(folder.iterdir()) if path.name not in left_out and not is_empty(path)]
    return sorted(kept, key=Path.is_dir)


def is_empty(path: Path) -> bool:
    return path.is_dir() and not any(entries(path))


def describe(path: Path) -> str:
    name = path.relative_to(SOURCE).as_posix()
    if name in WITHOUT_TEXT:
        return WITHOUT_TEXT[name]
    if path.is_dir():
        return describe(path / "__init__.py")
    text = path.read_text("utf-8")
    if path.suffix == ".py":
        return (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]
    return first_sentence(text)


def first_sentence(text: str) -> str:
    """Of the comment that the text begins with."""
    comment = []
    for line in text.lstrip().splitlines():
        found = COMMENT.fullmatch(line)
        if not found:
            break
        comment.append(found[1])
    joined = " ".join(comment).strip()
    sentence = SENTENCE.match(joined)
    return sentence[1] if sentence else joined


def listing() -> str:
    return "\n".join(section(folder) for folder in folders())


def section(folder: Path) -> str:
    names = [path.name + "/" * path.is_dir() for path in entries(folder)]
    width = max(map(len, names)) + 2
    lines = [f"{name:<{width}}{describe(path)}" for name, path in zip(names, entries(folder), strict=True)]
    title = folder.relative_to(SOURCE.parent).as_posix()
    return "\n".join([f"### `{title}/`", "", "```", *lines, "```", ""])


if __name__ == "__main__":
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    PAGE.write_text(before + BEGIN + "\n" + listing() + "\n" + END + rest.partition(END)[2], "utf-8")
