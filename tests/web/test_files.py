"""The files of the page: small, complete in both languages, and asked for once."""

import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.web.conftest import Served

WEB = ROOT / "src" / "segue" / "web"
SCRIPTS = sorted(WEB.rglob("*.js"))


def test_all_of_the_script_is_small() -> None:
    """Issue 8: under 120 KB unminified, of 1,024 bytes each; no file over 200 lines."""
    assert sum(path.stat().st_size for path in SCRIPTS) < 120 * 1024
    assert [path.name for path in SCRIPTS if len(path.read_text("utf-8").splitlines()) > 200] == []


def test_one_element_a_file() -> None:
    for path in (WEB / "elements").iterdir():
        assert re.findall(r'customElements\.define\("([\w-]+)"', path.read_text("utf-8")) == [path.stem]


def test_nothing_is_loaded_from_elsewhere_and_nothing_stands_inline() -> None:
    index = (WEB / "index.html").read_text("utf-8")
    assert "//" not in re.sub(r"<!doctype.*?>", "", index)
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", index)
    for path in [*SCRIPTS, *WEB.rglob("*.css")]:
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", path.read_text("utf-8")), path


def catalogue(language: str) -> dict[str, str]:
    text = (WEB / "words" / f"{language}.js").read_text("utf-8")
    return dict(re.findall(r"^  (\w+): (.*),$", text, re.MULTILINE))


def used() -> Iterator[str]:
    for path in SCRIPTS:
        if path.parent.name != "words":
            text = path.read_text("utf-8")
            yield from re.findall(r'\bt\("(\w+)"', text)


def test_both_languages_have_every_word() -> None:
    english, chinese = catalogue("en"), catalogue("zh")
    assert english.keys() == chinese.keys()
    assert set(used()) <= english.keys()
    for name, words in english.items():
        assert set(re.findall(r"\{(\w+)\}", words)) >= set(re.findall(r"\{(\w+)\}", chinese[name])), name


def test_no_word_is_kept_that_nobody_says() -> None:
    spoken = " ".join(path.read_text("utf-8") for path in SCRIPTS if path.parent.name != "words")
    made_of_parts = re.compile(r"^(outcome|field|policy|try)_")
    unused = [name for name in catalogue("en") if not made_of_parts.match(name) and f'"{name}"' not in spoken]
    assert unused == []


def fetched(url: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=20) as answer:
            return answer.status, dict(answer.headers), answer.read()
    except urllib.error.HTTPError as refused:
        return refused.code, dict(refused.headers), refused.read()


def test_the_page_is_asked_for_again_and_its_files_never(server: Served) -> None:
    status, headers, index = fetched(server.url)
    assert (status, headers["cache-control"]) == (200, "no-cache")
    assert "script-src 'self'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert fetched(server.url, **{"If-None-Match": headers["etag"]})[0] == 304
    named = re.findall(r'(?:src|href)="([^"]+)"', index.decode())
    # Relative to the page, which may be mounted anywhere.
    assert [name for name in named if name.startswith("/")] == []
    folder = named[0].rpartition("/")[0]
    every = {f"{folder}/{path.relative_to(WEB)}" for path in SCRIPTS}
    assert every - set(named) != set()
    for name in every | set(named):
        status, headers, _ = fetched(server.url + name)
        assert status == 200
        assert "immutable" in headers["cache-control"]
    types = {Path(name).suffix: fetched(server.url + name)[1]["content-type"] for name in named}
    assert types[".js"].startswith("text/javascript")
    assert types[".css"].startswith("text/css")
    assert types[".svg"] == "image/svg+xml"


@pytest.mark.parametrize("path", ["web/0/app.js", "web/../secrets", "web/%2e%2e/%2e%2e/app.py"])
def test_no_other_file_is_served(server: Served, path: str) -> None:
    assert fetched(server.url + path)[0] == 404


def test_the_first_screen_is_named_whole_and_nothing_else_is(server: Served) -> None:
    """A script that is missing here is found only when another one has been read; one too many holds up the
    others."""
    index = fetched(server.url)[2].decode()
    preloaded = set(re.findall(r'modulepreload" href="web/\w+/([^"]+)"', index))
    assert {"elements/segue-app.js", "elements/segue-note.js", "lib/fold.js", "words/en.js"} <= preloaded
    assert not {"later.js", "elements/segue-panel.js", "words/zh.js"} & preloaded
    styles = fetched(server.url + re.findall(r'href="([^"]+\.css)"', index)[0])[2]
    assert all(path.read_bytes() in styles for path in WEB.glob("styles/*.css"))
