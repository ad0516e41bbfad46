"""The list of conversations."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from playwright.sync_api import APIResponse, Locator, Page, Route, expect

from tests.web.conftest import Served

Open = Callable[..., Page]


def listed(page: Page, title: str) -> Locator:
    return page.locator("segue-session", has=page.get_by_text(title, exact=True))


def test_a_session_shows_its_title_its_last_line_and_whether_it_is_unread_until_it_is_opened(
    server: Served, open_page: Open
) -> None:
    other = server.session("websocket:unread", title="Taxes")
    server.say(other, "hello")
    key = server.session("websocket:listed", title="Garden")
    server.say(key, "water the **roses**")
    page = open_page(server.at(key))
    expect(listed(page, "Garden").locator(".last")).to_have_text("You said: water the roses")
    expect(listed(page, "Garden").get_by_role("link")).to_have_attribute("aria-current", "page")
    expect(listed(page, "Taxes")).to_be_visible()
    expect(listed(page, "Taxes").get_by_label("1 unread message")).to_have_text("1")
    server.say(other, "news")
    expect(listed(page, "Taxes").get_by_label("2 unread messages")).to_have_text("2")
    expect(listed(page, "Taxes").locator(".last")).to_have_text("You said: news")
    listed(page, "Taxes").get_by_role("link").click()
    expect(page.get_by_role("heading", name="Taxes")).to_be_visible()
    expect(listed(page, "Taxes").get_by_label("unread")).to_have_count(0)


def test_running_and_waiting_turns_show_in_the_list_and_a_deleted_session_leaves_it(
    server: Served, open_page: Open
) -> None:
    key = server.session("websocket:busy", title="Busy")
    server.say_without_waiting(key, "hold")
    server.say_without_waiting(key, "after that")
    page = open_page(server.url)
    expect(listed(page, "Busy").get_by_label("running")).to_be_visible()
    expect(listed(page, "Busy").get_by_text("+1")).to_be_visible()
    server.call("POST", f"sessions/{key}/stop")
    expect(listed(page, "Busy").get_by_label("running")).to_have_count(0)
    server.call("DELETE", f"sessions/{key}")
    expect(listed(page, "Busy")).to_have_count(0)


def test_the_list_is_filtered_by_what_is_pending_and_searched_by_title_and_last_line(
    server: Served, open_page: Open
) -> None:
    """Requirements, recall: the session list shows and filters what is pending."""
    server.session("websocket:find-1", title="Lisbon trip")
    server.say(server.session("websocket:find-2", title="Something else"), "zebra crossing")
    server.session("websocket:plain", title="Without a recall")
    key = server.session("websocket:clock", title="With a recall")
    recall = {"call_type": "once", "when": "in 3 hours", "additional_context_message": "Read the log."}
    server.call("POST", f"sessions/{key}/recall", recall)
    page = open_page(server.url)
    expect(listed(page, "With a recall").locator(".coming")).to_contain_text("Read the log.")
    expect(listed(page, "Without a recall")).to_be_visible()
    page.get_by_role("button", name="With something pending").click()
    expect(listed(page, "Without a recall")).to_have_count(0)
    expect(listed(page, "With a recall")).to_be_visible()
    server.call("DELETE", f"sessions/{key}/recall")
    expect(listed(page, "With a recall")).to_have_count(0)
    page.get_by_role("button", name="With something pending").click()
    page.get_by_role("searchbox").fill("lisbon")
    expect(page.locator("segue-session")).to_have_count(1)
    page.get_by_role("searchbox").fill("ZEBRA")
    expect(listed(page, "Something else")).to_be_visible()
    expect(page.locator("segue-session")).to_have_count(1)
    page.get_by_role("searchbox").fill("no such text")
    expect(page.get_by_text("Nothing found.")).to_be_visible()


def test_the_search_keeps_the_focus_when_the_conversation_loads(server: Served, open_page: Open) -> None:
    """The conversation may load slowly; it must not take the focus from a user who is typing."""
    key = server.session("websocket:slow", title="Slow to come")
    server.say(key, "hello")
    late: list[Route] = []
    page = open_page("about:blank")
    page.route("**/log?*", lambda route: late.append(route))
    page.goto(server.at(key))
    search = page.get_by_role("searchbox")
    search.press_sequentially("slow")
    late[0].continue_()
    expect(page.locator("segue-turn")).to_have_count(1)
    page.keyboard.type(" to")
    expect(search).to_have_value("slow to")
    expect(page.locator("segue-session")).to_have_count(1)


def test_a_live_update_is_not_overwritten_by_an_older_list(server: Served, open_page: Open) -> None:
    page = open_page("about:blank")
    late: list[tuple[Route, APIResponse]] = []
    page.route("**/sessions?limit=500", lambda route: late.append((route, route.fetch())))
    with page.expect_request("**/sessions?limit=500"):
        page.goto(server.at(server.session("websocket:listing", title="While listing")))
    expect(listed(page, "While listing")).to_be_visible()
    server.say(server.session("websocket:newer", title="Newer"), "hello")
    expect(listed(page, "Newer").locator(".last")).to_have_text("You said: hello")
    route, before = late[0]
    with page.expect_response("**/sessions?limit=500"):
        route.fulfill(response=before)
    page.evaluate("new Promise((wake) => requestAnimationFrame(() => requestAnimationFrame(wake)))")
    expect(listed(page, "Newer").locator(".last")).to_have_text("You said: hello")


def test_a_new_chat_offers_three_examples(server: Served, open_page: Open) -> None:
    page = open_page(server.at(server.session("websocket:before", title="Before")))
    page.get_by_role("button", name="New chat").click()
    expect(page.get_by_role("heading", name="What should happen, and when?")).to_be_visible()
    page.get_by_role("button", name="A reminder").click()
    field = page.get_by_role("textbox", name="Message")
    expect(field).to_have_value("remind me in 10 minutes to stretch")
    page.keyboard.press("Enter")
    expect(page.locator("segue-turn .text")).to_contain_text("You said: remind me")
    expect(listed(page, "remind me in 10 minutes to stretch")).to_be_visible()
    key = page.evaluate("decodeURIComponent(location.hash.slice(1))")
    assert server.call("GET", f"sessions/{key}")["timezone"] == "Europe/Berlin"


def test_a_chat_is_renamed_in_place_and_deleted_with_its_automations_after_a_second_confirmation(
    server: Served, open_page: Open
) -> None:
    """Requirements, cron: deleting a session lists its automations and needs a second yes."""
    key = server.session("websocket:delete", title="Old name")
    server.say(key, "hello")
    job = {"name": "daily monitor", "message": "look", "schedule": "0 9 * * *"}
    server.call("POST", f"sessions/{key}/automations", job)
    page = open_page(server.at(key))
    page.get_by_role("button", name="Old name").click()
    page.get_by_role("textbox", name="Rename").fill("Old deploy")
    page.keyboard.press("Enter")
    expect(listed(page, "Old deploy")).to_be_visible()
    assert server.call("GET", f"sessions/{key}")["title"] == "Old deploy"
    page.get_by_label("More about this chat").click()
    page.get_by_role("button", name="Delete chat").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Its 2 messages will be deleted permanently.")
    dialog.get_by_role("button", name="Delete", exact=True).click()
    expect(dialog).to_contain_text("1 automation belongs to this chat")
    expect(dialog.get_by_role("listitem")).to_have_text(["daily monitor"])
    assert server.call("GET", f"sessions/{key}")["title"] == "Old deploy"
    dialog.get_by_role("button", name="Delete the chat and its automation").click()
    expect(listed(page, "Old deploy")).to_have_count(0)
    expect(page.get_by_role("heading", name="What should happen, and when?")).to_be_visible()


def test_a_chat_rises_when_a_job_has_answered_and_shows_what_comes_next(
    own_server: Served, open_page: Open
) -> None:
    server = own_server
    for number in range(3):
        key = server.session(f"websocket:rise-{number}", title=f"Chat {number}", timezone="Europe/Berlin")
        server.say(key, "hello")
    page = open_page(server.at("websocket:rise-1"))
    titles = page.locator("segue-session .words")
    expect(titles).to_have_text(["Chat 2", "Chat 1", "Chat 0"])
    soon = datetime.now(UTC) + timedelta(seconds=3)
    body = {"name": "look", "message": "look around", "schedule": soon.isoformat()}
    server.call("POST", "sessions/websocket:rise-0/automations", body)
    expect(listed(page, "Chat 0").locator(".coming")).to_contain_text("look")
    expect(titles).to_have_text(["Chat 0", "Chat 2", "Chat 1"])
    expect(listed(page, "Chat 0").locator(".coming")).to_have_count(0)
    assert server.call("GET", "sessions/websocket:rise-0")["upcoming"] is None
