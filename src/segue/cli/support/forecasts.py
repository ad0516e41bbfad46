"""Prints forecasts, dry runs and usage."""

from typing import TYPE_CHECKING

import typer

from segue.cli.support.output import print_json, print_record, print_table, to_json

if TYPE_CHECKING:
    from datetime import datetime

    from segue.cli.support.command import CommandContext
    from segue.kernel.api.cost.forecasts import Preview
    from segue.model.cost.forecast import Forecast
    from segue.model.cost.past_runs import Spread
    from segue.model.cost.usage_days import SessionUsage, UsageSum

_COLUMNS = ("slot", "job", "verdict", "reason")


def print_forecast(context: "CommandContext", found: "Forecast", key: str, zone: str | None) -> None:
    if context.as_json:
        from segue.server.schemas.forecasts import forecast_out

        print_json(to_json(forecast_out(found, key, zone)))
        return
    if found.slots:
        names = {each.job.id: each.job.name for each in found.jobs}
        rows = (
            (_local(each.slot, context.zone), names[each.job_id], each.verdict, each.reason or each.note)
            for each in found.slots
        )
        print_table(_COLUMNS, rows, empty="")
        typer.echo()
    jobs = ((each.job.name, each.runs, _money(each.usd), each.depends) for each in found.jobs)
    print_table(("job", "runs", "cost", "depends"), jobs, empty=f"No job of {key} is active.")
    if found.jobs:
        typer.echo(_summary(found))


def _summary(found: "Forecast") -> str:
    days = (found.end - found.start).days
    parts = [f"{days} days: {found.total('runs')} runs"]
    parts += [f"{count} {words}" for name, words in _PARTS.items() if (count := found.total(name))]
    lines = [", ".join(parts)]
    if found.tokens:
        lines.append(f"tokens: {found.tokens.p50:,.0f}, at most about {found.tokens.p95:,.0f}")
    if found.usd:
        lines.append(f"cost: {_money(found.usd)}")
    if found.runs_without_price:
        lines.append(f"{found.runs_without_price} runs have no known price and are not in the sum")
    if not found.listed:
        lines.append("More than 5,000 slots: they are counted, not listed.")
    return "\n".join(lines)


_PARTS = {
    "skipped": "skipped",
    "missed": "missed",
    "days_off": "skipped by holidays",
    "collisions": "expected to wait for another",
}


def print_preview(context: "CommandContext", found: "Preview", zone: str | None) -> None:
    if context.as_json:
        from segue.server.schemas.forecasts import dry_run_out

        print_json(to_json(dry_run_out(found, zone)))
        return
    slots = [_local(slot, context.zone) for slot in found.next]
    print_record(
        {
            "name": found.job.name,
            "schedule": found.job.trigger,
            "message": found.message,
            "next runs": f"{', '.join(slots)} {context.zone}" if slots else None,
            "prompt": f"about {found.prompt_tokens:,} tokens",
            "context now": f"about {found.context_tokens:,} tokens",
            "warning": "; ".join(found.warnings) or None,
        }
    )
    typer.echo("Nothing was stored.")


_USAGE_COLUMNS = ("day", "job", "runs", "failed", "skipped", "tokens in", "from cache", "tokens out", "cost")


def print_usage(context: "CommandContext", found: "SessionUsage", key: str) -> None:
    if context.as_json:
        from segue.server.schemas.runs import usage_out

        print_json(to_json(usage_out(found, key)))
        return
    rows = [
        (f"{day.day:%Y-%m-%d}", _job_name(found, job_id), *_amounts(each))
        for day in reversed(found.days)
        for job_id, each in day.jobs.items()
    ]
    if rows:
        rows.append(("total", "", *_amounts(found.total)))
    print_table(_USAGE_COLUMNS, rows, empty=f"Nothing ran in {key} in the last {len(found.days)} days.")
    if found.total.without_price:
        typer.echo(f"{found.total.without_price} runs have no known price and are not in the sum")


def _job_name(found: "SessionUsage", job_id: str | None) -> str:
    return "(messages)" if job_id is None else found.names[job_id] or "(removed)"


def _amounts(each: "UsageSum") -> tuple[object, ...]:
    tokens = (each.input_tokens, each.cache_read_tokens, each.output_tokens)
    return (
        each.runs,
        each.failed,
        each.skipped + each.missed,
        *(f"{count:,}" for count in tokens),
        _cost(each),
    )


def _cost(each: "UsageSum") -> str:
    if each.cost_usd is not None:
        return f"${each.cost_usd:,.4f}"
    return "price unknown" if each.without_price else ""


def _local(moment: "datetime", zone: str) -> str:
    from segue.model.schedule import local

    return f"{local(moment, zone):%Y-%m-%d %H:%M:%S}"


def _money(spread: "Spread | None") -> str | None:
    if spread is None:
        return None
    return f"${spread.p50:,.2f}, at most about ${spread.p95:,.2f}"
