"""Runs a file as if only some extras of Segue were installed: `python only_extra.py EXTRAS OWNERS FILE`.

Modules of every other distribution cannot be imported. So one environment is enough for all extras. OWNERS is
a file with what `packages_distributions()` has found: to find it takes longer than most programs.
"""

import json
import runpy
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from types import ModuleType

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def closure(name: str, extras: frozenset[str], found: set[tuple[str, frozenset[str]]]) -> set[str]:
    """Return the distributions that installing `name[extras]` installs."""
    if (name, extras) in found:
        return {name}
    found.add((name, extras))
    names = {name}
    try:
        lines = requires(name) or []
    except PackageNotFoundError:
        return names
    for line in lines:
        wanted = Requirement(line)
        if wanted.marker is None or any(wanted.marker.evaluate({"extra": extra}) for extra in extras or {""}):
            names |= closure(canonicalize_name(wanted.name), frozenset(wanted.extras), found)
    return names


class Installed(PathFinder):
    """Finds no module of a distribution that would not be installed."""

    hidden: frozenset[str] = frozenset()

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] in cls.hidden:
            return None
        return super().find_spec(fullname, path, target)


def hide_all_but(installed: set[str], owners_of: Mapping[str, Sequence[str]]) -> None:
    Installed.hidden = frozenset(
        module
        for module, owners in owners_of.items()
        if not installed & {canonicalize_name(owner) for owner in owners}
    )
    for module in [name for name in sys.modules if name.partition(".")[0] in Installed.hidden]:
        del sys.modules[module]
    sys.meta_path[sys.meta_path.index(PathFinder)] = Installed


if __name__ == "__main__":
    extras, owners, file = sys.argv[1:4]
    installed = closure("segue", frozenset(extras.split(",")) - {""}, set())
    hide_all_but(installed, json.loads(Path(owners).read_text()))
    runpy.run_path(file, run_name="__main__")
