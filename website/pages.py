"""Pages of the documentation site: writes the Markdown and the navigation that the generator reads.

`python -m website.pages` copies `docs/` to `build/docs/`, with the examples and some files of the
repository's root beside it, and changes links to lead there. So every link stays on the site. It writes
`build/mkdocs.yml` from `website/mkdocs.yml` and the navigation.

The navigation is the folders of `docs/`: a new page needs no line anywhere. Within a folder the pages have
the order in which `docs/README.md` links to them; pages that it does not link to follow by name.
"""

import json
import posixpath
import re
import shutil
from pathlib import Path, PurePosixPath
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
OF_THE_ROOT = ("CONTRIBUTING.md", "CHANGELOG.md", "clients/javascript/README.md")
SECTIONS = {"guides": "Guides", "reference": "Reference", "design": "Design", "examples": "Examples"}
"""The folders, in their order; others follow by name."""
FENCES = {".py": "python", ".json": "json"}
"""The examples that become pages, by the ends of their names."""

_LINK = re.compile(r"\]\((?![a-z]+:|#)([^)#\s]+)(#[^)\s]*)?\)")


def write(build: Path) -> None:
    """Write the pages and the settings of the site into a folder. The generator puts the site into it too."""
    shutil.rmtree(build / "docs", ignore_errors=True)
    shutil.copytree(DOCS, build / "docs", ignore=shutil.ignore_patterns("*.md"))
    texts = pages()
    for name, text in texts.items():
        (build / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
        (build / "docs" / name).write_text(text, "utf-8")
    settings = (ROOT / "website" / "mkdocs.yml").read_text("utf-8")
    (build / "mkdocs.yml").write_text(f"{settings}\nnav: {json.dumps(navigation(list(texts)))}\n", "utf-8")


def pages() -> dict[str, str]:
    """The text of each page, by its name on the site."""
    of_docs = {_of_docs(file): file.read_text("utf-8") for file in DOCS.rglob("*.md")}
    of_root = {name: (ROOT / name).read_text("utf-8") for name in OF_THE_ROOT}
    examples = _examples()
    names = of_docs.keys() | of_root.keys() | examples.keys()
    return {
        **{name: rewritten(text, name, f"docs/{name}", names) for name, text in of_docs.items()},
        **{name: rewritten(text, name, name, names) for name, text in of_root.items()},
        **examples,
    }


def rewritten(text: str, name: str, origin: str, names: set[str]) -> str:
    """A page whose links lead to pages of the site, and whose tables may contain Markdown, as on GitHub."""
    text = _LINK.sub(lambda link: f"]({_link(link[1], name, origin, names)}{link[2] or ''})", text)
    return re.sub(r"<(table|tr|td|th)\b", r"<\1 markdown", text) if "<table>" in text else text


def navigation(names: list[str]) -> list[Any]:
    """The pages of `docs/` itself, then a section for each folder."""
    linked = [
        posixpath.normpath(target) for target, _ in _LINK.findall((DOCS / "README.md").read_text("utf-8"))
    ]

    def place(name: str) -> tuple[bool, int, str]:
        is_index = PurePosixPath(name).name == "README.md"
        return not is_index, linked.index(name) if name in linked else len(linked), name

    names = sorted(names, key=place)
    folders = {name.partition("/")[0] for name in names if "/" in name}
    order = [*(name for name in SECTIONS if name in folders), *sorted(folders - SECTIONS.keys())]
    top = [name for name in names if "/" not in name]
    return [{"Start": top}, *({SECTIONS.get(name, name.title()): _section(name, names)} for name in order)]


def _section(folder: str, names: list[str]) -> list[Any]:
    """The pages of a folder, and a section for each folder in it."""
    inside = [name for name in names if name.startswith(f"{folder}/")]
    depth = folder.count("/") + 1
    direct: list[Any] = [name for name in inside if name.count("/") == depth]
    deeper = sorted({"/".join(name.split("/")[: depth + 1]) for name in inside if name.count("/") > depth})
    return [*direct, *({name.rpartition("/")[2].title(): _section(name, names)} for name in deeper)]


def _examples() -> dict[str, str]:
    """A page for each example, and one that lists them."""
    texts = {}
    listed = ["# Examples\n", "Each runs as a test.\n"]
    for file in sorted((ROOT / "examples").rglob("*")):
        if file.suffix in FENCES:
            name, text = file.relative_to(ROOT).as_posix(), file.read_text("utf-8")
            texts[f"{name}.md"] = f"# {file.name}\n\n````{FENCES[file.suffix]}\n{text}````\n"
            listed.append(f"- [{file.name}]({name.removeprefix('examples/')}.md): {_about(text)}")
    return {**texts, "examples/README.md": "\n".join(listed) + "\n"}


def _about(text: str) -> str:
    """The first paragraph of a program's docstring."""
    found = re.match(r'"""(.+?)(?:\n\n|""")', text, re.DOTALL)
    return " ".join(found[1].split()) if found else "data"


def _link(target: str, name: str, origin: str, names: set[str]) -> str:
    """The link from a page of the site to what a link in the repository's file leads to."""
    wanted = posixpath.normpath(posixpath.join(posixpath.dirname(origin), target)).removeprefix("docs/")
    found = next((page for page in (wanted, f"{wanted}.md", f"{wanted}/README.md") if page in names), wanted)
    return posixpath.relpath(found, posixpath.dirname(name) or ".")


def _of_docs(file: Path) -> str:
    return file.relative_to(DOCS).as_posix()


if __name__ == "__main__":
    write(ROOT / "build")
