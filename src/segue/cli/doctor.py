"""`segue doctor`: whether everything is as it should be."""

import asyncio
from typing import TYPE_CHECKING

import typer

from segue.cli.configured import FAILED, Config, Data, Database, load
from segue.cli.output import AsJson, print_json, print_table
from segue.errors import BadSetting

if TYPE_CHECKING:
    from segue.cli.checkup import Finding


def doctor(
    as_json: AsJson = False, config: Config = None, data: Data = None, database: Database = None
) -> None:
    """Check settings, database, clock and invariants. Exit code 1 when something is wrong."""
    from segue.cli.checkup import Finding, State, examine

    try:
        findings = asyncio.run(examine(load(config, data=data, database=database)))
    except BadSetting as error:
        findings = [Finding("settings", State.WRONG, str(error))]
    if as_json:
        print_json({"ok": _well(findings), "findings": [each.shape() for each in findings]})
    else:
        rows = [(each.about, each.state, each.words) for each in findings]
        print_table(("what", "state", "finding"), rows, empty="", whole=True)
    if not _well(findings):
        raise typer.Exit(FAILED)


def _well(findings: "list[Finding]") -> bool:
    from segue.cli.checkup import State

    return all(each.state is not State.WRONG for each in findings)
