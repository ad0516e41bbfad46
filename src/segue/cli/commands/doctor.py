"""`segue doctor`: checks settings, database, clock and invariants, and repairs what it can."""

import asyncio
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from segue.cli.support.load_settings import FAILED, WRONG_USE, Config, Data, Database, fail, load
from segue.cli.support.output import AsJson, print_json, print_table
from segue.cli.support.progress import progress
from segue.errors import BadSetting

if TYPE_CHECKING:
    from segue.cli.support.checks import Finding
    from segue.config import Configuration

Repair = Annotated[bool, typer.Option("--repair", help="First repair what can be repaired, after asking.")]
Yes = Annotated[bool, typer.Option("--yes", help="Repair without asking.")]


def doctor(
    repair: Repair = False,
    yes: Yes = False,
    as_json: AsJson = False,
    config: Config = None,
    data: Data = None,
    database: Database = None,
) -> None:
    """Check settings, database, clock and invariants. Exit code 1 when something is wrong."""
    from segue.cli.support.checks import Finding, State, run_checks

    try:
        configuration = load(config, data=data, database=database)
        repaired = _repair(configuration, ask=not yes, silent=as_json) if repair else []
        with progress(silent=as_json) as tell:
            tell("Checking settings, database, clock and invariants")
            findings = [*repaired, *asyncio.run(run_checks(configuration))]
    except BadSetting as error:
        findings = [Finding("settings", State.WRONG, str(error))]
    if as_json:
        print_json({"ok": _is_ok(findings), "findings": [each.to_json() for each in findings]})
    else:
        rows = [(each.about, each.state, each.words) for each in findings]
        print_table(("what", "state", "finding"), rows, empty="", whole=True)
    if not _is_ok(findings):
        raise typer.Exit(FAILED)


def _repair(configuration: "Configuration", *, ask: bool, silent: bool) -> "list[Finding]":
    from segue.cli.support import repairs
    from segue.cli.support.checks import Finding, State

    with progress(silent=silent) as tell:
        tell("Looking for what can be repaired")
        planned = asyncio.run(repairs.plan(configuration))
    if not planned:
        return [Finding("repair", State.OK, "there is nothing to repair")]
    if ask:
        _ask([each.words for each in planned])
    with progress(silent=silent) as tell:
        return asyncio.run(repairs.make(planned, tell))


def _ask(repairs: list[str]) -> None:
    """List what would be done and ask. Ends the command unless the answer is yes."""
    for words in repairs:
        typer.echo(f"- {words}", err=True)
    if not sys.stdin.isatty():
        fail("nothing was changed: without a terminal to ask on, `--repair` needs `--yes`", WRONG_USE)
    typer.confirm("Repair this?", abort=True, err=True)


def _is_ok(findings: "list[Finding]") -> bool:
    from segue.cli.support.checks import State

    return all(each.state is not State.WRONG for each in findings)
