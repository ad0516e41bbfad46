"""`import segue` brings in next to nothing: whoever embeds it pays for what they use, when they use it."""

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
"""With what comes with Python. `tzdata` is data: zoneinfo opens it where the system has none."""

LATER = {
    "sqlite3",
    "segue.store.sqlite.database",
    "segue.store.postgres.database",
    "segue.times.reader",
    "segue.testing",
}
"""A database's driver is imported when one is opened, the grammar of times when words are read."""

HOUSE = {
    "segue.kernel.kernel",
    "segue.store",
    "segue.kernel.workers.workforce",
    "segue.memory",
    "segue.kernel.api",
}
"""Imported when the kernel is first named."""


def test_import_segue_brings_in_no_package_but_the_reader_of_cron_lines() -> None:
    packages = {name.partition(".")[0] for name in imported_by_segue("segue.Kernel")}
    python = {name for name in packages if name in sys.stdlib_module_names or name.startswith("_")}
    assert packages - python == ALLOWED


def test_import_segue_leaves_what_only_some_need_for_later() -> None:
    assert (LATER | HOUSE).isdisjoint(imported_by_segue())
    with_a_kernel = imported_by_segue("segue.Kernel")
    assert with_a_kernel >= HOUSE
    assert LATER.isdisjoint(with_a_kernel)


def test_all_that_is_promised_is_there_and_nothing_else() -> None:
    assert all(getattr(segue, name).__name__ for name in ("Kernel", "Request"))
    assert {"Kernel", "Request"} <= set(segue.__all__) <= set(dir(segue))
    with pytest.raises(AttributeError, match="no attribute 'Kernal'"):
        segue.Kernal  # noqa: B018


def imported_by_segue(then: str = "") -> set[str]:
    """Asked of a fresh interpreter: this one has imported everything."""
    command = [sys.executable, "-c", LIST_NEW_MODULES.replace("{then}", then)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return set(json.loads(answer))
