"""Framework versions: what an adapter says to a missing or unknown framework, or to a wrong object."""

from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest

from segue.adapters.framework import Framework
from segue.errors import BadSetting, MissingPackage, UnknownVersion

PYTEST = Framework(adapter="segue.adapters.example", package="pytest", lowest="9.0", below="10")


def test_a_known_version_is_imported() -> None:
    with PYTEST.imported():
        import hypothesis
    assert hypothesis.__version__


def test_a_missing_framework_is_named_with_what_to_install() -> None:
    missing = replace(PYTEST, package="no-such-framework")
    advice = r"not installed: pip install 'no-such-framework>=9\.0,<10'"
    with pytest.raises(MissingPackage, match=advice), missing.imported():
        pass


@pytest.mark.parametrize(("lowest", "below"), [("9999", "10000"), ("1.0", "2")])
def test_an_unknown_version_is_refused_with_what_to_install(lowest: str, below: str) -> None:
    other = replace(PYTEST, lowest=lowest, below=below)
    advice = f"pip install 'pytest>={lowest},<{below}', or install a newer Segue"
    with pytest.raises(UnknownVersion, match=advice), other.imported():
        pass


def test_a_version_that_lacks_a_name_is_unknown() -> None:
    with pytest.raises(UnknownVersion, match="cannot import name 'no_such_name'"), PYTEST.imported():
        from hypothesis import no_such_name  # type: ignore[attr-defined]  # noqa: F401


@pytest.mark.parametrize("name", ["pydantic_ai", "openai_agents"])
def test_a_wrong_object_is_refused(name: str) -> None:
    adapter: Any = import_module(f"segue.adapters.{name}")
    with pytest.raises(BadSetting, match=r"adapt takes an? .*Agent, got builtins\.str"):
        adapter.adapt("openai:gpt-4o")


@pytest.mark.parametrize("tools", ["cron", ["crone"]])
def test_wrong_names_of_tools_are_refused(tools: object) -> None:
    from pydantic_ai import Agent

    from segue.adapters.pydantic_ai import adapt

    with pytest.raises(BadSetting, match="cron"):
        adapt(Agent("test"), tools)  # type: ignore[arg-type]
