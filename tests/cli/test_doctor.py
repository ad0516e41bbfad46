"""`segue doctor`: finds errors; only `--repair` changes something."""

import json
import signal
import sqlite3
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import asyncpg

from segue import At, Channel, Delivery, Kernel, OpenTurn, Receipt, Say
from segue.cli.support import checks
from segue.config import Configuration
from segue.store import queries
from segue.store.database import Transaction
from segue.store.open import open_database
from segue.testing import ManualClock, quiet
from tests.channels.bot_api import TOKEN, bot_api
from tests.cli.process import Segue
from tests.cli.terminal import at_terminal


async def run_doctor(segue: Segue, *options: str, code: int) -> dict[str, list[str]]:
    """Run `segue doctor` and return its findings by state."""
    ended = await segue("doctor", "--json", *options)
    assert ended.code == code, ended.out + ended.err
    report: dict[str, Any] = json.loads(ended.out)
    assert report["ok"] is (code == 0)
    found: dict[str, list[str]] = {"ok": [], "look": [], "wrong": []}
    for finding in report["findings"]:
        found[finding["state"]].append(f"{finding['about']}: {finding['words']}")
    return found


async def test_a_healthy_database_has_no_findings(segue: Segue) -> None:
    await segue("sessions", "add-message", "web:1", "Hello.")
    found = await run_doctor(segue, code=0)
    assert {
        "schema: up to date",
        "invariants: all hold",
        "deliveries: none failed, and none waits for a missing channel",
    } <= set(found["ok"])
    assert (await segue("doctor")).code == 0


async def test_a_healthy_postgres_has_no_findings(segue: Segue, postgres_url: str) -> None:
    segue.env = {"SEGUE_DATABASE": postgres_url}
    await segue("db", "migrate")
    found = await run_doctor(segue, code=0)
    assert any(words.startswith("clock: ") for words in found["ok"])


async def test_a_long_transaction_is_reported(postgres_url: str) -> None:
    other = await asyncpg.connect(postgres_url, server_settings={"application_name": "a report"})
    await other.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1; SELECT pg_sleep(0.2)")
    findings = await checks.run_checks(Configuration(database=postgres_url), long_transaction_ms=100)
    report = [each.words for each in findings if each.state is checks.State.LOOK]
    expected = f"process {other.get_server_pid()} (a report) has had a transaction open for 0 min"
    assert any(words.startswith(expected) for words in report)
    await other.close()


async def test_a_refused_telegram_token_is_wrong(segue: Segue) -> None:
    await segue("db", "migrate")
    async with bot_api() as api:
        segue.env |= {"SEGUE_TELEGRAM_URL": api.url, "SEGUE_TELEGRAM_TOKEN": TOKEN}
        assert "telegram: the bot is @segue_bot" in (await run_doctor(segue, code=0))["ok"]
        segue.env["SEGUE_TELEGRAM_TOKEN"] = "12345:wrong"
        (wrong,) = (await run_doctor(segue, code=1))["wrong"]
        assert wrong.startswith("telegram: Telegram refuses the token; set SEGUE_TELEGRAM_TOKEN")
    segue.env["SEGUE_TELEGRAM_TOKEN"] = TOKEN
    report = (await run_doctor(segue, code=0))["look"]
    assert "telegram: the token could not be checked: Telegram cannot be reached" in report


async def test_an_unknown_variable_is_reported(segue: Segue) -> None:
    segue.env["SEGUE_RUNERS"] = "3"
    warning = "the environment sets SEGUE_RUNERS, which is no setting and is not used"
    migrated = await segue("db", "migrate")
    assert (migrated.code, migrated.err) == (0, f"Warning: {warning}; did you mean SEGUE_RUNNERS?\n")
    assert f"settings: {warning}; did you mean SEGUE_RUNNERS?" in (await run_doctor(segue, code=0))["look"]


async def test_a_broken_invariant_is_found(segue: Segue) -> None:
    await segue("sessions", "add-messages", "web:1", text='{"role": "user", "content": "hi"}\n' * 3)
    with sqlite3.connect(segue.data / "segue.db") as database:
        database.execute("DELETE FROM events WHERE seq = 2")
    database.close()
    found = await run_doctor(segue, code=1)
    gap, miscounted = found["wrong"]  # the event that is missing was a message, too
    assert gap.startswith("invariants: gap in the log: ")
    assert miscounted.startswith("invariants: wrong live part: ")
    ended = await segue("doctor")
    assert ended.code == 1
    assert "wrong" in ended.out


def spoil() -> Transaction[None]:
    wrong = "live_messages = live_messages - 7, live_tokens = 3, kept_tokens = -1"
    yield queries.translate("test.spoil", f"UPDATE sessions SET {wrong}"), {}


async def test_repair_rebuilds_the_counts_of_all_sessions(segue: Segue, bare_url: str) -> None:
    segue.env = {"SEGUE_DATABASE": bare_url}
    for key in ("web:1", "web:2"):
        await segue("sessions", "add-message", key, "Hello.")
    database = await open_database(bare_url)
    await database.run(spoil)
    await database.close()
    [miscounted] = (await run_doctor(segue, code=1))["wrong"]
    assert miscounted.startswith("invariants: wrong live part: ")
    assert miscounted.endswith("; `segue doctor --repair` repairs it")
    found = await run_doctor(segue, "--repair", "--yes", code=0)
    [rebuilt] = [words for words in found["ok"] if words.startswith("repair: wrong live part: repaired: ")]
    assert len(rebuilt.split(", ")) == 2
    assert "invariants: all hold" in found["ok"]
    found = await run_doctor(segue, "--repair", "--yes", code=0)
    assert "repair: there is nothing to repair" in found["ok"]


