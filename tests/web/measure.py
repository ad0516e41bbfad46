"""Measures what the page costs, with the browser's own counters: `python -m tests.web.measure`.

A server with 500 sessions, one of which has 5,000 messages; then an answer of 600 pieces, 60 a second.
"""

import json
import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, CDPSession, sync_playwright

from tests.browser import find_chromium
from tests.web.conftest import Served

ROUNDS = 7
KEY = "websocket:long"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = Served(f"sqlite:///{folder}/segue.db")
        server.start()
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        try:
            fill(server)
            paints = [first_paint(server, browser) for _ in range(ROUNDS)]
            for name in paints[0]:
                show(name, statistics.median(paint[name] for paint in paints))
            for name, figure in busy_stream(server, browser).items():
                show(name, figure)
        finally:
            browser.close()
            server.end()


def fill(server: Served) -> None:
    for number in range(499):
        server.write(server.session(f"websocket:{number}", title=f"Conversation {number}"), 2)
    server.write(server.session(KEY, title="A long talk"), 5000)


def first_paint(server: Served, browser: Browser) -> dict[str, float]:
    """With an empty cache: the time to the first paint and to the conversation, and what it costs."""
    page = browser.new_context(viewport={"width": 1360, "height": 860}).new_page()
    page.add_init_script(
        """new MutationObserver(() => {
            if (!window.there && document.querySelector("segue-note")) window.there = performance.now();
        }).observe(document, { childList: true, subtree: true })"""
    )
    account = page.context.new_cdp_session(page)
    account.send("Performance.enable", {"timeDomain": "threadTicks"})
    before = served_ms(server)
    page.goto(server.at(KEY), wait_until="commit")
    page.wait_for_selector("segue-note")
    found: dict[str, float] = page.evaluate(
        """() => {
            const [painted] = performance.getEntriesByName("first-contentful-paint");
            const asked = performance.getEntriesByType("resource");
            const needed = asked.filter((each) => each.responseEnd <= there);
            return {
                "the frame is painted, ms": painted.startTime,
                "the conversation is there, ms": there,
                "  requests until then": needed.length + 1,
                "  of so many KB": needed.reduce((sum, each) => sum + each.encodedBodySize, 0) / 1000,
            };
        }"""
    )
    page.wait_for_load_state("networkidle")
    found["the whole page: requests"] = page.evaluate("performance.getEntriesByType('resource').length + 1")
    found["  processor of the server, ms"] = served_ms(server) - before
    found["  processor of the page's thread, ms"] = spent(account)["TaskDuration"] * 1000
    page.context.close()
    return found


def served_ms(server: Served) -> float:
    """Processor time of the server so far, from /proc."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def busy_stream(server: Served, browser: Browser) -> dict[str, float]:
    """The page's main thread while 60 pieces of text arrive each second.

    Processor time does not depend on other load on the machine; wall time does.
    """
    page = browser.new_context(viewport={"width": 1360, "height": 860}).new_page()
    page.goto(server.at(KEY))
    page.wait_for_selector("segue-panel:defined")
    page.wait_for_load_state("networkidle")
    page.evaluate(
        """() => {
            window.long = [];
            new PerformanceObserver((list) => list.getEntries().forEach((each) => long.push(each.duration)))
                .observe({ type: "longtask" });
        }"""
    )
    account = page.context.new_cdp_session(page)
    account.send("Performance.enable", {"timeDomain": "threadTicks"})
    browser.start_tracing(page=page, categories=["-*", "toplevel"])
    page.get_by_role("textbox", name="Message").fill("stream 600 16")
    page.keyboard.press("Enter")
    page.wait_for_selector("segue-turn.running")
    before = spent(account)
    page.wait_for_timeout(8_000)  # querying the page would add work
    after = spent(account)
    page.wait_for_selector("segue-turn:not(.running)", timeout=60_000)
    longest = longest_task(json.loads(browser.stop_tracing())["traceEvents"])
    said = page.locator("segue-turn .text").inner_text().split()
    long_tasks: list[float] = page.evaluate("window.long")
    page.context.close()
    seconds = after["Timestamp"] - before["Timestamp"]
    share = {name: (after[name] - before[name]) / seconds for name in before}
    return {
        "60 pieces a second: processor, ms a second": share["TaskDuration"] * 1000,
        "  of that script": share["ScriptDuration"] * 1000,
        "  of that styles": share["RecalcStyleDuration"] * 1000,
        "  of that layout": share["LayoutDuration"] * 1000,
        "layouts a second": share["LayoutCount"],
        "tasks over 50 ms by the clock": len(long_tasks),
        "the longest of them, ms": max(long_tasks, default=0),
        "the longest task by its processor time, ms": longest,
        "pieces received": sum(word.startswith("w") for word in said),
    }


def longest_task(trace: list[dict[str, Any]]) -> float:
    """The longest task of the renderer threads in processor time, which other load does not affect."""
    threads = {
        (each["pid"], each["tid"])
        for each in trace
        if each["name"] == "thread_name" and each["args"]["name"] == "CrRendererMain"
    }
    took = (each.get("tdur", 0) for each in trace if (each["pid"], each["tid"]) in threads)
    return max(took, default=0) / 1000


def spent(account: CDPSession) -> dict[str, float]:
    return {each["name"]: each["value"] for each in account.send("Performance.getMetrics")["metrics"]}


def show(name: str, figure: float) -> None:
    sys.stdout.write(f"{name:<52}{figure:>8.0f}\n")


if __name__ == "__main__":
    main()
