"""`segue doctor`: whether everything is as it should be."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from segue.cli.support.load_settings import FAILED, Config, Data, Database, load
from segue.cli.support.output import AsJson, print_json, print_table
from segue.errors import BadSetting

if TYPE_CHECKING:
    from segue.cli.support.checks import Finding
    from segue.config import Configuration

Repair = Annotated[bool, typer.Option("--repair", help="First repair what can be, and say what was changed.")]


def doctor(
    repair: Repair = False,
    as_json: AsJson = False,
    config: Config = None,
    data: Data = None,
    database: Database = None,
) -> None:
    """Check settings, database, clock and invariants. Exit code 1 when something is wrong."""
    from segue.cli.support.checks import Finding, State

    try:
        findings = asyncio.run(_examined(load(config, data=data, database=database), repair=repair))
    except BadSetting as error:
        findings = [Finding("settings", State.WRONG, str(error))]
    if as_json:
        print_json({"ok": _well(findings), "findings": [each.shape() for each in findings]})
    else:
        rows = [(each.about, each.state, each.words) for each in findings]
        print_table(("what", "state", "finding"), rows, empty="", whole=True)
    if not _well(findings):
        raise typer.Exit(FAILED)


async def _examined(configuration: "Configuration", *, repair: bool) -> "list[Finding]":
    from segue.cli.support import repairs
    from segue.cli.support.checks import examine

    repaired = await repairs.repair(configuration) if repair else []
    return [*repaired, *await examine(configuration)]


def _well(findings: "list[Finding]") -> bool:
    from segue.cli.support.checks import State

    return all(each.state is not State.WRONG for each in findings)
