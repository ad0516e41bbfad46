"""Start-up: the command is fast, and names a missing package in one sentence."""

import asyncio
import json
import subprocess
import sys

import pytest

from tests.cli.process import Segue

WEB = {"fastapi", "mcp", "pydantic_ai", "starlette", "uvicorn"}
HEAVY = {*WEB, "anthropic", "asyncpg", "httpx2", "openai", "pydantic", "rich", "structlog", "uvloop"}
"""Packages that a short command does not use, and that take longer to load than its work takes."""

AS_JSON = """
import json, sys
sys.argv = ["segue", *json.loads(sys.argv[1])]
sys.stdout, told = sys.stderr, sys.stdout
from segue.cli.main import run
try:
    run()
finally:
    json.dump(sorted({name.partition(".")[0] for name in sys.modules}), told)
"""

WHOLE = AS_JSON.replace('name.partition(".")[0]', "name")

WITHOUT = """
import sys
sys.modules[{missing!r}] = None
sys.argv = ["segue", *{words!r}]
from segue.cli.main import run
run()
"""


async def test_help_names_every_command(segue: Segue) -> None:
    segue.forked = False
    ended = await segue.process("--help")
    assert ended.code == 0
    for command in ("serve", "worker", "chat", "sessions", "runs", "doctor", "db"):
        assert f"\n  {command} " in ended.out


@pytest.mark.parametrize(
    "words", [["--help"], ["jobs", "--help"], ["jobs", "add", "--help"], ["--version"]], ids=" ".join
)
async def test_help_loads_nothing_heavy(segue: Segue, words: list[str]) -> None:
    loaded = await modules_of(segue, words, whole=True)
    assert not HEAVY & {name.partition(".")[0] for name in loaded}
    assert "segue.kernel.kernel" not in loaded


@pytest.mark.parametrize(
    "words",
    [
        ["jobs", "list"],
        ["sessions", "list", "--limit", "5"],
        ["runs", "list", "web:1"],
        ["messages", "list", "web:1", "--status", "pending"],
        ["db", "status"],
    ],
    ids=" ".join,
)
async def test_a_short_command_loads_nothing_heavy(segue: Segue, words: list[str]) -> None:
    assert (await segue("sessions", "add-message", "web:1", "Hello")).code == 0
    loaded = await modules_of(segue, words, whole=True)
    assert not HEAVY & {name.partition(".")[0] for name in loaded}
    assert not {
        name for name in loaded if name.startswith(("segue.agents", "segue.channels", "segue.server"))
    }


async def test_a_command_loads_no_other_command(segue: Segue) -> None:
    assert (await segue("db", "migrate")).code == 0
    commands = {
        name.rpartition(".")[2]
        for name in await modules_of(segue, ["jobs", "list"], whole=True)
        if name.startswith("segue.cli.commands.")
    }
    assert commands == {"jobs"}


async def modules_of(segue: Segue, words: list[str], *, whole: bool = False) -> set[str]:
    """The modules that a command has loaded at its end: whole names, or those of packages."""
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", WHOLE if whole else AS_JSON, json.dumps(words)],
        env=segue.environment(),
        cwd=segue.folder,
        check=True,
        capture_output=True,
        text=True,
    )
    return set(json.loads(done.stdout))


@pytest.mark.parametrize(
    "words",
    [
        ["sessions", "list", "--json"],
        ["sessions", "show", "web:1", "--json"],
        ["runs", "list", "web:1", "--json"],
    ],
)
async def test_json_output_needs_no_web_server(segue: Segue, words: list[str]) -> None:
    """The JSON is that of the API, but neither the server nor the model's libraries are imported."""
    assert (await segue("sessions", "add-message", "web:1", "Hello")).code == 0
    assert not WEB & await modules_of(segue, words)


@pytest.mark.parametrize(
    ("missing", "words"), [("typer", ["doctor"]), ("pydantic", ["sessions", "list", "--json"])]
)
async def test_a_missing_extra_is_named(segue: Segue, missing: str, words: list[str]) -> None:
    assert (await segue("sessions", "add-message", "web:1", "Hello")).code == 0
    code = WITHOUT.format(missing=missing, words=words)
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", code],
        env=segue.environment(),
        cwd=segue.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    told = f"this command needs the package {missing}, which is not installed: pip install 'segue[cli]'\n"
    assert done.stderr == told


async def test_the_version_is_printed(segue: Segue) -> None:
    segue.forked = False
    assert (await segue.process("--version")).out == "segue 0.1.0\n"


def test_a_shell_can_complete_commands(segue: Segue) -> None:
    segue.env = {"_SEGUE_COMPLETE": "complete_bash", "COMP_WORDS": "segue se", "COMP_CWORD": "1"}
    completed = subprocess.run(
        [sys.executable, "-c", "from segue.cli.app import app; app(prog_name='segue')"],
        env=segue.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert sorted(completed.stdout.split()) == ["search", "serve", "sessions"]
