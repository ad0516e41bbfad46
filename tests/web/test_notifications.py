"""Being reached: unread counts, notifications on this device, and the installable app.

Chromium's own push service cannot be reached here. So the page's subscription is that of a double on
loopback, which receives the server's requests and decrypts them as a browser does. What it decrypts is given
to the real service worker, by Chromium's own tool for that.
"""

import json
import re
import struct
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Worker, expect

from tests.docs.pages import ROOT
from tests.eventually import eventually_blocking
from tests.push_service import Device, PushService
from tests.web.conftest import PATIENCE_MS, Serve, Served

Open = Callable[..., Page]

SUBSCRIBE = """
const device = %s;
const stored = "test.subscription";
const subscription = (key) => ({
  options: { applicationServerKey: Uint8Array.from(JSON.parse(key)).buffer },
  toJSON: () => device,
  unsubscribe: async () => localStorage.removeItem(stored),
});
PushManager.prototype.getSubscription = async () => {
  const key = localStorage.getItem(stored);
  return key && subscription(key);
};
PushManager.prototype.subscribe = async ({ applicationServerKey }) => {
  const key = JSON.stringify([...applicationServerKey]);
  localStorage.setItem(stored, key);
  return subscription(key);
};
window.asked = 0;
const request = Notification.requestPermission.bind(Notification);
Notification.requestPermission = () => { window.asked += 1; return request(); };
"""


@pytest.fixture(scope="module")
def service() -> Iterator[PushService]:
    with PushService().listening() as service:
        yield service


@pytest.fixture(scope="module")
def reached(serve: Serve) -> Iterator[Served]:
    with serve(private=True) as served:
        yield served


class Phone:
    """A browser whose push subscription is that of a double."""

    def __init__(self, browser: Browser, served: Served, service: PushService) -> None:
        self.device: Device = service.device()
        self._served, self._service = served, service
        self.context: BrowserContext = browser.new_context(
            viewport={"width": 1360, "height": 860}, permissions=["notifications"], locale="en"
        )
        self.context.set_default_timeout(PATIENCE_MS)
        self.context.add_init_script(SUBSCRIBE % json.dumps(self.device.subscription))
        self._registrations: list[dict[str, Any]] = []

    def open(self, key: str) -> Page:
        page = self.context.new_page()
        page.goto(self._served.at(key))
        return page

    def turn_on(self, page: Page) -> None:
        page.get_by_role("button", name="Settings", exact=True).click()
        page.get_by_role("button", name="Turn on", exact=True).click()
        expect(page.get_by_text("Notifications are on for this device.").first).to_be_visible()
        page.get_by_role("dialog").get_by_label("Close").click()

    def told(self, count: int = 1) -> list[dict[str, Any]]:
        def look() -> list[dict[str, Any]]:
            found = self._service.to(self.device)
            return found if len(found) >= count else []

        return eventually_blocking(look, f"{count} pushes")

    def deliver(self, told: dict[str, Any]) -> None:
        """Give the service worker a push, as the browser does when its push service has one."""
        tools = self.context.new_cdp_session(self.context.pages[-1])
        tools.on(
            "ServiceWorker.workerRegistrationUpdated",
            lambda event: self._registrations.extend(event["registrations"]),
        )
        tools.send("ServiceWorker.enable")
        origin = self._served.url.rstrip("/")
        eventually_blocking(
            lambda: self.context.pages[-1].evaluate("1") and self._registrations, "a registration"
        )
        given = {"origin": origin, "registrationId": self._registrations[0]["registrationId"]}
        tools.send("ServiceWorker.deliverPushMessage", {**given, "data": json.dumps(told)})
        tools.detach()

    @property
    def worker(self) -> Worker:
        return self.context.service_workers[0]

    def shown(self) -> list[dict[str, str]]:
        script = """async () => (await self.registration.getNotifications())
            .map(({ title, body, tag, data }) => ({ title, body, tag, session: data.session }))"""
        found: list[dict[str, str]] = self.worker.evaluate(script)
        return found


