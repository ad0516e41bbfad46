"""Compatibility check: resolves Segue together with the newest release of each agent framework.

A resolver prefers an old release of a framework to failing. So a version floor of ours that is too high makes
`pip install` choose a framework's first release without a word. `make compatibility` checks that this does
not happen, and writes the versions to `docs/reference/compatibility.md`. Nothing is installed.
"""

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "compatibility.md"
START, END = "<!-- versions -->", "<!-- end of versions -->"

_PYTHON = "3.11"
NO_INDEX = re.compile(r"(?i)failed to fetch|error sending request|dns error|connect|timed out|network")
_NAMED = ("fastapi", "mcp", "openai", "opentelemetry-sdk", "pydantic", "rich", "structlog", "websockets")
"""Dependencies that frameworks limit: the table shows those that are older than they could be."""


class IndexUnreachable(Exception):
    """No package index answers, so nothing can be said."""


class CannotResolve(Exception):
    """No set of versions satisfies both; the message is the resolver's."""


@dataclass(frozen=True)
class Framework:
    name: str
    extra: str = "all"
    """The extra of Segue that it must be installable with."""


FRAMEWORKS = (
    Framework("openai-agents"),
    Framework("google-adk"),
    Framework("agno"),
    Framework("langgraph"),
    Framework("pydantic-ai"),
    Framework("claude-agent-sdk"),
    Framework("smolagents"),
    # These allow MCP only below 2, or openai below 3, so the extras `mcp` and `model` cannot join them.
    Framework("crewai", "cli,http"),
    Framework("chainlit", "cli,http"),
    Framework("langgraph-api", "cli,http"),
)


@dataclass(frozen=True)
class Resolved:
    framework: Framework
    newest: str
    chosen: str
    held_back: dict[str, str] = field(default_factory=dict)
    """Versions of Segue's dependencies that are older because of the framework."""

    @property
    def is_newest(self) -> bool:
        return self.chosen == self.newest


def resolve(framework: Framework) -> Resolved:
    """Resolve a framework alone, and with Segue. Raises `IndexUnreachable` or `CannotResolve`."""
    newest = _newest()[framework.name]
    alone = _alone(framework.extra)
    together = _compile([".", framework.name], extra=framework.extra)
    return Resolved(
        framework,
        newest=newest,
        chosen=together[framework.name],
        held_back={
            name: together[name] for name in _NAMED if name in alone and together[name] != alone[name]
        },
    )


@cache
def _newest() -> dict[str, str]:
    """Without dependencies no framework can hold back another, so one call finds the newest of each."""
    return _compile([framework.name for framework in FRAMEWORKS], "--no-deps")


@cache
def _alone(extra: str) -> dict[str, str]:
    return _compile(["."], extra=extra)


def _compile(packages: Sequence[str], *options: str, extra: str | None = None) -> dict[str, str]:
    """Return the versions that the resolver chooses, by package. `.` is this checkout."""
    lines = [f"segue[{extra}] @ {ROOT.as_uri()}" if name == "." else name for name in packages]
    with TemporaryDirectory() as folder:
        wanted = Path(folder) / "wanted.in"
        wanted.write_text("\n".join(lines))
        done = subprocess.run(
            [
                *(sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--no-header", "--no-annotate"),
                *("--python-version", _PYTHON, *options, str(wanted)),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        unreachable = NO_INDEX.search(done.stderr) and "No solution found" not in done.stderr
        raise (IndexUnreachable if unreachable else CannotResolve)(done.stderr.strip())
    return dict(_versions(done.stdout))


def _versions(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        name, pinned, version = line.partition("==")
        if pinned:
            yield name.partition("[")[0].strip(), version.partition(";")[0].strip()


def table(rows: Sequence[Resolved]) -> str:
    lines = [
        "| framework | newest release | beside | installed | older because of it |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        older = ", ".join(f"{name} {version}" for name, version in sorted(row.held_back.items())) or "nothing"
        extra = f"`segue[{row.framework.extra}]`"
        lines.append(f"| {row.framework.name} | {row.newest} | {extra} | {row.chosen} | {older} |")
    return "\n".join(lines)


def main() -> int:
    try:
        rows = [resolve(framework) for framework in FRAMEWORKS]
    except IndexUnreachable as error:
        sys.stderr.write(f"The package index cannot be reached, so nothing was checked: {error}\n")
        return 2
    before, _, rest = PAGE.read_text().partition(START)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{START}\n{table(rows)}\n{END}{after}")
    older = [row for row in rows if not row.is_newest]
    for row in older:
        sys.stderr.write(
            f"segue[{row.framework.extra}] makes the resolver choose {row.framework.name} {row.chosen}; "
            f"the newest is {row.newest}. Lower the floor in pyproject.toml that it conflicts with.\n"
        )
    return 1 if older else 0


if __name__ == "__main__":
    sys.exit(main())
