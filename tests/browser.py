"""The browser of the page tests: Chromium, as it is installed on this machine.

Its headless shell is the same browser without its own windows, menus and notifications. A page takes two
thirds of the time there, so the page tests prefer it.
"""

import os
import shutil

NEEDS_CHROMIUM = "page tests need Chromium: install it (`apt-get install chromium`) or name it in CHROMIUM"


def find_shell() -> str | None:
    return None if "CHROMIUM" in os.environ else shutil.which("chromium-headless-shell")


def find_chromium() -> str | None:
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