@pytest.fixture
def phone(whole_browser: Browser, reached: Served, service: PushService) -> Iterator[Phone]:
    made = Phone(whole_browser, reached, service)
    yield made
    made.context.close()


def test_the_tab_says_how_much_is_unread_and_two_devices_agree(own_server: Served, open_page: Open) -> None:
    here, there = (own_server.session(f"websocket:{name}", title=name) for name in ("here", "there"))
    page, other = open_page(own_server.at(here)), open_page(own_server.at(here))
    expect(page.get_by_role("heading", name="here")).to_be_visible()
    own_server.say(there, "one")
    own_server.say(there, "two")
    own_server.say(there, "nothing")
    for each in (page, other):
        expect(each).to_have_title("(2) here · Segue")
    page.get_by_role("link", name="there").click()
    expect(page).to_have_title("there · Segue")
    expect(other).to_have_title("here · Segue")
    own_server.say(there, "three")
    expect(page.get_by_text("You said: three").first).to_be_visible()
    own_server.wait_for(f"sessions/{there}", lambda session: session["unread"] == 0)
    expect(other).to_have_title("here · Segue")


def test_notifications_are_offered_once_something_is_scheduled(phone: Phone, reached: Served) -> None:
    """A click on one opens its conversation, and a new key of the server renews the subscription."""
    key = reached.session("websocket:first", title="First reminder")
    page = phone.open(key)
    expect(page.get_by_role("heading", name="First reminder")).to_be_visible()
    card = page.locator("segue-notify .connect")
    expect(card).to_be_hidden()
    send = {"send_at": "in 3 hours", "message_text": "Stretch your legs."}
    reached.call("POST", f"sessions/{key}/scheduled-messages", send)
    expect(card).to_be_visible()
    assert page.evaluate("asked") == 0, "the browser asks only after a click"
    card.get_by_role("button", name="Turn on notifications").click()
    expect(page.get_by_text("Notifications are on for this device.").first).to_be_visible()
    expect(card).to_be_hidden()
    assert page.evaluate("asked") == 1
    click = """async (session) => {
        await self.registration.showNotification("x", { data: { session } });
        const [notification] = await self.registration.getNotifications();
        self.dispatchEvent(new NotificationEvent("notificationclick", { notification }));
    }"""
    phone.worker.evaluate(click, reached.session("websocket:clicked", title="clicked"))
    expect(page.get_by_role("heading", name="clicked")).to_be_visible()
    page.evaluate("localStorage.setItem('test.subscription', JSON.stringify([4, 1, 2]))")
    page.reload()
    kept = "JSON.parse(localStorage.getItem('test.subscription'))?.length"
    eventually_blocking(lambda: page.evaluate(kept) == 65, "a subscription with the key of the server")


def test_a_push_is_shown_with_a_text_of_the_server_unless_the_page_is_visible_or_the_run_is_quiet(
    phone: Phone, reached: Served, service: PushService
) -> None:
    """By the real service worker, which asks its server for the text."""
    key, other = (reached.session(f"websocket:{name}", title=name) for name in ("looking", "elsewhere"))
    page = phone.open(key)
    phone.turn_on(page)
    tablet = service.device()
    reached.call("POST", "push/subscriptions", tablet.subscription)
    reached.say(other, "while the page is visible")
    expect(page.get_by_role("link", name="elsewhere").get_by_label("1 unread message")).to_be_visible()
    eventually_blocking(lambda: service.to(tablet), "a push to a device that shows no page")
    phone.deliver({"session": other, "unread": 1})
    phone.context.new_page()
    page.close()
    reached.say(other, "nothing")
    reached.say(key, "the page is closed")
    (told,) = phone.told()
    assert told == {"session": key, "unread": told["unread"]}
    assert phone.shown() == []
    phone.deliver(told)
    shown = eventually_blocking(phone.shown, "a notification")
    assert shown == [{"title": "looking", "body": "You said: the page is closed", "tag": key, "session": key}]


