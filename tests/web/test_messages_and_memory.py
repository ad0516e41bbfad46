"""Scheduled messages, and the memory section of the panel."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from playwright.sync_api import Page, Request, expect

from tests.web.conftest import Served
from tests.web.test_pictures import add_other_chats

Open = Callable[..., Page]
Take = Callable[[Page, str], None]


def schedule_message(server: Served, key: str, text: str, *, seconds: float) -> None:
    at = (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()
    server.call("POST", f"sessions/{key}/scheduled-messages", {"send_at": at, "message_text": text})


def test_a_scheduled_message_is_a_ghost_which_is_cancelled_or_becomes_a_message_in_place(
    server: Served, open_page: Open
) -> None:
    """What another client does shows at once; what is cancelled here can be undone."""
    key = server.session("websocket:promise")
    page = open_page(server.at(key))
    expect(page.locator("segue-empty")).to_be_visible()
    schedule_message(server, key, "Your flight leaves at noon.", seconds=7200)
    expect(page.locator("segue-ghost")).to_contain_text("“Your flight leaves at noon.”")
    listed = page.get_by_role("region", name="Scheduled messages")
    expect(listed.get_by_role("listitem")).to_contain_text(["Your flight leaves at noon."])
    listed.get_by_role("button", name="Cancel").click()
    expect(page.locator("segue-ghost")).to_have_count(0)
    expect(listed).to_be_hidden()
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("segue-ghost")).to_have_count(1)
    messages = server.call("GET", f"sessions/{key}/scheduled-messages")["messages"]
    (waiting,) = (each for each in messages if each["status"] == "pending")
    server.call("DELETE", f"scheduled-messages/{waiting['task_id']}")
    expect(page.locator("segue-ghost")).to_have_count(0)
    schedule_message(server, key, "It is noon.", seconds=5)
    expect(page.locator("segue-ghost")).to_contain_text("It is noon.")
    expect(page.locator("segue-note")).to_contain_text("It is noon.")
    expect(page.locator("segue-note .node.clock")).to_be_visible()
    expect(page.locator("segue-ghost")).to_have_count(0)


def test_memories_are_shown_and_can_be_edited_and_forgotten(
    own_server: Served, open_page: Open, picture: Take
) -> None:
    """A fact says what it is about and where it comes from."""
    policy = {"enabled": True, "token_threshold": 2000, "idle_timeout_seconds": 600}
    key = own_server.session("websocket:memory", title="Travel", auto_commit_policy=policy)
    add_other_chats(own_server)
    own_server.say(key, "I live in Rome and I like tea. We decided to ship on Friday.")
    page = open_page(own_server.at(key))
    drawer = page.get_by_role("region", name="Memory")
    expect(drawer).to_contain_text("tokens until the next archive")
    expect(drawer).to_contain_text("Archived automatically at 2,000 tokens · after 10 idle minutes")
    assert 0 < float(drawer.get_by_role("progressbar").get_attribute("value") or 0) < 2000
    drawer.get_by_role("button", name="Archive now").click()
    expect(drawer.locator(".summary")).not_to_be_empty()
    facts = drawer.locator(":scope > ul li")
    expect(facts.first).to_contain_text("Friday")
    expect(facts.filter(has_text="Friday")).to_contain_text("about this chat · learned")
    expect(facts.filter(has_text="tea").first).to_contain_text("about you · learned")
    expect(drawer).to_contain_text("2,000 tokens until the next archive")
    expect(page.locator(".toast")).to_have_count(0)
    picture(page, "page-memory")
    drawer.get_by_role("button", name="Edit: We decided to ship on Friday.").click()
    drawer.get_by_role("textbox", name="Edit").fill("We decided to ship on Monday.")
    drawer.get_by_role("button", name="Save").click()
    expect(drawer.locator(":scope > ul")).to_contain_text("We decided to ship on Monday.")
    count = facts.count()
    drawer.get_by_role("button", name="Forget: We decided to ship on Monday.").click()
    expect(facts).to_have_count(count - 1)
    drawer.get_by_role("button", name="Archive now").click()
    expect(page.get_by_text("There is nothing to archive.")).to_be_visible()


def test_the_commit_policy_can_be_edited(server: Served, open_page: Open) -> None:
    key = server.session("websocket:policy")
    server.say(key, "hello")
    page = open_page(server.at(key))
    changes: list[object] = []

    def note(request: Request) -> None:
        if request.method == "PATCH":
            changes.append(request.post_data_json)

    page.on("request", note)
    drawer = page.get_by_role("region", name="Memory")
    expect(drawer).to_contain_text("Archived only when you ask")
    drawer.get_by_role("button", name="Edit the memory settings").click()
    drawer.get_by_label("Archive automatically").check()
    drawer.get_by_label("When it reaches").fill("0.5")
    drawer.get_by_role("button", name="Save").click()
    drawer.get_by_label("When it reaches").fill("4000")
    drawer.get_by_label("Or after a pause of").fill("15")
    drawer.get_by_label("Keep the newest").fill("6")
    drawer.get_by_role("button", name="Save").click()
    expect(drawer).to_contain_text("Archived automatically at 4,000 tokens · after 15 idle minutes")
    expect(drawer.get_by_role("progressbar")).to_have_attribute("max", "4000")
    policy = server.call("GET", f"sessions/{key}")["auto_commit_policy"]
    wanted = {"enabled": True, "token_threshold": 4000, "idle_timeout_seconds": 900, "keep_recent_count": 6}
    assert wanted.items() <= policy.items()
    assert changes == [{"auto_commit_policy": wanted}]
    drawer.get_by_role("button", name="Edit the memory settings").click()
    expect(drawer.get_by_label("Or after a pause of")).to_have_value("15")
    drawer.get_by_label("Or after a pause of").fill("")
    drawer.get_by_role("button", name="Save").click()
    expect(drawer).to_contain_text("Archived automatically at 4,000 tokens")
    expect(drawer).not_to_contain_text("idle minutes")
    # Only removing a trigger clears the whole policy first.
    assert changes[1] == {"auto_commit_policy": None}
    assert len(changes) == 3
    drawer.get_by_role("button", name="Edit the memory settings").click()
    page.keyboard.press("Escape")
    expect(drawer.get_by_role("button", name="Edit the memory settings")).to_be_focused()
