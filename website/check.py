"""Check of the built documentation site: `python -m website.check build/site`.

Every page can be reached by links from the first one, every link and anchor leads somewhere, the search knows
every page, and nothing is loaded from another machine.
"""

import json
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

LOADS = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "srcset"}
"""The attributes by which a page loads something."""
FIRST, NOT_FOUND = "index.html", "404.html"


class PageParser(HTMLParser):
    """Collects what a page links to, what it loads and the anchors that it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value for name, value in attrs if value}
        self.anchors |= {named[name] for name in ("id", "name") if name in named}
        if tag == "a" and "href" in named:
            self.links.append(named["href"])
        if LOADS.get(tag, "") in named:
            self.loads.append(named[LOADS[tag]])


def problems(site: Path) -> list[str]:
    """A sentence for each fault of the site."""
    pages = {
        str(file.relative_to(site)): PageParser(file.read_text("utf-8")) for file in site.rglob("*.html")
    }
    if FIRST not in pages:
        return [f"{site} has no {FIRST}; build the site with make docs"]
    ours = sorted(pages.keys() - {NOT_FOUND})
    found = [problem for name in ours for problem in sorted(set(_of_page(site, name, pages)))]
    reached = _reached(pages)
    found += [f"{name} cannot be reached from {FIRST}" for name in ours if name not in reached]
    searched = (site / "search.json").read_text("utf-8")
    locations = {urldefrag(item["location"]).url or FIRST for item in json.loads(searched)["items"]}
    found += [f"the search does not know {name}" for name in ours if name not in locations]
    return found


def _of_page(site: Path, name: str, pages: dict[str, PageParser]) -> Iterator[str]:
    for target in pages[name].loads:
        if "//" in target:
            yield f"{name} loads {target} from another machine"
        elif not target.startswith("data:") and not (site / name).parent.joinpath(unquote(target)).exists():
            yield f"{name} loads {target}, which does not exist"
    for link in pages[name].links:
        page, anchor = _target(name, link)
        if page is None:
            continue
        if not (site / page).is_file():
            yield f"{name} links to {link}, which does not exist"
        elif anchor and page in pages and anchor not in pages[page].anchors:
            yield f"{name} links to {link}, but {page} has no such anchor"


def _reached(pages: dict[str, PageParser]) -> set[str]:
    reached, waiting = {FIRST}, [FIRST]
    while waiting:
        name = waiting.pop()
        new = {page for link in pages[name].links if (page := _target(name, link)[0]) in pages} - reached
        reached |= new
        waiting += new
    return reached


def _target(name: str, link: str) -> tuple[str | None, str]:
    """The file that a link of a page leads to, None if it is not on this site, and the anchor."""
    address, anchor = urldefrag(link)
    if ":" in address or address.startswith("//"):
        return None, ""
    if not address:
        return name, unquote(anchor)
    base = Path("/") / Path(name).parent
    path = Path(unquote(address)) if address.startswith("/") else base / unquote(address)
    parts: list[str] = []
    for part in path.parts[1:]:
        if part == "..":
            del parts[-1:]
        elif part != ".":
            parts.append(part)
    page = "/".join(parts)
    return page if Path(page).suffix else f"{page}/{FIRST}".lstrip("/"), unquote(anchor)


if __name__ == "__main__":
    found = problems(Path(sys.argv[1]))
    sys.stderr.writelines(f"{problem}\n" for problem in found)
    sys.exit(1 if found else 0)
