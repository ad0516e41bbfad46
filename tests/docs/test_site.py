"""The documentation site: every page is on it and can be reached, and a fault is found."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from website import pages
from website.check import problems

HTML = {
    "index.html": '<a href="one.html#here">1</a><a href="two.html">2</a><a href="https://example.org">3</a>',
    "one.html": '<h2 id="here">Here</h2><img src="picture.png">',
    "two.html": '<a href="index.html">0</a>',
}


def _site(folder: Path, **changed: str) -> Path:
    for name, text in {**HTML, **{f"{name}.html": text for name, text in changed.items()}}.items():
        (folder / name).write_text(text)
    (folder / "picture.png").touch()
    items = [{"location": name} for name in (*HTML, "one.html#here")]
    (folder / "search.json").write_text(json.dumps({"items": items}))
    return folder


def _listed(entries: list[object]) -> list[str]:
    """The pages of a navigation."""
    found = []
    for entry in entries:
        if isinstance(entry, dict):
            found += [name for section in entry.values() for name in _listed(section)]
        else:
            found.append(str(entry))
    return found


def test_the_built_site_has_every_page_and_no_fault(tmp_path: Path) -> None:
    pages.write(tmp_path)
    zensical = Path(sys.executable).with_name("zensical")
    built = subprocess.run(
        [zensical, "build", "--strict"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stdout + built.stderr
    assert problems(tmp_path / "site") == []
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs").with_suffix(".html")
        made = name.with_name("index.html") if name.name == "README.html" else name
        assert (tmp_path / "site" / made).is_file(), name


def test_the_navigation_lists_each_page_once() -> None:
    names = list(pages.pages())
    assert sorted(_listed(pages.navigation(names))) == sorted(names)


def test_a_new_page_and_a_new_folder_are_in_the_navigation() -> None:
    names = ["README.md", "guides/embed.md", "guides/zebra.md", "recipes/soup.md"]
    assert pages.navigation(names) == [
        {"Start": ["README.md"]},
        {"Guides": ["guides/embed.md", "guides/zebra.md"]},
        {"Recipes": ["recipes/soup.md"]},
    ]


def test_a_link_to_a_file_of_the_repository_leads_to_its_page() -> None:
    names = {"guides/mount.md", "examples/fastapi_app.py.md", "examples/README.md", "CONTRIBUTING.md"}
    text = "[a](../../examples/fastapi_app.py) [b](../../examples/) [c](../../CONTRIBUTING.md#tree) [d](https://a.b)"
    assert pages.rewritten(text, "guides/mount.md", "docs/guides/mount.md", names) == (
        "[a](../examples/fastapi_app.py.md) [b](../examples/README.md) [c](../CONTRIBUTING.md#tree) [d](https://a.b)"
    )
    assert pages.rewritten("[a](docs/guides/mount.md)", "CONTRIBUTING.md", "CONTRIBUTING.md", names) == (
        "[a](guides/mount.md)"
    )


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({}, None),
        ({"three": ""}, "three.html cannot be reached from index.html"),
        ({"two": '<a href="none.html">'}, "two.html links to none.html, which does not exist"),
        ({"two": '<a href="one.html#no">'}, "two.html links to one.html#no, but one.html has no such anchor"),
        ({"two": '<script src="//cdn/x.js">'}, "two.html loads //cdn/x.js from another machine"),
        ({"two": '<img src="none.png">'}, "two.html loads none.png, which does not exist"),
        ({"three": ""}, "the search does not know three.html"),
    ],
)
def test_a_fault_of_the_site_is_found(changed: dict[str, str], problem: str | None, tmp_path: Path) -> None:
    found = problems(_site(tmp_path, **changed))
    assert (problem in found) if problem else found == []
