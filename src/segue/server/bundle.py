"""Module bundler: joins the scripts of the page when the server starts.

A browser requests few files at once: forty small ones take many round trips, a joined one takes one. In it
each module is a block with its own scope, and `modules` has what each of them exports:

    { const { t } = modules["lib/words.js"]; function h() {...} modules["lib/dom.js"] = { h }; }

It reads the forms of `import` and `export` that the page uses, at the beginning of a line: names in braces,
without a default and without renaming.
"""

import re
from collections.abc import Collection, Mapping
from posixpath import normpath

_IMPORT = re.compile(r'^(import|export) (?:(\{[^}]*\}) from )?"(\.[^"]+)";\n', re.MULTILINE)
_LATER_IMPORT = re.compile(r'\bimport\("(\.[^"]+)"\)')
_EXPORT = re.compile(r"^export ((?:async )?(?:const|function|class) (\w+))", re.MULTILINE)


def modules_of(scripts: Mapping[str, str], entry: str) -> list[str]:
    """Return the names of a script and of all that it imports, each after those that it imports."""
    found: dict[str, None] = {}

    def visit(name: str) -> None:
        for _, _, path in _IMPORT.findall(scripts[name]):
            if (imported := _resolved(name, path)) not in found:
                visit(imported)
        found[name] = None

    visit(entry)
    return list(found)


def bundle(scripts: Mapping[str, str], entry: str, *, beside: str | None = None) -> str:
    """Join a script with all that it imports, except what the bundle `beside` it has."""
    loaded: Collection[str] = modules_of(scripts, beside) if beside else ()
    head = f'import {{ modules }} from "./{beside}";\n' if beside else "export const modules = {};\n"
    names = [name for name in modules_of(scripts, entry) if name not in loaded]
    return head + "".join(_block(name, scripts[name]) for name in names)


def _block(name: str, source: str) -> str:
    exported = [declared for _, declared in _EXPORT.findall(source)]

    def taken(statement: re.Match[str]) -> str:
        kind, names, path = statement.groups()
        if not names:
            return ""
        if kind == "export":
            exported.append(names.strip("{} "))
        return f'const {names} = modules["{_resolved(name, path)}"];\n'

    source = _EXPORT.sub(r"\1", _IMPORT.sub(taken, source))
    source = _LATER_IMPORT.sub(lambda found: _later(_resolved(name, found[1])), source)
    return f'{{\n{source}modules["{name}"] = {{ {", ".join(exported)} }};\n}}\n'


def _later(name: str) -> str:
    return f'import("./{name}").then(() => modules["{name}"])'


def _resolved(name: str, path: str) -> str:
    return normpath(f"{name}/../{path}")
