"""Documentation pages: the code runs and prints what the page shows, and links lead to files."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from tests.docs import model_server
from tests.docs.pages import NOT_RUN, ROOT, blocks, pages, run, runnable

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [page for page in pages() if runnable(page)], ids=name_of)
def test_the_code_on_a_page_runs_and_prints_what_the_page_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    names: dict[str, Any] = {"__name__": "__main__"}
    printed = ""
    with model_server.listening() as url, asyncio.Runner() as runner:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        for block in runnable(page):
            if block.language == "output":
                assert printed == block.text, block.location
            else:
                printed = run(block, names, runner)


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_code_that_is_not_run_says_why(page: Path) -> None:
    for block in blocks(page):
        if block.language == "python" and block.text.startswith(NOT_RUN):
            assert block.text.splitlines()[0].removeprefix(NOT_RUN).strip(), block.location


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_a_link_leads_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text("utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{name_of(page)} links to {target}"
