"""`import segue` imports very little: a program that embeds it loads what it uses, when it uses it."""

import json
import subprocess
import sys

import pytest

import segue

LIST_NEW_MODULES = """
import json, sys
before = set(sys.modules)
import segue
{then}
print(json.dumps(sorted(set(sys.modules) - before)))
"""

ALLOWED = {"segue", "cronsim"}
"""Besides the standard library. `tzdata` is data: zoneinfo opens it where the system has none."""

LATER = {
    "sqlite3",
    "segue.store.sqlite.database",
    "segue.store.postgres.database",
    "segue.times.reader",
    "segue.testing",
}
"""A database driver is imported when a database is opened, the parser of times when a text is read."""

ENGINE = {
    "segue.kernel.kernel",
    "segue.store",
    "segue.kernel.workers.workforce",
    "segue.memory",
    "segue.kernel.api",
}
"""Imported when `segue.Kernel` is first used."""


def test_import_segue_imports_no_package_but_cronsim() -> None:
    packages = {name.partition(".")[0] for name in imported_by_segue("segue.Kernel")}
    python = {name for name in packages if name in sys.stdlib_module_names or name.startswith("_")}
    assert packages - python == ALLOWED


def test_import_segue_does_not_import_what_only_some_programs_need() -> None:
    assert (LATER | ENGINE).isdisjoint(imported_by_segue())
    with_a_kernel = imported_by_segue("segue.Kernel")
    assert with_a_kernel >= ENGINE
    assert LATER.isdisjoint(with_a_kernel)


def test_the_public_names_exist_and_no_others() -> None:
    assert all(getattr(segue, name).__name__ for name in ("Kernel", "Request"))
    assert {"Kernel", "Request"} <= set(segue.__all__) <= set(dir(segue))
    with pytest.raises(AttributeError, match="no attribute 'Kernal'"):
        segue.Kernal  # noqa: B018


def imported_by_segue(then: str = "") -> set[str]:
    """In a fresh interpreter, because this one has imported everything."""
    command = [sys.executable, "-c", LIST_NEW_MODULES.replace("{then}", then)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return set(json.loads(answer))
