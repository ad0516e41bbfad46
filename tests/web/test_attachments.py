"""Attachments: images are shown, other files are links, and hostile files do no harm."""

import json
from collections.abc import Callable
from functools import partial
from urllib.parse import quote

import pytest
from playwright.sync_api import Dialog, FilePayload, Page, Route, expect

from tests.eventually import eventually_blocking
from tests.server.hostile_files import CONTENTS, HTML, NAMES, SVG
from tests.web.attached import give, png
from tests.web.conftest import Served
from tests.web.test_login import BEN, KEY, address

__all__ = ["address"]

Open = Callable[..., Page]
CAT = png()
AT_ONCE = 20


def opened(server: Served, open_page: Open, name: str) -> Page:
    page = open_page(server.at(server.session(f"websocket:files-{name}", title=name)))
    page.evaluate("customElements.whenDefined('segue-files').then(() => true)")
    expect(page.get_by_role("heading", name=name)).to_be_visible()
    return page


def tray(page: Page) -> list[str]:
    expect(page.locator("segue-files progress")).to_have_count(0)
    return page.locator("segue-files .file-name").all_inner_texts()


def send(page: Page, text: str = "") -> None:
    field = page.get_by_role("textbox", name="Message")
    if text:
        field.fill(text)
    expect(page.get_by_role("button", name="Send")).to_be_enabled()
    field.press("Enter")


def test_a_picture_and_a_file_are_sent_and_shown(server: Served, open_page: Open) -> None:
    page = opened(server, open_page, "attach")
    with page.expect_file_chooser() as chosen:
        page.get_by_role("button", name="Attach files").click()
    chosen.value.set_files(
        [
            FilePayload(name="cat.png", mimeType="image/png", buffer=CAT),
            FilePayload(name="notes.txt", mimeType="text/plain", buffer=b"Feed it."),
        ]
    )
    assert tray(page) == ["cat.png", "notes.txt"]
    send(page, "What is this?")
    turn = page.locator("segue-turn")
    picture = turn.get_by_role("button", name="Show cat.png").locator("img")
    expect(picture).to_have_js_property("naturalWidth", 240)
    assert str(picture.get_attribute("src")).startswith("blob:")
    assert tray(page) == []
    with page.expect_download() as download:
        turn.get_by_role("link", name="notes.txt").click()
    assert download.value.path().read_bytes() == b"Feed it."
    turn.get_by_role("button", name="Show cat.png").click()
    dialog = page.get_by_role("dialog", name="cat.png")
    expect(dialog.locator("img")).to_have_js_property("naturalWidth", 240)
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).to_have_count(0)
    page.reload()
    expect(turn.get_by_role("button", name="Show cat.png").locator("img")).to_have_js_property(
        "naturalWidth", 240
    )


def test_a_picture_is_dropped_or_pasted_and_sent_without_words(server: Served, open_page: Open) -> None:
    page = opened(server, open_page, "given")
    for number, by in enumerate(("drop", "paste"), 1):
        give(page, [("cat.png", "image/png", CAT)], by=by)
        assert tray(page) == ["cat.png"]
        send(page)
        expect(page.locator("segue-turn")).to_have_count(number)
        turn = page.locator("segue-turn").last
        expect(turn.locator(".thumbnail img")).to_have_js_property("naturalWidth", 240)
        expect(turn.locator(".user .words")).to_be_hidden()


def test_a_file_is_removed_before_it_is_sent_and_survives_a_reload(server: Served, open_page: Open) -> None:
    page = opened(server, open_page, "remove")
    give(page, [("cat.png", "image/png", CAT), ("dog.png", "image/png", CAT)])
    assert tray(page) == ["cat.png", "dog.png"]
    page.get_by_role("button", name="Remove cat.png").click()
    assert tray(page) == ["dog.png"]
    page.reload()
    expect(page.locator("segue-files .file-name")).to_have_text(["dog.png"])
    page.get_by_role("button", name="Remove dog.png").click()
    expect(page.get_by_role("button", name="Send")).to_be_disabled()


def test_an_edited_message_keeps_its_files(server: Served, open_page: Open) -> None:
    page = opened(server, open_page, "keeps")
    give(page, [("cat.png", "image/png", CAT)])
    assert tray(page) == ["cat.png"]
    send(page, "first")
    expect(page.locator("segue-turn .answer .text")).to_have_text("You said: first")
    page.locator("segue-turn .user").hover()
    page.get_by_role("button", name="Edit message").click()
    page.get_by_role("textbox", name="Edit message").fill("second")
    page.keyboard.press("Enter")
    expect(page.locator("segue-turn .answer .text")).to_have_text("You said: second")
    expect(page.locator("segue-past > segue-turn .thumbnail")).to_have_count(1)


