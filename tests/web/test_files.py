"""The files of the page: small, complete in every language, and cached by the browser."""

import gzip
import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.web.conftest import Served

WEB = ROOT / "src" / "segue" / "server" / "web"
SCRIPTS = sorted(WEB.rglob("*.js"))
STYLES = sorted(WEB.rglob("*.css"))
BUDGET_BYTES = 55 * 1024
MOST_LINES = 400


def without_comments(path: Path) -> str:
    text = path.read_text("utf-8")
    if path.suffix in {".js", ".css"}:
        text = re.sub(r"^\s*/\*.*?\*/\n", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"^\s*//.*\n", "", text, flags=re.MULTILINE) if path.suffix == ".js" else text


def test_no_file_is_long() -> None:
    read = [path for path in [*SCRIPTS, *STYLES] if path.parent.name != "words"]  # those are tables
    files = {path.name: len(path.read_text("utf-8").splitlines()) for path in read}
    assert files
    assert {name: lines for name, lines in files.items() if lines > MOST_LINES} == {}


def test_one_element_a_file() -> None:
    for path in (WEB / "elements").iterdir():
        assert re.findall(r'customElements\.define\("([\w-]+)"', path.read_text("utf-8")) == [path.stem]


def test_nothing_is_loaded_from_another_host_and_nothing_is_inline() -> None:
    index = (WEB / "index.html").read_text("utf-8")
    assert "//" not in re.sub(r"<!doctype.*?>", "", index)
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", index)
    for path in [*SCRIPTS, *STYLES]:
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", path.read_text("utf-8")), path


def test_light_and_dark_differ_only_in_colours() -> None:
    """So the tests of accessibility need not look at anything else in dark."""
    for path in [*SCRIPTS, *STYLES]:
        text = path.read_text("utf-8")
        assert "prefers-color-scheme" not in text, path
        chosen = re.findall(r"[^{}]*data-theme[^{}]*\{([^{}]*)\}", text) if path.suffix == ".css" else []
        assert [rule.strip() for rule in chosen if not re.fullmatch(r"\s*color-scheme: \w+;\s*", rule)] == []


def catalogue(language: str) -> dict[str, str]:
    text = (WEB / "words" / f"{language}.js").read_text("utf-8")
    return dict(re.findall(r"^  (\w+):([ \n].*(?:\n {4}.*)*(?:\n  \})?),$", text, re.MULTILINE))


def used() -> Iterator[str]:
    for path in SCRIPTS:
        if path.parent.name != "words":
            yield from re.findall(r'\bt\(\s*"(\w+)"', path.read_text("utf-8"))


@pytest.mark.parametrize("language", ["zh", "de"])
def test_every_language_has_every_word(language: str) -> None:
    english, other = catalogue("en"), catalogue(language)
    assert english
    assert english.keys() == other.keys()
    assert set(used()) <= english.keys()
    for name, words in english.items():
        assert set(re.findall(r"\{(\w+)\}", words)) >= set(re.findall(r"\{(\w+)\}", other[name])), name


def test_every_word_is_used() -> None:
    scripts = " ".join(path.read_text("utf-8") for path in SCRIPTS if path.parent.name != "words")
    made_of_parts = re.compile(
        r"^(outcome|field|policy|try|unit|help|write|settings|theme|provider|key|notifications|budget|in_this|if|short|otherwise|quiet|digest|tell)_|_at$"
    )
    unused = [
        name for name in catalogue("en") if not made_of_parts.search(name) and f'"{name}"' not in scripts
    ]
    assert unused == []


def fetched(url: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=20) as response:
            return response.status, dict(response.headers), response.read()
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), error.read()


