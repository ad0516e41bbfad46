"""Lighthouse of the page on a phone, on a machine without other load: `python -m tests.web.lighthouse`.

It installs Lighthouse from npm into a temporary folder, and prints the score of each category for an empty
conversation and for one with a past and a future. It fails below 0.95.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.browser import find_chromium
from tests.unavailable import npm_install
from tests.web.conftest import Served
from tests.web.test_future import automation, recall

LEAST = 0.95
CATEGORIES = ("performance", "accessibility", "best-practices", "seo")


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        npm_install(Path(folder), "lighthouse@12")
        server = Served(f"sqlite:///{folder}/segue.db", offline=True)
        server.start()
        try:
            return report(Path(folder), {"empty": server.url, "a conversation": server.at(fill(server))})
        finally:
            server.end()


def fill(server: Served) -> str:
    key = server.session("websocket:lighthouse", title="Deploy watch", timezone="Europe/Berlin")
    server.write(key, 60)
    automation(server, key, "daily monitor", "0 9 * * 1-5")
    recall(server, key, seconds=700, every=600)
    return key


def report(folder: Path, pages: dict[str, str]) -> int:
    worst = 1.0
    for name, url in pages.items():
        found = run(folder, url)
        for category in CATEGORIES:
            score = found["categories"][category]["score"] or 0.0
            worst = min(worst, score)
            sys.stdout.write(f"{name:<16}{category:<16}{score:.2f}\n")
        errors = found["audits"]["errors-in-console"]["details"]["items"]
        sys.stdout.write(f"{name:<16}errors in the console: {len(errors)}\n")
        worst = 0.0 if errors else worst
    return 0 if worst >= LEAST else 1


def run(folder: Path, url: str) -> Any:
    output = folder / "report.json"
    command = [
        *(str(folder / "node_modules/.bin/lighthouse"), url, "--quiet", "--output=json"),
        *(f"--output-path={output}", "--chrome-flags=--headless=new --no-sandbox"),
        f"--only-categories={','.join(CATEGORIES)}",
    ]
    subprocess.run(command, check=True, env={**os.environ, "CHROME_PATH": find_chromium() or ""}, timeout=300)
    return json.loads(output.read_text("utf-8"))


if __name__ == "__main__":
    sys.exit(main())
