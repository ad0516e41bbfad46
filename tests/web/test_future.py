"""Upcoming entries: ghosts below the last message, which become turns in place."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from playwright.sync_api import Page, expect

from tests.web.conftest import Served

Open = Callable[..., Page]


def recall(server: Served, key: str, *, seconds: float, every: int | None = None) -> None:
    at = datetime.now(UTC) + timedelta(seconds=seconds)
    body = {
        "call_type": "recurring" if every else "once",
        "when": at.isoformat(),
        "internal_comment": "read build.log",
        "additional_context_message": "Read build.log and say whether it is green.",
    }
    server.call("POST", f"sessions/{key}/recall", body | ({"interval_seconds": every} if every else {}))


def automation(server: Served, key: str, name: str, schedule: str, **more: object) -> str:
    body = {"name": name, "message": "look around", "schedule": schedule, **more}
    made: str = server.call("POST", f"sessions/{key}/automations", body)["id"]
    return made


def test_upcoming_entries_are_below_the_last_turn_in_order_of_time_and_folded_if_many(
    server: Served, open_page: Open
) -> None:
    key = server.session("websocket:ghosts", title="Deploy watch", timezone="Europe/Berlin")
    server.say(key, "deploy went out, watch it")
    # Far enough ahead: a time within the hour would be shown in minutes.
    hour = (datetime.now(ZoneInfo("Europe/Berlin")).hour + 12) % 24
    automation(server, key, "daily monitor", f"0 {hour} * * *")
    recall(server, key, seconds=200_000, every=600)
    page = open_page(server.at(key))
    ghosts = page.get_by_role("list", name="Coming up").get_by_role("listitem")
    expect(ghosts).to_have_count(2)
    expect(ghosts.nth(0)).to_contain_text("daily monitor")
    expect(ghosts.nth(0)).to_contain_text(f"{hour:02}:00")
    expect(ghosts.nth(1)).to_contain_text("read build.log")
    expect(ghosts.nth(0).get_by_role("button")).to_have_text(["Skip", "Pause"])
    expect(ghosts.nth(1).get_by_role("button")).to_have_text(["Skip", "Cancel"])
    # In one look: the page may still be scrolling.
    last_ends, first_begins = page.evaluate(
        """() => [[...document.querySelectorAll("segue-turn")].at(-1).getBoundingClientRect().bottom,
                  document.querySelector("segue-ghost").getBoundingClientRect().top]"""
    )
    assert first_begins >= last_ends
    for minute in range(5):
        automation(server, key, f"job {minute}", f"{minute} {hour} * * *")
    expect(page.get_by_role("button", name="and 3 more")).to_be_visible()
    expect(page.locator("segue-ghost")).to_have_count(4)
    page.get_by_role("button", name="and 3 more").click()
    expect(page.locator("segue-ghost")).to_have_count(7)


def test_a_ghost_becomes_a_turn_in_place(server: Served, open_page: Open) -> None:
    """Issue 8: ghost entries that become turns in place."""
    key = server.session("websocket:becomes", title="Becoming")
    server.say(key, "hello")
    page = open_page(server.at(key))
    expect(page.locator("segue-turn")).to_have_count(1)
    soon = datetime.now(UTC) + timedelta(seconds=4)
    automation(server, key, "read build.log", soon.isoformat())
    ghost = page.locator("segue-ghost")
    expect(ghost).to_contain_text("read build.log")
    page.evaluate(
        """() => {
            const future = document.querySelector("segue-future");
            const past = document.querySelector("segue-past");
            new MutationObserver(() => {
                const turn = past.querySelector("segue-turn.scheduled");
                if (!turn || window.seen) return;
                const moves = turn.head.getAnimations().map((each) => each.effect.getTiming().duration);
                window.seen = { ghosts: future.querySelectorAll("segue-ghost").length, moves };
            }).observe(past, { childList: true });
        }"""
    )
    turn = page.locator("segue-turn.scheduled")
    expect(turn).to_contain_text("read build.log")
    expect(turn.locator(".node.clock")).to_be_visible()
    expect(ghost).to_have_count(0)
    seen = page.evaluate("window.seen")
    assert seen["ghosts"] == 0
    assert len(seen["moves"]) <= 1
    assert all(0 < duration < 200 for duration in seen["moves"])


def test_a_cron_turn_has_a_clock_and_its_jobs_name_and_is_one_line_if_it_found_nothing(
    server: Served, open_page: Open
) -> None:
    """Requirements, cron 7.4: a check that found nothing is a collapsed status line in the session."""
    key = server.session("websocket:cron-turn")
    page = open_page(server.at(key))
    automation(server, key, "daily monitor", "every 1s", policy={"max_runs": 1})
    turn = page.locator("segue-turn.scheduled")
    expect(turn.locator(".label")).to_contain_text("daily monitor")
    expect(turn.locator(".node.clock")).to_be_visible()
    expect(turn.locator(".text")).to_contain_text("You said: look around")
    automation(server, key, "watch", "every 1s", message="nothing", mode="check", policy={"max_runs": 1})
    slim = page.locator("segue-turn.scheduled.slim")
    expect(slim).to_contain_text("watch")
    expect(slim).to_contain_text("checked, nothing new")


def test_the_banner_counts_down_and_a_recall_can_be_cancelled_and_skipped(
    server: Served, open_page: Open
) -> None:
    """C9.1, C9.5: its time and Cancel, which can be undone; no Skip if it fires once. What another client
    sets or cancels shows at once."""
    key = server.session("websocket:banner")
    page = open_page(server.at(key))
    banner = page.get_by_role("group", name="Pending recall")
    expect(page.locator("segue-empty")).to_be_visible()
    recall(server, key, seconds=200_000)
    expect(page.locator("segue-ghost")).to_contain_text("read build.log")
    expect(banner).to_be_hidden()
    server.call("DELETE", f"sessions/{key}/recall")
    expect(page.locator("segue-ghost")).to_have_count(0)
    expect(page.locator("segue-empty")).to_be_visible()
    recall(server, key, seconds=900)
    expect(banner).to_contain_text("read build.log")
    expect(page.locator("segue-empty")).to_be_hidden()
    # What the banner shows is not repeated below the last message.
    expect(page.locator("segue-ghost")).to_have_count(0)
    expect(banner).to_contain_text("Recall in 14:")
    before = banner.locator(".left").inner_text()
    expect(banner.locator(".left")).not_to_have_text(before)
    expect(banner.get_by_role("button", name="Skip")).to_be_hidden()
    banner.get_by_role("button", name="Cancel").click()
    expect(banner).to_be_hidden()
    assert server.call("GET", f"sessions/{key}/recall")["recall"] is None
    page.get_by_role("button", name="Undo").click()
    expect(banner).to_contain_text("read build.log")
    assert server.call("GET", f"sessions/{key}/recall")["recall"]["internal_comment"] == "read build.log"
    server.call("DELETE", f"sessions/{key}/recall")
    expect(banner).to_be_hidden()
    expect(page.locator("segue-empty")).to_be_visible()
    recall(server, key, seconds=600, every=3600)
    banner.get_by_role("button", name="Skip").click()
    expect(banner).to_contain_text("Recall in 1:")


def test_a_due_recall_of_a_busy_session_stays_in_the_banner_until_it_has_run(
    server: Served, open_page: Open
) -> None:
    """Issue 19: pending while it waits, running while it runs, gone when it has fired."""
    key = server.session("websocket:waits", title="Waits")
    server.say_without_waiting(key, "hold")
    page = open_page(server.at(key))
    expect(page.locator("segue-turn.running")).to_be_visible()
    body = {"call_type": "immediate", "internal_comment": "later", "additional_context_message": "hold"}
    server.call("POST", f"sessions/{key}/recall", body)
    banner = page.get_by_role("group", name="Pending recall")
    expect(banner).to_contain_text("Recall due")
    expect(page.get_by_text("+1")).to_be_visible()
    expect(banner).to_contain_text("later")
    server.call("POST", f"sessions/{key}/stop")
    expect(banner).to_contain_text("Recall running")
    expect(banner.get_by_role("button")).to_have_count(0)
    server.call("POST", f"sessions/{key}/stop")
    expect(banner).to_be_hidden()
    [fired] = server.call("GET", f"sessions/{key}/recalls")["recalls"]
    assert fired["status"] == "fired"
