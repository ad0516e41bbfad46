"""The reference pages list exactly the commands and settings that exist."""

import re
from dataclasses import MISSING
from typing import Any

import pytest
from typer.main import get_command

from segue.cli.app import app
from segue.config import Configuration
from segue.config.layers import variable_of
from segue.config.parts import settings_of
from tests.docs.pages import ROOT

REFERENCE = ROOT / "docs" / "reference"
ROW = re.compile(r"^\| `([\w.]+)` \| `(SEGUE_\w+)` \| ([^|]*) \|", re.MULTILINE)

SAID_IN_WORDS = {
    "database",
    "data",
    "model",
    "timezone",
    "api_keys",
    "workspace",
    "mcp_servers",
    "allowed_hosts",
    "read_channels",
    "telegram.token",
    "telegram.webhook_url",
    "telegram.webhook_secret",
    "telegram.allow",
    "matrix.url",
    "matrix.user",
    "matrix.token",
    "matrix.allow",
}
SHARED = {"--config", "--data", "--database", "--json", "--account", "--user", "--help"}


def test_every_setting_is_listed_with_its_variable_and_default() -> None:
    listed = {
        name: (variable, default.strip(" `"))
        for name, variable, default in ROW.findall(page("configuration"))
    }
    there = dict(settings_of(Configuration))
    assert listed.keys() == there.keys()
    for name, info in there.items():
        variable, default = listed[name]
        assert variable == variable_of(name)
        if name not in SAID_IN_WORDS:
            made = info.default if info.default_factory is MISSING else info.default_factory()
            assert default == str(made).lower()


def commands(command: Any = None, name: str = "") -> dict[str, Any]:
    """Every command by its full name."""
    command = command or get_command(app)
    if not hasattr(command, "commands"):
        return {name.strip(): command}
    found: dict[str, Any] = {}
    for word, inner in command.commands.items():
        found |= commands(inner, f"{name} {word}")
    return found


@pytest.mark.parametrize("name", commands())
def test_every_command_is_listed_with_its_flags(name: str) -> None:
    text = page("commands")
    group = text.partition(f"## `segue {name.split()[0]}`")[2].partition("\n## ")[0]
    assert group
    if " " in name:
        assert f"| `{name}" in group
    for option in commands()[name].params:
        for flag in option.opts:
            if flag.startswith("--") and flag not in SHARED:
                assert f"`{flag}" in group, f"{name} {flag}"


def page(name: str) -> str:
    return (REFERENCE / f"{name}.md").read_text("utf-8")
