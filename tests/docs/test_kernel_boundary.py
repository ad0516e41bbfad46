"""Callers outside the kernel use its API: they never reach into its store."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.docs.pages import ROOT

SOURCE = ROOT / "src" / "segue"
OUTSIDE = ("server", "cli", "agents", "channels", "config", "telemetry")
INSIDE = {"store", "memory_reader"}


def test_no_caller_outside_the_kernel_reaches_into_its_store() -> None:
    files = [file for folder in OUTSIDE for file in sorted((SOURCE / folder).rglob("*.py"))]
    assert len(files) > 80
    found = [f"{file.relative_to(SOURCE)}:{line}" for file in files for line in _reaches(file)]
    assert not found, f"give the kernel's API what they need: {', '.join(found)}"


def _reaches(file: Path) -> Iterator[int]:
    """Lines with `kernel.store`, for any expression in place of `kernel`."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Attribute) and node.attr in INSIDE:
            yield node.lineno