def test_a_message_that_was_refused_keeps_its_files(server: Served, open_page: Open) -> None:
    page = opened(server, open_page, "returned")
    give(page, [("cat.png", "image/png", CAT)])
    assert tray(page) == ["cat.png"]
    page.evaluate(
        "Object.keys(localStorage).filter((it) => it.includes('segue.files')).forEach((it) => "
        'localStorage.setItem(it, localStorage[it].replace(/"id":"[^"]+/, \'"id":"gone\')))'
    )
    page.reload()
    expect(page.locator("segue-files .file-name")).to_have_text(["cat.png"])
    send(page, "What is this?")
    expect(page.locator(".toast.bad")).to_contain_text("there is no file gone")
    expect(page.get_by_role("textbox", name="Message")).to_have_value("What is this?")
    assert tray(page) == ["cat.png"]


def test_only_an_image_is_shown_as_one_in_a_question_and_in_an_answer(
    server: Served, open_page: Open
) -> None:
    page = opened(server, open_page, "answers")
    key = "websocket:files-answers"
    give(page, [("photo.png", "image/png", HTML)])
    expect(page.locator("segue-files .size")).to_have_text("not an image; sent as a file")
    send(page)
    expect(page.locator("segue-turn a.chip")).to_have_count(1)
    expect(page.locator("segue-turn img")).to_have_count(0)
    part = page.evaluate(
        """async ([path, bytes]) => (await fetch(path, {
          method: "POST", body: new Uint8Array(bytes)})).json()""",
        [f"sessions/{quote(key)}/files?name=chart.png", list(CAT)],
    )
    message = {"role": "assistant", "content": "Here it is.", "parts": [part]}
    server.call("POST", f"sessions/{key}/messages", message)
    expect(page.locator("segue-note .thumbnail img")).to_have_js_property("naturalWidth", 240)


REFUSED = [
    (409, "too_many_files", "this chat has no room for more files"),
    (500, "storage_failure", "the server could not store the file; its disk may be full"),
    (0, "", "The server cannot be reached."),
]


def test_a_file_that_was_not_stored_says_why_and_the_text_stays(
    server: Served, open_page: Open, subtests: pytest.Subtests
) -> None:
    page = opened(server, open_page, "refused")
    page.get_by_role("textbox", name="Message").fill("half a sentence")
    for status, code, sentence in REFUSED:
        with subtests.test(code):
            page.route("**/files?name=*", partial(refuse, status, code), times=1)
            give(page, [(f"cat-{status}.png", "image/png", CAT)])
            alert = page.locator("segue-files").get_by_role("alert")
            expect(alert).to_contain_text(f"cat-{status}.png: {sentence}")
            assert tray(page) == []
            expect(page.get_by_role("textbox", name="Message")).to_have_value("half a sentence")
            expect(page.get_by_role("button", name="Send")).to_be_enabled()


def refuse(status: int, code: str, route: Route) -> None:
    if not status:
        route.abort()
        return
    route.fulfill(status=status, content_type="application/problem+json", body=json.dumps({"code": code}))


def test_a_file_that_is_too_large_or_empty_is_refused(server: Served, open_page: Open) -> None:
    page = opened(server, open_page, "sizes")
    page.evaluate(
        """() => {
          const data = new DataTransfer();
          data.items.add(new File([new Uint8Array(21 * 2 ** 20)], "film.bin"));
          document.querySelector("segue-talk .scroll").dispatchEvent(
            new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
        }"""
    )
    alert = page.locator("segue-files").get_by_role("alert")
    expect(alert).to_have_text("film.bin: the file is too large for this server.")
    give(page, [("nothing.txt", "text/plain", b"")])
    expect(alert).to_have_text("nothing.txt: the file is empty.")
    give(page, [(f"{number}.txt", "text/plain", b"x") for number in range(AT_ONCE + 1)])
    expect(alert).to_have_text("A message takes at most 20 files; the others were left out.")
    assert len(tray(page)) == AT_ONCE


