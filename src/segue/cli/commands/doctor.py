"""`segue doctor`: checks settings, database, clock and invariants, and repairs what it can."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from segue.cli.support.load_settings import FAILED, Config, Data, Database, load
from segue.cli.support.output import AsJson, print_json, print_table
from segue.errors import BadSetting

if TYPE_CHECKING:
    from segue.cli.support.checks import Finding
    from segue.config import Configuration

Repair = Annotated[
    bool, typer.Option("--repair", help="First repair what can be repaired, and list the changes.")
]


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
        findings = asyncio.run(_check(load(config, data=data, database=database), repair=repair))
    except BadSetting as error:
        findings = [Finding("settings", State.WRONG, str(error))]
    if as_json:
        print_json({"ok": _is_ok(findings), "findings": [each.to_json() for each in findings]})
    else:
        rows = [(each.about, each.state, each.words) for each in findings]
        print_table(("what", "state", "finding"), rows, empty="", whole=True)
    if not _is_ok(findings):
        raise typer.Exit(FAILED)


async def _check(configuration: "Configuration", *, repair: bool) -> "list[Finding]":
    from segue.cli.support import repairs
    from segue.cli.support.checks import run_checks

    repaired = await repairs.repair(configuration) if repair else []
    return [*repaired, *await run_checks(configuration)]


def _is_ok(findings: "list[Finding]") -> bool:
    from segue.cli.support.checks import State

    return all(each.state is not State.WRONG for each in findings)
