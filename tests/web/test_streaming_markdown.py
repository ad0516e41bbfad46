"""Markdown while it streams: no raw mark is ever visible, and what is shown stays."""

import random
import re
from collections.abc import Callable
from html.parser import HTMLParser

import pytest
from playwright.sync_api import Page, expect

from segue.server.markdown import Renderer
from tests.web.conftest import Served
from tests.web.streamed_documents import DOCUMENTS

Open = Callable[..., Page]
CUTS = 1_000

RAW = re.compile(
    r"\||```|~~~|\]\(|\*\*|~~|!\[|\[\^|\[[ x]\]|(?:^|\n)#+ |(?:^|\n)\s*(?:[-*+]|\d+[.)])\s*(?:\n|$)"
)
"""Marks that a reader must never see outside code."""


class Shown(HTMLParser):
    """What a reader sees: the text outside code, and all of it."""

    def __init__(self) -> None:
        super().__init__()
        self.outside_code, self.all = "", ""
        self._inside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "br":
            self._inside.append("notes" if ("class", "notes") in attrs or ("class", "note") in attrs else tag)

    def handle_endtag(self, tag: str) -> None:
        self._inside.pop()

    def handle_data(self, data: str) -> None:
        if "notes" in self._inside:  # notes appear at the end of the answer
            return
        self.all += data
        if "code" not in self._inside:
            self.outside_code += data


def shown(html: str) -> Shown:
    parser = Shown()
    parser.feed(html)
    return parser


def words(text: str) -> str:
    """Without spaces and brackets: a bracket that opens may be a link's, so it is shown once it is closed."""
    return re.sub(r"[\s\[\]]", "", text)


def test_no_raw_mark_is_visible_in_a_thousand_cuts(server: Served, open_page: Open) -> None:
    """And what is shown at a cut is the beginning of what is shown in the end."""
    choose = random.Random(24)
    cuts = [(choose.randrange(len(DOCUMENTS)), choose.random()) for _ in range(CUTS)]
    pieces = [DOCUMENTS[index][: round(share * len(DOCUMENTS[index]))] for index, share in cuts]
    texts = readable(open_page(server.url), pieces)
    render = Renderer().html
    whole = [words(shown(render(document)).all) for document in DOCUMENTS]
    wrong: dict[str, str] = {}
    for (index, _), piece, text in zip(cuts, pieces, texts, strict=True):
        seen = shown(render(text)) if text.strip() else Shown()
        if RAW.search(seen.outside_code) or not whole[index].startswith(words(seen.all)):
            wrong[piece[-60:]] = text[-60:]
    assert wrong == {}


STEPS = 6
WATCH = """() => {
    window.seen = new Set();
    const look = () => {
        const text = document.querySelector("segue-turn .text")?.cloneNode(true);
        text?.querySelectorAll(".code, code").forEach((code) => code.remove());
        if (text) window.seen.add(text.textContent);
    };
    new MutationObserver(look).observe(document, { childList: true, subtree: true, characterData: true });
}"""
SHOWS = """(wanted) => [...window.seen].at(-1)?.replaceAll(/[\\s\\[\\]]/g, "") === wanted"""


def readable(page: Page, pieces: list[str]) -> list[str]:
    """What the page renders of incomplete texts."""
    script = page.evaluate("document.querySelector('script[type=module]').src")
    shown: list[str] = page.evaluate(
        "async ([script, pieces]) => pieces.map((await import(script)).modules['lib/partial.js'].readable)",
        [script, pieces],
    )
    return shown


def test_no_raw_mark_is_visible_in_the_page_while_an_answer_streams(
    server: Served, open_page: Open, subtests: pytest.Subtests
) -> None:
    """After each piece the page shows all of it that can be shown, before the next one comes."""
    page = open_page(server.url)
    page.evaluate(WATCH)
    for number in range(3):
        with subtests.test(number=number):
            stream(page, server, number)


