"""`segue db`, on both databases."""

import json

from tests.cli.process import Segue


async def test_migrate_applies_pending_migrations(segue: Segue, postgres_url: str) -> None:
    segue.env = {"SEGUE_DATABASE": postgres_url}
    behind = await segue("db", "status", "--json")
    assert behind.code == 1
    pending = json.loads(behind.out)["pending"]
    assert pending[0] == "0001_kernel"
    migrated = await segue("db", "migrate")
    assert (migrated.code, migrated.out) == (0, f"Applied {', '.join(pending)}.\n")
    assert (await segue("db", "migrate")).out == "The schema is up to date.\n"
    there = await segue("db", "status")
    assert there.code == 0
    assert "pending" not in there.out


async def test_migrate_creates_the_sqlite_database(segue: Segue) -> None:
    assert json.loads((await segue("db", "migrate", "--json")).out)["applied"][0] == "0001_kernel"
    assert (segue.data / "segue.db").exists()


async def test_an_unreachable_server_is_reported_without_its_password(segue: Segue) -> None:
    ended = await segue("db", "status", "--database", "postgresql://ann:hush-hush@127.0.0.1:1/x")
    assert ended.code == 1
    assert ended.err.startswith("Error: ")
    assert "hush" not in ended.err
