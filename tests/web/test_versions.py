"""Edit and retry: the new version stands in the place of the old one, which can be unfolded."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.web.conftest import Served

Open = Callable[..., Page]


def turns(page: Page) -> list[str]:
    shown = page.locator("segue-past > segue-turn")
    return [words.strip() for words in shown.locator(".asked > .row .words").all_inner_texts()]


def test_an_edited_message_takes_the_place_of_the_first_version(server: Served, open_page: Open) -> None:
    """Escape leaves the message as it is."""
    key = server.session("websocket:edit", title="Edit")
    server.say(key, "I am Ann")
    server.say(key, "between")
    page = open_page(server.at(key))
    first = page.locator("segue-past > segue-turn").first
    first.hover()
    first.get_by_role("button", name="Edit message").click()
    expect(page.locator("segue-rewrite textarea")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("segue-rewrite")).to_have_count(0)
    expect(first.locator(".words")).to_be_visible()
    expect(first.get_by_role("button", name="Edit message")).to_be_focused()
    first.get_by_role("button", name="Edit message").click()
    field = first.get_by_role("textbox", name="Edit message")
    expect(field).to_be_focused()
    expect(field).to_have_value("I am Ann")
    field.fill("I am Anna")
    page.keyboard.press("Enter")
    expect(page.locator("segue-past > segue-turn").first.locator(".answer .text")).to_have_text(
        "You said: I am Anna"
    )
    expect(page.locator("segue-past > segue-turn")).to_have_count(2)
    assert turns(page) == ["I am Anna", "between"]
    page.get_by_text("Show the earlier version").click()
    earlier = page.locator("segue-versions segue-turn")
    expect(earlier.locator(".words")).to_have_text("I am Ann")
    expect(earlier.get_by_role("button", name="Edit message")).to_have_count(0)
    expect(earlier.get_by_role("button", name="Try again")).to_have_count(0)
    page.reload()
    expect(page.locator("segue-past > segue-turn")).to_have_count(2)
    assert turns(page) == ["I am Anna", "between"]


def test_a_retry_asks_the_same_again(server: Served, open_page: Open) -> None:
    key = server.session("websocket:retry", title="Retry")
    first = server.say(key, "hello")["turn_id"]
    page = open_page(server.at(key))
    other = open_page(server.at(key), context=page.context)
    expect(other.locator("segue-turn .answer .text")).to_have_text("You said: hello")
    page.locator("segue-turn").hover()
    page.get_by_role("button", name="Try again").click()
    for each in (page, other):
        expect(each.get_by_text("Show the earlier version")).to_be_visible()
        expect(each.locator("segue-past > segue-turn .answer .text")).to_have_text("You said: hello")
        expect(each.locator("segue-past > segue-turn")).to_have_count(1)
    messages = server.call("GET", f"sessions/{key}/messages")["messages"]
    assert [message["content"] for message in messages] == ["hello", "You said: hello"] * 2
    assert messages[2]["replaces"] == first
    assert messages[0]["replaced_by"] == messages[2]["turn_id"]


def test_a_failed_turn_offers_another_try_and_an_archived_one_none(server: Served, open_page: Open) -> None:
    key = server.session("websocket:fails", title="Fails")
    server.say(key, "fail")
    page = open_page(server.at(key))
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_text("Show the earlier version")).to_be_visible()
    expect(page.locator("segue-past > segue-turn")).to_have_count(1)
    archived = server.session("websocket:archived", title="Archived")
    server.say(archived, "hello")
    server.call("POST", f"sessions/{archived}/commit", {})
    page.goto(server.at(archived))
    expect(page.locator("segue-turn .answer .text")).to_have_text("You said: hello")
    expect(page.locator("segue-turn .words")).to_be_visible()
    expect(page.get_by_role("button", name="Edit message")).to_have_count(0)
    expect(page.get_by_role("button", name="Try again")).to_have_count(0)


def test_an_edit_that_came_second_keeps_its_text(server: Served, open_page: Open) -> None:
    """Two windows edit one message: the later text goes into the message field."""
    key = server.session("websocket:twice", title="Twice")
    first = server.say(key, "hello")["turn_id"]
    page = open_page(server.at(key))
    expect(page.locator("segue-turn .answer .text")).to_have_text("You said: hello")
    page.evaluate("WebSocket.prototype.send = () => {}")
    page.locator("segue-turn .user").hover()
    page.get_by_role("button", name="Edit message").click()
    page.get_by_role("textbox", name="Edit message").fill("my version")
    page.keyboard.press("Enter")
    server.call("POST", f"sessions/{key}/turns?wait=20", {"content": "theirs", "replaces": first})
    page.reload()
    expect(page.locator(".toast")).to_contain_text("Another version of this message exists already.")
    expect(page.get_by_role("textbox", name="Message")).to_have_value("my version")


def test_a_search_leads_to_an_earlier_version(server: Served, open_page: Open) -> None:
    word = "violin"
    key = server.session("websocket:earlier", title="Earlier")
    first = server.say(key, f"buy a {word}")["turn_id"]
    server.call("POST", f"sessions/{key}/turns?wait=20", {"content": "buy a cello", "replaces": first})
    server.wait_for(f"messages/search?query={word}", lambda answer: answer["messages"])
    page = open_page(server.at(key))
    expect(page.locator("segue-turn .answer .text")).to_be_visible()
    page.locator(".scroll").focus()
    page.keyboard.press("f")
    page.get_by_role("searchbox", name="Search messages").fill(word)
    result = page.get_by_role("dialog").get_by_role("button", name=word).first
    expect(result).to_contain_text("earlier version")
    result.click()
    expect(page.locator("segue-versions segue-turn", has_text=word).first).to_be_visible()
