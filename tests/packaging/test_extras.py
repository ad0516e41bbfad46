"""Each extra alone gives what its name says; a missing one is named in a sentence."""

import ast
import json
import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from segue.extras import EXTRAS
from tests.packaging.compatibility import ROOT
from tests.packaging.programs import HTTP, MCP, MODEL, POSTGRES, PROGRAMS, TRACES, arguments

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def owners(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the distributions of each module."""
    file = tmp_path_factory.mktemp("owners") / "owners.json"
    file.write_text(json.dumps(packages_distributions()))
    return file


@pytest.fixture
def run_with(owners: Path, tmp_path: Path) -> Run:
    def run(extras: str, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        file = tmp_path / "program.py"
        file.write_text(code)
        command = [sys.executable, "-m", "tests.packaging.only_extra", extras, str(owners), str(file)]
        return subprocess.run([*command, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)

    return run


@pytest.mark.parametrize("extra", PROGRAMS)
def test_an_extra_alone_gives_what_its_name_says(extra: str, run_with: Run, tmp_path: Path) -> None:
    done = run_with(extra, PROGRAMS[extra], *arguments(extra, str(tmp_path)))
    assert done.stdout.endswith("done\n"), done.stderr


@pytest.mark.parametrize(
    ("extra", "code", "sentence"),
    [
        ("", HTTP, "pip install 'segue[http]'"),
        (
            "",
            POSTGRES,
            "PostgreSQL needs the package asyncpg, which is not installed: pip install 'segue[postgres]'",
        ),
        ("", TRACES, "pip install 'segue[traces]'"),
        ("http", MODEL, "needs the package pydantic_ai, which is not installed: pip install 'segue[model]'"),
        (
            "http",
            MCP,
            "an MCP server needs the package mcp, which is not installed: pip install 'segue[mcp]'",
        ),
    ],
    ids=["server", "postgres", "traces", "model", "mcp"],
)
def test_a_missing_extra_is_named(extra: str, code: str, sentence: str, run_with: Run) -> None:
    done = run_with(extra, code, str(ROOT / "tests/tools/stdio_server.py"))
    assert sentence in done.stderr


def test_every_optional_module_has_an_extra() -> None:
    """`segue.extras` knows each third-party module that the package imports, except the core's own."""
    imported = {
        name.partition(".")[0]
        for file in (ROOT / "src/segue").rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        for name in _imported(node)
    }
    core = {"segue", "cronsim", "snowballstemmer", "tzdata"}
    brought_by_others = {"aiohttp", "pydantic_core", "pytest", "pytest_asyncio", "uvloop"}
    brought_by_users = {"agents", "agno", "claude_agent_sdk", "google", "langchain_core", "langgraph"}
    found = imported - sys.stdlib_module_names - core - brought_by_others - brought_by_users
    assert found <= set(EXTRAS)
    assert set(EXTRAS.values()) <= set(_optional())


def test_all_is_every_extra() -> None:
    extras = _optional()
    named = {
        extra for group in ("all", "server") for line in extras[group] for extra in Requirement(line).extras
    }
    assert named == set(extras) - {"adapters-test", "all", "dev"}


def _imported(node: ast.AST) -> list[str]:
    match node:
        case ast.Import(names=names):
            return [name.name for name in names]
        case ast.ImportFrom(module=str(module)):
            return [module]
    return []


def _optional() -> dict[str, list[str]]:
    table: dict[str, list[str]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    return table