def stream(page: Page, server: Served, number: int) -> None:
    document = DOCUMENTS[number]
    page.goto(server.at(server.session(f"websocket:streamed-{number}", title=f"Document {number}")))
    expect(page.get_by_role("heading", name=f"Document {number}")).to_be_visible()
    expect(page.locator("segue-empty")).to_be_visible()
    ends = [round(len(document) * step / STEPS) for step in range(1, STEPS)]
    texts = readable(page, [document[:end] for end in [*ends, len(document)]])
    views = [words(shown(Renderer().html(text)).outside_code) for text in texts]
    assert len(set(views)) > 3
    page.evaluate("window.seen.clear()")
    page.get_by_role("textbox", name="Message").fill(f"steps {number} {' '.join(map(str, ends))}")
    page.keyboard.press("Enter")
    for view in views:
        page.wait_for_function(SHOWS, arg=view)
        server.say("websocket:next-step", "next")
    expect(page.locator("segue-turn:not(.running) .text")).to_be_visible()
    seen: list[str] = page.evaluate("[...window.seen]")
    assert [text for text in seen if RAW.search(text)] == []


def test_tables_and_code_scroll_in_their_own_frames(server: Served, open_page: Open) -> None:
    """On a phone: no word is broken, numbers stand at the right, and the page itself does not scroll."""
    key = server.session("websocket:frames")
    head = "| Service | Yesterday | Today | Tomorrow | Afterwards |\n|---|---|---|---|---|\n"
    wide = f"{head}| checkoutproduction | 0.9 % | 12.4 % | unknown | undecided |"
    server.call(
        "POST",
        f"sessions/{key}/messages",
        {"role": "assistant", "content": f"{wide}\n\n```python\n{'x = 1; ' * 60}\n```"},
    )
    page = open_page(server.at(key), viewport={"width": 390, "height": 844})
    for cell in page.get_by_role("columnheader").all():
        assert cell.evaluate("(it) => it.getClientRects().length && it.offsetHeight < 40")
    assert page.locator("td.right").first.evaluate("(it) => getComputedStyle(it).textAlign") == "end"
    frame = page.locator(".frame")
    assert frame.evaluate("(it) => it.scrollWidth > it.clientWidth")
    assert page.locator("pre").evaluate("(it) => it.scrollWidth > it.clientWidth")
    assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")


def test_code_has_its_language_colours_and_a_copy_button(server: Served, open_page: Open) -> None:
    """An answer is copied as it was written."""
    key = server.session("websocket:code")
    server.say(key, "document 1 0")
    server.say(key, "good **day**")
    page = open_page(server.at(key), permissions=["clipboard-read", "clipboard-write"])
    code = page.locator(".code")
    expect(code.locator(".bar")).to_contain_text("python")
    expect(code.locator(".kw").first).to_have_text("def")
    code.get_by_role("button", name="Copy code").click()
    expect(code.get_by_role("button")).to_contain_text("copied")
    assert page.evaluate("navigator.clipboard.readText()").startswith("def rate(errors: int")
    answer = page.locator("segue-turn").last
    answer.hover()
    answer.get_by_role("button", name="Copy answer").click()
    expect(answer.get_by_text("copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "You said: good **day**"


def test_tasks_notes_formulas_and_images_read_as_text_in_the_direction_of_each_block(
    server: Served, open_page: Open
) -> None:
    key = server.session("websocket:extras")
    for number in (2, 4, 9, 10):
        server.say(key, f"document {number} 0")
    page = open_page(server.at(key))
    expect(page.locator("li.task.done")).to_have_text("☑ wrote the report")
    expect(page.get_by_text("An image alt text and a badge.")).to_be_visible()
    expect(page.locator("sup.note")).to_have_text(["1", "2"])
    expect(page.locator("ol.notes li").first).to_have_text("The first note, with a link.")
    expect(page.locator(".math").nth(1)).to_have_text("(a+b)/2")
    expect(page.get_by_text("It costs $5 and not $6.", exact=True)).to_be_visible()
    key = server.session("websocket:direction")
    server.say(key, "document 11 0")
    page.goto(server.at(key))
    blocks = page.locator("segue-turn .text :is(p, ul, table)")
    expect(blocks).to_have_count(3)
    directions = [block.evaluate("(it) => getComputedStyle(it).direction") for block in blocks.all()]
    assert directions == ["rtl"] * 3
    assert page.locator("segue-turn .words p").evaluate("(it) => getComputedStyle(it).direction") == "ltr"
