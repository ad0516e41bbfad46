"""Writes the field into a page: a section for each workload between two markers, and the plots beside it."""

from pathlib import Path

from bench.field.plots import plots
from bench.field.results import Results, table
from bench.field.workload import Workload
from bench.field.workloads import WORKLOADS

BEGIN, END = "<!-- field -->\n", "<!-- end of field -->\n"
IMAGES = "images"


def write(path: Path, results: Results) -> None:
    path.write_text(with_field(path.read_text("utf-8"), results), "utf-8")
    for name, svg in plots(results).items():
        (path.parent / IMAGES / name).write_text(svg, "utf-8")


def with_field(page: str, results: Results) -> str:
    """The page with these results between its markers."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return before + BEGIN + text(results) + END + after


def text(results: Results) -> str:
    parts = [_measured_by(results), *(section(workload, results) for workload in WORKLOADS.values())]
    return "\n".join(part for part in parts if part)


def section(workload: Workload, results: Results) -> str:
    """Title, what is done, the table, the plots, and who is left out."""
    measured = results.of(workload.name)
    if not measured:
        return ""
    lines = [
        f"### {workload.title}\n",
        f"{workload.about}\n",
        table(measured, workload.size, workload.columns),
    ]
    lines += [
        f"![{_title(name)}]({IMAGES}/{name})\n"
        for name in plots(results)
        if name.startswith(f"field-{workload.name}")
    ]
    left_out = [f"- {one.peer}: {one.reason}." for one in results.left_out if one.workload == workload.name]
    if left_out:
        lines.append("Left out:\n\n" + "\n".join(left_out) + "\n")
    return "\n".join(lines)


def _title(name: str) -> str:
    return name.removeprefix("field-").removesuffix(".svg").replace("-", " ")


def _measured_by(results: Results) -> str:
    most = max((len(one.rounds) for one in results.measured), default=0)
    lines = [
        f"Measured on {results.date} by `{results.command}`: {results.machine}; up to {most} rounds in turn; "
        "the median, and in brackets the least and the greatest.\n",
        "| peer | version | set up as in |\n|---|---|---|",
    ]
    for peer, versions in results.versions.items():
        names = ", ".join(f"{package} {version}" for package, version in versions.items())
        lines.append(f"| {peer} | {names} | {_link(results.documentation[peer])} |")
    lines += [
        f"| {one.peer} | not measured: {one.reason} | |" for one in results.left_out if one.workload == "all"
    ]
    return "\n".join(lines) + "\n"


def _link(documentation: str) -> str:
    """A page of ours as a link from `docs/`."""
    if documentation.startswith("docs/"):
        own = documentation.removeprefix("docs/")
        return f"[{own}]({own})"
    return f"<{documentation}>"