def test_the_page_is_revalidated_and_its_files_are_immutable(server: Served) -> None:
    status, headers, index = fetched(server.url)
    assert (status, headers["cache-control"]) == (200, "no-cache")
    assert "script-src 'self'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert fetched(server.url, **{"If-None-Match": headers["etag"]})[0] == 304
    named = re.findall(r'(?:src|href)="([^"]+)"', index.decode())
    # Addresses are relative, because the page may be mounted anywhere.
    assert [name for name in named if name.startswith("/")] == []
    folder = named[0].rpartition("/")[0]
    later = {f"{folder}/{name}" for name in ("later.js", "words/zh.js", "words/de.js")}
    assert later.isdisjoint(named)
    # The manifest and the icon of the app have addresses that never change, as phones remember them.
    for name in later | {name for name in named if name.startswith(folder)}:
        status, headers, _ = fetched(server.url + name)
        assert status == 200
        assert "immutable" in headers["cache-control"]
    types = {Path(name).suffix: fetched(server.url + name)[1]["content-type"] for name in named}
    assert types[".js"].startswith("text/javascript")
    assert types[".css"].startswith("text/css")
    assert types[".svg"] == "image/svg+xml"


def test_files_are_sent_compressed_to_a_browser(server: Served) -> None:
    index = fetched(server.url)[2].decode()
    styles = re.findall(r'href="([^"]+\.css)"', index)[0]
    _, plain_headers, plain = fetched(server.url + styles)
    _, headers, compressed = fetched(server.url + styles, **{"Accept-Encoding": "gzip, br"})
    assert "content-encoding" not in plain_headers
    assert (headers["content-encoding"], headers["vary"]) == ("gzip", "Accept-Encoding")
    assert gzip.decompress(compressed) == plain
    assert len(compressed) < len(plain) / 3


@pytest.mark.parametrize("path", ["web/0/app.js", "web/../secrets", "web/%2e%2e/%2e%2e/app.py"])
def test_no_other_file_is_served(server: Served, path: str) -> None:
    assert fetched(server.url + path)[0] == 404


def test_the_first_screen_is_four_small_files(server: Served) -> None:
    """Issue 24: at most 60 KB compressed; with the English words there is room for a few more."""
    index = fetched(server.url)[2].decode()
    named = re.findall(r'(?:src|href)="(web/[^"]+\.(?:js|css))"', index)
    assert [Path(name).name for name in named] == ["early.js", "app.js", "styles.css"]
    sent = [fetched(server.url + name, **{"Accept-Encoding": "gzip"})[2] for name in ("", *named)]
    assert sum(map(len, sent)) <= BUDGET_BYTES
    scripts, styles = (fetched(server.url + name)[2].decode() for name in named[1:])
    assert all(without_comments(path) in styles for path in STYLES)
    assert 'modules["elements/segue-talk.js"] =' in scripts
    assert 'modules["elements/segue-panel.js"] =' not in scripts


def test_scripts_import_and_export_only_as_the_bundler_reads() -> None:
    """No defaults and no renaming: `server/bundle.py` joins the scripts without a parser."""
    names = r"\{[\s\w,]+\}"
    known = re.compile(
        rf'import (?:{names} from )?"\.[^"]+";|export {names} from "\.[^"]+";'
        r"|export (?:async )?(?:const|function|class) \w+"
    )
    for path in SCRIPTS:
        text = path.read_text("utf-8")
        for found in re.finditer(r"^(?:import|export)\b", text, re.MULTILINE):
            assert known.match(text, found.start()), (path, text[found.start() :].partition("\n")[0])
        assert " as " not in "".join(re.findall(rf"^import {names}", text, re.MULTILINE)), path


def test_comments_are_not_sent(server: Served) -> None:
    folder = re.findall(r'href="(web/\w+)/', fetched(server.url)[2].decode())[0]
    for name in ("early.js", "app.js", "later.js", "styles.css", "words/de.js"):
        sent = fetched(f"{server.url}{folder}/{name}")[2].decode()
        assert sent
        assert not re.search(r"^\s*(//|/\*)", sent, re.MULTILINE), name
