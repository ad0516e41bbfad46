"""Checks of `segue doctor`. They only read; pending migrations are reported, not applied."""

import os
import stat
from collections.abc import AsyncIterator, Iterator
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Any

from segue.cli.support.open_kernel import refuse_missing
from segue.config import Configuration
from segue.config.parts import settings_of
from segue.errors import SegueError
from segue.kernel.transactions.repairs import REPAIRS, STEPS
from segue.model.channel import NotTaken
from segue.record import positional
from segue.store import queries
from segue.store.database import Database
from segue.store.migrate import status
from segue.store.open import connect, sqlite_file
from segue.store.sqlite.permissions import files_of
from segue.store.store import Store
from segue.telemetry.logs import Redaction
from segue.times.clock import SystemClock, to_moment
from segue.times.days.day_sets import day_set, shipped_names

_MIN_OFFSET_MS = 1_000
_SHOWN_IDS = 5
HORIZON_MS = 3_600_000
_OVERDUE_MS = 60_000
_MOST_LISTED = 20


class State(StrEnum):
    OK = "ok"
    LOOK = "look"
    """Nothing is broken, but the operator may want to know."""
    WRONG = "wrong"


@positional
class Finding:
    about: str
    state: State
    words: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


async def run_checks(configuration: Configuration, *, long_transaction_ms: int = 600_000) -> list[Finding]:
    redaction = Redaction(configuration.secrets())
    findings = [*_settings(configuration), *_files(configuration)]
    try:
        findings += [finding async for finding in _database(configuration, long_transaction_ms)]
    except SegueError as error:
        findings.append(Finding("database", State.WRONG, str(error)))
    if configuration.telegram.token is not None:
        findings.append(await _telegram(configuration.telegram.token.reveal(), configuration))
    return [Finding(each.about, each.state, redaction(each.words)) for each in findings]


def _settings(configuration: Configuration) -> Iterator[Finding]:
    for name, _ in settings_of(Configuration):
        source = configuration.source_of(name)
        if source is not None:
            yield Finding(
                "settings", State.OK, f"{name} is {_setting_text(configuration, name)}, from {source}"
            )
    for warning in configuration.warnings:
        yield Finding("settings", State.LOOK, warning)
    if configuration.model is None:
        yield Finding("settings", State.OK, "no model is set; the offline model answers")
    if configuration.timezone is None:
        yield Finding(
            "settings",
            State.OK,
            "no time zone is set; a clock time needs one in its text or in its session",
        )


def _files(configuration: Configuration) -> Iterator[Finding]:
    if words := open_files(configuration):
        yield Finding("files", State.LOOK, words)


def open_files(configuration: Configuration) -> str | None:
    """A sentence that names the files that other users of this machine can read; None if there are none."""
    database = sqlite_file(configuration.database_url)
    if database is None:
        return None
    if files := open_to_others(database):
        names = ", ".join(map(str, files))
        return f"other users of this machine can read {names}; `segue doctor --repair` changes that"
    if database.parent == configuration.data and _is_open_to_others(configuration.data):
        return f"other users of this machine can list {configuration.data}; run `chmod 700` on it"
    return None


def open_to_others(database: Path) -> list[Path]:
    """The files of this database that other users of the machine can access."""
    if os.name != "posix" or not _mode(database.parent) & (stat.S_IXGRP | stat.S_IXOTH):
        return []
    return [file for file in files_of(database) if _is_open_to_others(file)]


def _is_open_to_others(path: Path) -> bool:
    return os.name == "posix" and bool(_mode(path) & (stat.S_IRWXG | stat.S_IRWXO))


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except OSError:  # missing, or not accessible to this user
        return 0


def _setting_text(configuration: Configuration, name: str) -> str:
    value: Any = configuration
    for part in name.split("."):
        value = getattr(value, part)
    if name == "api_keys":
        return f"{len(value)} of them"
    if name == "mcp_servers":
        return ", ".join(each.name for each in value) or "none"
    return str(value)


async def _database(configuration: Configuration, long_transaction_ms: int) -> AsyncIterator[Finding]:
    refuse_missing(configuration)
    database = await connect(configuration.database_url)
    try:
        yield Finding("database", State.OK, f"{configuration.database_url} answers")
        yield _clock(database)
        if (finding := await _long_transaction(database, long_transaction_ms)) is not None:
            yield finding
        pending = (await status(database)).pending
        if pending:
            yield Finding("schema", State.WRONG, f"{', '.join(pending)} is pending; run `segue db migrate`")
            return
        yield Finding("schema", State.OK, "up to date")
        store = Store(database, SystemClock(database.wall_ms))
        async for finding in _contents(store, horizon=database.wall_ms() - HORIZON_MS):
            yield finding
    finally:
        await database.close()


