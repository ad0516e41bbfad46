"""What the doctor looks at. It reads, and changes nothing: a schema that is behind stays behind."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import asdict
from enum import StrEnum
from typing import Any

from segue.cli.support.open_kernel import refuse_missing
from segue.config import Configuration
from segue.config.layers import settings_of
from segue.errors import SegueError
from segue.model.channel import NotTaken
from segue.record import positional
from segue.store import queries
from segue.store.database import Database
from segue.store.migrate import status
from segue.store.open import connect, sqlite_file
from segue.store.sqlite.permissions import is_open_to_others, open_to_others
from segue.store.store import Store
from segue.telemetry.logs import Redaction
from segue.times.clock import SystemClock

_NOTICED_OFFSET_MS = 1_000
_SHOWN_IDS = 5
_HORIZON_MS = 3_600_000
_OVERDUE_MS = 60_000
_LONG_MS = 600_000
_MOST_LISTED = 20


class State(StrEnum):
    OK = "ok"
    LOOK = "look"
    """Nothing is broken; somebody may want to know."""
    WRONG = "wrong"


@positional
class Finding:
    about: str
    state: State
    words: str

    def shape(self) -> dict[str, Any]:
        return asdict(self)


async def examine(configuration: Configuration) -> list[Finding]:
    redaction = Redaction(configuration.secrets())
    findings = [*_settings(configuration), *_files(configuration)]
    try:
        findings += [finding async for finding in _database(configuration)]
    except SegueError as error:
        findings.append(Finding("database", State.WRONG, str(error)))
    if configuration.telegram.token is not None:
        findings.append(await _telegram(configuration.telegram.token.get_secret_value(), configuration))
    return [Finding(each.about, each.state, redaction(each.words)) for each in findings]


def _settings(configuration: Configuration) -> Iterator[Finding]:
    for name, _ in settings_of(Configuration):
        place = configuration.source_of(name)
        if place is not None:
            yield Finding("settings", State.OK, f"{name} is {_shown(configuration, name)}, from {place}")
    for warning in configuration.warnings:
        yield Finding("settings", State.LOOK, warning)
    if configuration.model is None:
        yield Finding("settings", State.OK, "no model is set; the offline one answers")
    if configuration.timezone is None:
        yield Finding(
            "settings",
            State.OK,
            "no time zone is set; a time on the clock needs one from its words or its session",
        )


def _files(configuration: Configuration) -> Iterator[Finding]:
    if words := open_files(configuration):
        yield Finding("files", State.LOOK, words)


def open_files(configuration: Configuration) -> str | None:
    """The sentence about what other users of this machine can read; None if there is nothing."""
    database = sqlite_file(configuration.database_url)
    if database is None:
        return None
    if found := open_to_others(database):
        names = ", ".join(map(str, found))
        return f"other users of this machine can read {names}; `segue doctor --repair` changes that"
    if database.parent == configuration.data and is_open_to_others(configuration.data):
        return f"other users of this machine can list {configuration.data}; run `chmod 700` on it"
    return None


def _shown(configuration: Configuration, name: str) -> str:
    value: Any = configuration
    for part in name.split("."):
        value = getattr(value, part)
    if name == "api_keys":
        return f"{len(value)} of them"
    if name == "mcp_servers":
        return ", ".join(each.name for each in value) or "none"
    return str(value)


async def _database(configuration: Configuration) -> AsyncIterator[Finding]:
    refuse_missing(configuration)
    database = await connect(configuration.database_url)
    try:
        yield Finding("database", State.OK, f"{configuration.database_url} answers")
        yield _clock(database)
        if (held_back := await _held_back(database)) is not None:
            yield held_back
        pending = (await status(database)).pending
        if pending:
            yield Finding(
                "schema", State.WRONG, f"{', '.join(pending)} is yet to be applied; run `segue db migrate`"
            )
            return
        yield Finding("schema", State.OK, "up to date")
        store = Store(database, SystemClock(database.wall_ms))
        async for finding in _contents(store, horizon=database.wall_ms() - _HORIZON_MS):
            yield finding
    finally:
        await database.close()


def _clock(database: Database) -> Finding:
    offset = SystemClock().ms() - database.wall_ms()
    if abs(offset) < _NOTICED_OFFSET_MS:
        return Finding("clock", State.OK, f"{offset:+d} ms from the database's")
    return Finding(
        "clock",
        State.LOOK,
        f"{offset / 1000:+.1f} s from the database's, by which everything is timed; set this machine's clock",
    )


async def _held_back(database: Database) -> Finding | None:
    found = await database.read(queries.schema.oldest_transaction, {})
    if not found or found[0]["ms"] < _LONG_MS:
        return None
    minutes = found[0]["ms"] // 60_000
    who = f"process {found[0]['pid']}" + (f" ({program})" if (program := found[0]["program"]) else "")
    return Finding(
        "database",
        State.LOOK,
        f"{who} has had a transaction open for {minutes} min; until it ends, PostgreSQL keeps whatever was "
        "changed since, and all that Segue does gets slower: end it if nobody needs it",
    )


async def _contents(store: Store, *, horizon: int) -> AsyncIterator[Finding]:
    broken = await store.audit(horizon=horizon)
    # The one that can also mean that nobody was there to hold it.
    if overdue := broken.pop("overdue_slot_without_a_row", None):
        yield Finding(
            "workers",
            State.WRONG,
            f"due for more than an hour, and nobody ran it: {listed(overdue)}; is `segue serve` running?",
        )
    for name, ids in broken.items():
        yield Finding("invariants", State.WRONG, f"{name.replace('_', ' ')}: {listed(ids)}")
    if not broken:
        yield Finding("invariants", State.OK, "all hold")
    async for finding in _deliveries(store):
        yield finding


async def _deliveries(store: Store) -> AsyncIterator[Finding]:
    """The dead letters, and what waits for a channel that nobody has."""
    dead = await store.failed_deliveries(limit=_MOST_LISTED)
    for letter in dead:
        key = f"{letter.channel}:{letter.chat_id}"
        words = f"{letter.id} for {key} was given up after {letter.attempt} tries: {letter.error}"
        yield Finding("deliveries", State.LOOK, words)
    if len(dead) == _MOST_LISTED:
        yield Finding("deliveries", State.LOOK, f"these are the {_MOST_LISTED} newest; there are more")
    waiting = await store.stranded_deliveries(store.database.wall_ms() - _OVERDUE_MS, _MOST_LISTED)
    if waiting:
        names = ", ".join(sorted({letter.channel for letter in waiting}))
        words = f"{len(waiting)} wait for a channel that no process has: {names}"
        yield Finding("deliveries", State.LOOK, words)
    if not dead and not waiting:
        yield Finding("deliveries", State.OK, "none was given up, and none waits for a channel")


async def _telegram(token: str, configuration: Configuration) -> Finding:
    from segue.channels.telegram import Telegram, WrongToken

    async with Telegram(token, url=configuration.telegram.url) as telegram:
        try:
            return Finding("telegram", State.OK, f"the bot is {await telegram.who()}")
        except WrongToken as error:
            return Finding("telegram", State.WRONG, str(error))
        except (NotTaken, ConnectionError) as error:
            return Finding("telegram", State.LOOK, f"whether the token is right cannot be told: {error}")


def listed(ids: list[str]) -> str:
    rest = len(ids) - _SHOWN_IDS
    return ", ".join(ids[:_SHOWN_IDS]) + (f" and {rest} more" if rest > 0 else "")
