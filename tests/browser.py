"""The browser of the page tests: Chromium, as it is installed on this machine."""

import os
import shutil

NEEDS_CHROMIUM = "page tests need Chromium: install it (`apt-get install chromium`) or name it in CHROMIUM"


def find_chromium() -> str | None:
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