async def test_repair_lists_what_it_would_do_and_asks(segue: Segue) -> None:
    await segue("sessions", "add-message", "web:1", "Hello.")
    with sqlite3.connect(segue.data / "segue.db") as database:
        database.execute("UPDATE sessions SET live_messages = 7")
    database.close()
    listed = "- wrong live part: count the messages of the session again: "
    unasked = await segue.process("doctor", "--repair")
    assert unasked.code == 2
    assert listed in unasked.err
    assert "nothing was changed" in unasked.err
    async with at_terminal(segue, "doctor", "--repair") as terminal:
        await terminal.see("Repair this? [y/N]:")
        terminal.type("n\n")
        assert await terminal.end() == 1
        assert listed in terminal.output
    assert len((await run_doctor(segue, code=1))["wrong"]) == 1
    async with at_terminal(segue, "doctor", "--repair") as terminal:
        await terminal.see("Repair this? [y/N]:")
        terminal.type("y\n")
        assert await terminal.end() == 0


async def test_overdue_jobs_without_workers_are_reported(segue: Segue) -> None:
    clock = ManualClock(datetime(2026, 3, 2, tzinfo=UTC))
    async with Kernel(segue.database, agent=silent, clock=clock) as kernel:
        job = await kernel.schedule("web:1", At("in 1 minute"), Say("Hello."))
    found = await run_doctor(segue, code=1)
    assert found["wrong"] == [
        f"workers: due for more than an hour, and no worker ran it: {job.id}; is `segue serve` running?"
    ]
    assert "invariants: all hold" in found["ok"]


async def test_failed_deliveries_are_reported(segue: Segue) -> None:
    clock = ManualClock()
    async with Kernel(segue.database, agent=silent, clock=clock, channels=[Jammed()]) as kernel:
        await kernel.schedule("fax:1", At("in 1 minute"), Say("Hello."))
        clock.advance(minutes=2)
        await quiet(kernel)
    found = await run_doctor(segue, code=0)
    assert len(found["look"]) == 1
    assert " for fax:1 failed after 1 attempts: " in found["look"][0]
    assert found["look"][0].endswith("paper jam")


class Jammed(Channel):
    name = "fax"

    async def send(self, delivery: Delivery) -> Receipt:
        raise RuntimeError("paper jam")


async def silent(turn: OpenTurn) -> str:
    return ""


async def test_no_database_and_an_old_schema_are_wrong(segue: Segue) -> None:
    assert "there is no database at" in (await run_doctor(segue, code=1))["wrong"][0]
    assert not segue.data.exists()
    segue.data.mkdir()
    sqlite3.connect(segue.data / "segue.db").close()
    assert "run `segue db migrate`" in (await run_doctor(segue, code=1))["wrong"][0]


async def test_a_wrong_setting_is_a_finding(segue: Segue) -> None:
    segue.env = {"SEGUE_PORT": "high"}
    assert (await run_doctor(segue, code=1))["wrong"][0].startswith("settings: SEGUE_PORT must be a port")


async def test_settings_are_reported_with_their_sources_and_without_secrets(segue: Segue) -> None:
    await segue("db", "migrate")
    (segue.folder / "segue.toml").write_text("runners = 7\n")
    segue.env = {
        "SEGUE_API_KEYS": '[{"key": "hush-hush-hush-1"}]',
        "SEGUE_MCP_SERVERS": '[{"name": "maps", "url": "http://x", "headers": {"X": "hush-hush-2"}}]',
    }
    report = (await segue("doctor")).out
    assert "runners is 7, from runners in segue.toml" in report
    assert "api_keys is 1 of them, from SEGUE_API_KEYS" in report
    assert "hush" not in report


def modes(folder: Path) -> set[int]:
    return {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}


async def test_created_files_are_readable_by_their_owner_only(segue: Segue) -> None:
    data = segue.folder / "outer" / "inner"
    async with segue.serving("--data", str(data)):
        names = {file.name for file in data.iterdir()}
        assert names == {f"segue.db{suffix}" for suffix in ("", "-wal", "-shm", ".lock", ".next")}
        assert modes(data) == {0o600}
    for folder in (data, data.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


async def test_files_readable_by_others_are_reported_and_repaired(segue: Segue) -> None:
    await segue("db", "migrate")
    database = segue.data / "segue.db"
    segue.data.chmod(0o755)
    database.chmod(0o644)
    assert (
        f"files: other users of this machine can read {database}"
        in (await run_doctor(segue, code=0))["look"][0]
    )
    async with segue.serving() as server:
        server.process.tell(signal.SIGTERM)
        await server.process.end()
        assert "other users of this machine can read" in server.process.log
    assert stat.S_IMODE(database.stat().st_mode) == 0o644
    repaired = await segue("doctor", "--repair", "--yes")
    assert repaired.code == 0
    assert "was open to other users" in repaired.out
    assert modes(segue.data) == {0o600}
    assert (await run_doctor(segue, code=0))["look"] == [
        f"files: other users of this machine can list {segue.data}; run `chmod 700` on it"
    ]
    segue.data.chmod(0o700)
    assert (await run_doctor(segue, code=0))["look"] == []


async def test_files_in_a_private_folder_are_not_reported(segue: Segue) -> None:
    await segue("db", "migrate")
    (segue.data / "segue.db").chmod(0o644)
    assert (await run_doctor(segue, code=0))["look"] == []