def test_a_hundred_hostile_files_do_nothing(server: Served, open_page: Open) -> None:
    """None runs, none is shown but as a picture, none is served inline."""
    page = opened(server, open_page, "hostile")
    harm: list[str] = []

    def dismiss(dialog: Dialog) -> None:
        harm.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", dismiss)
    page.on("popup", lambda popup: harm.append(popup.url))
    hostile = [("photo.png", "image/png", content) for content in CONTENTS.values()]
    hostile += [(name, "image/png", CAT) for name in NAMES]
    assert len(hostile) == 100
    for first in range(0, len(hostile), AT_ONCE):
        give(page, hostile[first : first + AT_ONCE])
        expect(page.locator("segue-files li")).to_have_count(AT_ONCE)
        assert len(tray(page)) == AT_ONCE
        send(page)
        expect(page.locator("segue-turn")).to_have_count(first // AT_ONCE + 1)
    expect(page.locator("segue-turn.running")).to_have_count(0)
    key = quote("websocket:files-hostile")
    messages = server.call("GET", f"sessions/{key}/messages")["messages"]
    parts = [part for message in messages for part in message["parts"]]
    assert len(parts) == 100
    heads = page.evaluate(
        """async (ids) => {
          const heads = [];
          for (const id of ids) heads.push(Object.fromEntries((await fetch(`files/${id}`)).headers));
          return heads;
        }""",
        [part["id"] for part in parts],
    )
    for part, head in zip(parts, heads, strict=True):
        assert head["content-disposition"].startswith("attachment"), part
        assert head["x-content-type-options"] == "nosniff", part
        assert "sandbox" in head["content-security-policy"], part
    shown = page.locator("segue-turn .thumbnail img")
    sources = shown.evaluate_all("(all) => all.map((each) => each.src)")
    assert [source for source in sources if source and not source.startswith("blob:")] == []
    assert page.locator("segue-turn :is(iframe, object, embed, svg image)").count() == 0
    for turn in page.locator("segue-turn").all():
        turn.scroll_into_view_if_needed()
    assert harm == []
    assert page.evaluate("location.pathname") == "/"


def test_a_file_that_is_opened_by_its_address_is_saved(
    server: Served, open_page: Open, subtests: pytest.Subtests
) -> None:
    page = opened(server, open_page, "inline")
    for number, (name, content) in enumerate((("svg", SVG), ("html", HTML))):
        with subtests.test(name):
            give(page, [("evil.svg", "image/svg+xml", content)])
            expect(page.locator("segue-files li")).to_have_count(number + 1)
            tray(page)
            stored = "JSON.parse(Object.entries(localStorage).find(([k]) => k.includes('files'))[1]).at(-1)"
            part = page.evaluate(stored)
            with page.expect_download() as download:
                page.evaluate("(url) => { location.href = url }", f"{server.url}files/{part['id']}")
            assert download.value.path().read_bytes() == content
            assert page.url.startswith(f"{server.url}#")


def log_in(open_page: Open, address: str, key: str) -> Page:
    page = open_page(address)
    page.get_by_label("Your key for this server").fill(key)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="What should happen, and when?")).to_be_visible()
    page.evaluate("customElements.whenDefined('segue-files').then(() => true)")
    return page


def test_no_user_reaches_the_files_the_words_or_the_turns_of_another(address: str, open_page: Open) -> None:
    ada, ben = log_in(open_page, address, KEY), log_in(open_page, address, BEN)
    give(ada, [("secret.png", "image/png", CAT)])
    tray(ada)
    send(ada, "the zebra is hidden")
    expect(ada.locator("segue-turn .answer .text")).not_to_be_empty()
    key = ada.evaluate("decodeURIComponent(location.hash.slice(1))")
    messages = ada.evaluate("(key) => fetch(`sessions/${key}/messages`).then((it) => it.json())", key)
    question = messages["messages"][0]
    found = "fetch('messages/search?query=zebra').then((it) => it.json()).then((it) => it.messages.length)"
    eventually_blocking(lambda: ada.evaluate(found), "the message is indexed")
    assert ben.evaluate(found) == 0
    for path in (
        f"files/{question['parts'][0]['id']}",
        f"sessions/{key}/export",
        f"turns/{question['turn_id']}",
    ):
        status = "(path) => fetch(path).then((it) => it.status)"
        assert (ada.evaluate(status, path), ben.evaluate(status, path)) == (200, 404), path
    for body in (
        {"content": "mine", "replaces": question["turn_id"]},
        {"replaces": question["turn_id"]},
        {"content": "mine", "parts": question["parts"]},
    ):
        sent = ben.evaluate(
            """([key, body]) => fetch(`sessions/${key}/turns`, { method: "POST", body: JSON.stringify(body),
              headers: { "Content-Type": "application/json" } }).then((it) => it.status)""",
            [key, body],
        )
        assert sent == 404, body
    ben.get_by_role("searchbox", name="Search chats").fill("zebra")
    ben.keyboard.press("Enter")
    expect(ben.get_by_role("dialog").get_by_role("status")).to_contain_text("No message has these words.")