def test_turning_them_off_or_logging_out_ends_the_subscription(phone: Phone, reached: Served) -> None:
    key = reached.session("websocket:leaving", title="Leaving")
    page = phone.open(key)
    phone.turn_on(page)
    sent: list[str] = []
    page.on("request", lambda request: sent.append(f"{request.method} {request.url.split('/', 3)[3][:18]}"))
    page.get_by_role("button", name="Settings", exact=True).click()
    with page.expect_request(lambda request: request.method == "DELETE"):
        page.get_by_role("button", name="Turn off").click()
    expect(page.get_by_role("button", name="Turn on", exact=True)).to_be_visible()
    assert sent[-1] == "DELETE push/subscriptions"
    page.get_by_role("dialog").get_by_label("Close").click()
    page.evaluate("localStorage.setItem('segue.logged-in', 'yes')")
    page.reload()
    phone.turn_on(page)
    sent.clear()
    with page.expect_request(lambda request: request.url.endswith("auth/session")):
        page.get_by_role("button", name="Log out").click()
    deleted = [each for each in sent if each.startswith("DELETE")]
    assert deleted == ["DELETE push/subscriptions", "DELETE auth/session"]
    # The page loads again; a browser that is closed meanwhile may never say that it is.
    expect(page.get_by_role("button", name="Log out")).to_have_count(0)


def test_the_app_can_be_installed(reached: Served, whole_browser: Browser) -> None:
    context = whole_browser.new_context()
    page = context.new_page()
    page.goto(reached.url)
    tools = context.new_cdp_session(page)
    manifest = tools.send("Page.getAppManifest")
    assert manifest["errors"] == []
    assert json.loads(manifest["data"])["display"] == "standalone"
    problems = [
        each["errorId"] for each in tools.send("Page.getInstallabilityErrors")["installabilityErrors"]
    ]
    assert set(problems) <= {"in-incognito"}
    for size in (180, 192, 512):
        answer = context.request.get(f"{reached.url}icon-{size}.png")
        assert struct.unpack(">II", answer.body()[16:24]) == (size, size)
    worker = context.request.get(f"{reached.url}sw.js")
    assert worker.headers["cache-control"] == "no-cache"
    assert 'fetch"' not in worker.text(), "it must not answer requests: the page could not be updated"
    assert context.request.get(f"{reached.url}icon-1.png").status == 404
    context.close()


def test_of_two_server_processes_one_pushes(reached: Served, service: PushService) -> None:
    device = service.device()

    def pushed(count: int) -> bool:
        return len(service.to(device)) >= count

    other = Served(reached.database, private=True)
    other.start()
    try:
        reached.call("POST", "push/subscriptions", device.subscription)
        for number in range(6):
            each = (reached, other)[number % 2]
            each.say(each.session(f"websocket:both-{number}"), "hello")
            eventually_blocking(partial(pushed, number + 1), f"push {number}")
    finally:
        other.end()
    told = [each["session"] for each in service.to(device)]
    assert told == [f"websocket:both-{number}" for number in range(6)]


def test_the_guide_names_the_buttons_as_the_page_does() -> None:
    guide = (ROOT / "docs" / "guides" / "on-a-phone.md").read_text("utf-8")
    words = (ROOT / "src" / "segue" / "server" / "web" / "words" / "en.js").read_text("utf-8")
    browsers = {"Add to home screen", "Install", "Add to Home Screen"}
    named = set(re.findall(r"(?<![\w*])\*([^*\n]+)\*(?!\*)", guide)) - browsers
    assert named == {"Turn on notifications", "Settings", "Notifications", "Log out", "Turn off"}
    assert {name for name in named if f'"{name}"' not in words} == set()
