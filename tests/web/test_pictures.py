"""The pictures of the documentation: the main states of the page, each with its own data.

`pytest tests/web/test_pictures.py --pictures` takes the pictures again.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import Serve, Served
from tests.web.test_future import automation, recall
from tests.web.test_quiet_hours import around_now

Open = Callable[..., Page]
Take = Callable[[Page, str], None]

OTHER_CHATS = {
    "English": [
        ("Garden", "When do I prune roses?"),
        ("Taxes", "What is still missing?"),
        ("Berlin trip", "Pack for Berlin"),
    ],
    "Chinese": [("花园", "玫瑰什么时候修剪？"), ("报税", "还缺什么？"), ("柏林之行", "去柏林带什么？")],
}
"""Other conversations: title and message."""


@pytest.fixture(scope="module")
def _gallery(serve: Serve) -> Iterator[Served]:
    with serve() as served:
        yield served


@pytest.fixture
def gallery(_gallery: Served) -> Iterator[Served]:
    """A server that has no chats when a test begins: a picture shows them all."""
    yield _gallery
    for session in _gallery.call("GET", "sessions")["sessions"]:
        _gallery.call("DELETE", f"sessions/{session['key']}?delete_automations=true")
    assert _gallery.call("GET", "sessions")["sessions"] == []


def add_other_chats(server: Served, language: str = "English") -> None:
    for number, (title, message) in enumerate(OTHER_CHATS[language]):
        server.say(server.session(f"websocket:around-{number}", title=title), message)


def runs_of(server: Served, job: str, outcome: str, count: int) -> None:
    def enough(answer: Any) -> bool:
        return len([run for run in answer["runs"] if run["outcome"] == outcome]) >= count

    server.wait_for(f"automations/{job}/runs", enough)


def test_past_and_future_in_one_column(gallery: Served, open_page: Open, picture: Take) -> None:
    """Light and dark, wide and narrow."""
    server = gallery
    add_other_chats(server)
    key = server.session("websocket:deploy", title="Deploy watch", timezone="Europe/Berlin")
    server.say(key, "The deploy went out at 14:10, watch it.")
    job = automation(server, key, "daily monitor", "every 1s", message="Is the build green?")
    runs_of(server, job, "ok", 2)
    server.call("POST", f"automations/{job}/skip")
    server.call("PATCH", f"automations/{job}", {"schedule": "0 9 * * 1-5"})
    recall(server, key, seconds=702, every=600)
    page = open_page(server.at(key))
    expect(page.locator("segue-ghost")).to_have_count(1)
    server.say("websocket:around-2", "Pack for Berlin")
    expect(page.get_by_label("Unread").first).to_be_visible()
    page.get_by_role("textbox", name="Message").fill("remind me tomorrow at 9 to call Ana")
    expect(page.locator("segue-hint")).to_contain_text("09:00")
    picture(page, "page")
    page.emulate_media(color_scheme="dark")
    picture(page, "page-dark")
    page.set_viewport_size({"width": 390, "height": 844})
    page.reload()  # the draft stays
    expect(page.locator("segue-app.panel-open")).to_have_count(0)
    expect(page.locator("segue-ghost")).to_have_count(1)
    expect(page.locator("segue-hint")).to_contain_text("09:00")
    picture(page, "page-phone")
    page.emulate_media(color_scheme="light")
    page.get_by_role("button", name="Automations and memory").click()
    expect(page.get_by_role("heading", name="daily monitor")).to_be_in_viewport()
    picture(page, "page-phone-panel")


def test_a_question_waits_for_an_answer(gallery: Served, open_page: Open, picture: Take) -> None:
    server = gallery
    add_other_chats(server)
    key = server.session("websocket:invoices", title="Invoices", timezone="Europe/Berlin")
    server.say(key, "What is still missing?")
    automation(server, key, "open invoices", "0 9 * * 1-5", message="What is unpaid?")
    server.say(key, "Pay Ana's invoice.")
    page = open_page(server.at(key))
    expect(page.get_by_role("button", name="Yes, pay it")).to_be_visible()
    expect(page.get_by_role("heading", name="open invoices")).to_be_visible()
    expect(page.locator("segue-ghost")).to_have_count(1)
    picture(page, "page-question")


def test_an_empty_conversation(gallery: Served, open_page: Open, picture: Take) -> None:
    add_other_chats(gallery)
    page = open_page(gallery.url)
    expect(page.locator("segue-session")).to_have_count(3)
    expect(page.get_by_role("heading", name="What should happen, and when?")).to_be_visible()
    expect(page.get_by_role("complementary")).to_contain_text("No automations yet.")
    picture(page, "page-empty")


def test_a_failed_run_is_explained(gallery: Served, open_page: Open, picture: Take) -> None:
    server = gallery
    add_other_chats(server)
    key = server.session("websocket:deploy", title="Deploy watch", timezone="Europe/Berlin")
    server.say(key, "The deploy went out at 14:10, watch it.")
    job = automation(server, key, "daily monitor", "every 1s", message="Is the build green?")
    runs_of(server, job, "ok", 3)
    server.call("PATCH", f"automations/{job}", {"message": "fail"})
    runs_of(server, job, "error", 1)
    server.call("POST", f"automations/{job}/skip")
    server.call("PATCH", f"automations/{job}", {"schedule": "0 9 * * 1-5", "message": "Is the build green?"})
    page = open_page(server.at(key))
    page.locator(".mark.error").first.click()
    detail = page.locator("segue-run")
    expect(detail).to_contain_text("the model fell over")
    detail.get_by_role("button", name="Why?").click()
    expect(detail.locator(".told")).to_contain_text("It ended as error")
    picture(page, "page-run")


def test_conditions_are_edited(gallery: Served, open_page: Open, picture: Take) -> None:
    server = gallery
    add_other_chats(server)
    key = server.session("websocket:pills", title="Pills", timezone="Europe/Berlin")
    server.say(key, "What is still missing?")
    automation(server, key, "take the pills", "0 9 * * *", policy={"when": [{"if": "not_done"}]})
    two_hours = [{"if": "unanswered", "since": "last_run"}, {"if": "quiet", "for_seconds": 7200}]
    automation(server, key, "still there?", "0 18 * * *", policy={"when": two_hours, "otherwise": "postpone"})
    page = open_page(server.at(key), viewport={"width": 1360, "height": 1120})
    expect(page.locator("segue-ghost")).to_have_count(2)
    page.get_by_role("button", name="Edit: still there?").click()
    expect(page.locator("segue-conditions .condition")).to_have_count(2)
    expect(page.locator("segue-edit segue-hint strong")).to_be_visible()
    page.locator("segue-edit form").evaluate("(form) => form.scrollIntoView({ block: 'end' })")
    picture(page, "page-conditions")


def test_quiet_hours_hold_an_answer_back(gallery: Served, open_page: Open, picture: Take) -> None:
    server = gallery
    add_other_chats(server)
    key = server.session("pushing:deploy", title="Deploy watch", timezone="Europe/Berlin")
    server.say(key, "The deploy went out at 14:10, watch it.")
    start, end = around_now()
    server.call("PATCH", f"sessions/{key}", {"quiet": {"from": start, "to": end}, "digest": {"at": end}})
    job = automation(
        server, key, "night watch", "every 1s", message="Is the build green?", policy={"quiet": "hold"}
    )
    runs_of(server, job, "ok", 1)
    server.call("POST", f"automations/{job}/skip")
    server.call("PATCH", f"automations/{job}", {"schedule": "0 3 * * *"})
    page = open_page(server.at(key))
    expect(page.locator("segue-held:not([hidden])").first).to_be_visible()
    expect(page.locator("segue-moon")).to_be_visible()
    expect(page.get_by_role("heading", name="night watch")).to_be_visible()
    picture(page, "page-quiet")


def test_deleting_lists_the_automations(gallery: Served, open_page: Open, picture: Take) -> None:
    server = gallery
    add_other_chats(server)
    key = server.session("websocket:old", title="Old deploy", timezone="Europe/Berlin")
    server.say(key, "Is the build green?")
    automation(server, key, "daily monitor", "0 9 * * 1-5")
    page = open_page(server.at(key))
    page.get_by_label("More about this chat").click()
    page.get_by_role("button", name="Delete chat").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text("daily monitor")
    picture(page, "page-delete")


def test_the_same_in_chinese(gallery: Served, open_page: Open, picture: Take) -> None:
    server = gallery
    add_other_chats(server, "Chinese")
    key = server.session("websocket:zh", title="发布观察", timezone="Asia/Shanghai")
    server.say(key, "构建通过了吗？")
    automation(server, key, "每日检查", "0 9 * * 1-5", message="有什么变化？")
    page = open_page(server.at(key), locale="zh-CN", timezone_id="Asia/Shanghai")
    page.get_by_role("textbox", name="消息").fill("明天9点提醒我给安娜打电话")
    expect(page.locator("segue-hint")).to_contain_text("09:00")
    expect(page.locator("segue-ghost")).to_have_count(1)
    picture(page, "page-chinese")