def _clock(database: Database) -> Finding:
    offset = SystemClock().ms() - database.wall_ms()
    if abs(offset) < _MIN_OFFSET_MS:
        return Finding("clock", State.OK, f"{offset:+d} ms from the database's")
    return Finding(
        "clock",
        State.LOOK,
        f"{offset / 1000:+.1f} s from the database's, which Segue uses; set this machine's clock",
    )


async def _long_transaction(database: Database, long_ms: int) -> Finding | None:
    rows = await database.read(queries.schema.oldest_transaction, {})
    if not rows or rows[0]["ms"] < long_ms:
        return None
    minutes = rows[0]["ms"] // 60_000
    process = f"process {rows[0]['pid']}" + (f" ({program})" if (program := rows[0]["program"]) else "")
    return Finding(
        "database",
        State.LOOK,
        f"{process} has had a transaction open for {minutes} min; until it ends, PostgreSQL keeps all "
        "old row versions and Segue gets slower: end it if it is not needed",
    )


async def _contents(store: Store, *, horizon: int) -> AsyncIterator[Finding]:
    broken = await store.audit(horizon=horizon)
    # The one invariant that also breaks if no worker is running.
    if overdue := broken.pop("overdue_slot_without_a_row", None):
        yield Finding(
            "workers",
            State.WRONG,
            f"due for more than an hour, and no worker ran it: {listed(overdue)}; is `segue serve` running?",
        )
    for name, ids in broken.items():
        step = "`segue doctor --repair` repairs it" if name in REPAIRS else STEPS[name]
        yield Finding("invariants", State.WRONG, f"{name.replace('_', ' ')}: {listed(ids)}; {step}")
    if not broken:
        yield Finding("invariants", State.OK, "all hold")
    async for finding in _deliveries(store):
        yield finding
    async for finding in _days(store):
        yield finding


async def _days(store: Store) -> AsyncIterator[Finding]:
    """Calendars that jobs use and that end soon, or have ended."""
    today = to_moment(store.database.wall_ms()).date()
    shipped = [(None, days) for days in map(day_set, shipped_names())]
    for account, days in (*shipped, *await store.ending_day_sets(today)):
        notice = days.notice(today)
        # No session was told an empty notice, so all that have jobs are found.
        using = await store.jobs_to_warn(account, days.name, "", _MOST_LISTED) if notice else []
        if using:
            yield Finding(
                "days", State.LOOK, f"{notice} It is used by {listed([row['id'] for row in using])}"
            )


async def _deliveries(store: Store) -> AsyncIterator[Finding]:
    """Failed deliveries, and deliveries that wait for a channel that no process has."""
    failed = await store.failed_deliveries(limit=_MOST_LISTED)
    for delivery in failed:
        key = f"{delivery.channel}:{delivery.chat_id}"
        words = f"{delivery.id} for {key} failed after {delivery.attempt} attempts: {delivery.error}"
        yield Finding("deliveries", State.LOOK, words)
    if len(failed) == _MOST_LISTED:
        yield Finding("deliveries", State.LOOK, f"only the {_MOST_LISTED} newest failed ones are listed")
    waiting = await store.stranded_deliveries(store.database.wall_ms() - _OVERDUE_MS, _MOST_LISTED)
    if waiting:
        names = ", ".join(sorted({delivery.channel for delivery in waiting}))
        words = f"{len(waiting)} wait for a channel that no process has: {names}"
        yield Finding("deliveries", State.LOOK, words)
    if not failed and not waiting:
        yield Finding("deliveries", State.OK, "none failed, and none waits for a missing channel")


async def _telegram(token: str, configuration: Configuration) -> Finding:
    from segue.channels.telegram import Telegram, WrongToken

    async with Telegram(token, url=configuration.telegram.url) as telegram:
        try:
            return Finding("telegram", State.OK, f"the bot is {await telegram.who()}")
        except WrongToken as error:
            return Finding("telegram", State.WRONG, str(error))
        except (NotTaken, ConnectionError) as error:
            return Finding("telegram", State.LOOK, f"the token could not be checked: {error}")


def listed(ids: list[str]) -> str:
    rest = len(ids) - _SHOWN_IDS
    return ", ".join(ids[:_SHOWN_IDS]) + (f" and {rest} more" if rest > 0 else "")
