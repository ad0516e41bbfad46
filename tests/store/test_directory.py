"""Directory: sessions are found by it, listed by their activity, and a turn does not update a key index."""

import asyncio
import shutil
from pathlib import Path

import asyncpg

from segue import Kernel
from segue.model.records import NEWEST, Owner
from segue.store.database import Transaction
from segue.store.migrate import MIGRATIONS, migrate
from segue.store.open import connect
from segue.store.queries import translate
from segue.store.store import Store
from segue.testing import ScriptedAgent
from segue.times.clock import SystemClock

ME = Owner("local", "me")

BEFORE = """
INSERT INTO sessions (id, account, user_id, key, created_at, last_message_at)
VALUES ('s1', 'local', 'me', 'web:1', 1, 9),
       ('s2', 'local', 'me', 'web:2', 5, NULL),
       ('s3', 'local', 'you', 'web:1', 6, 7)
"""


async def test_existing_sessions_are_found_after_the_migration(bare_url: str, tmp_path: Path) -> None:
    """A database of a version that found sessions by indexes of their table."""
    for file in MIGRATIONS.glob("000[1-6]_*.sql"):
        shutil.copy(file, tmp_path)
    database = await connect(bare_url)
    await migrate(database, tmp_path)
    await database.run(_rows_of_before)
    await migrate(database)
    store = Store(database, SystemClock())
    found = await store.session(ME, "web:1")
    listed = await store.sessions(ME, limit=10)
    shown = await store.overviews(ME, limit=10, before=NEWEST)
    broken = await store.audit(horizon=0)
    await database.close()
    assert found is not None
    assert found.id == "s1"
    assert [session.id for session in listed] == ["s1", "s2"]
    assert [overview.session.id for overview in shown] == ["s1", "s2"]
    assert broken == {}


def _rows_of_before() -> Transaction[None]:
    yield translate("before.sessions", BEFORE), {}


async def test_the_directory_agrees_with_the_sessions(database_url: str) -> None:
    async with Kernel(database_url, agent=ScriptedAgent()) as kernel:
        keys = ("web:1", "web:2", "web:3")
        ids = [(await kernel.receive(key, "hello")).session_id for key in keys]
        assert await kernel.audit() == {}
        await kernel.store.commit(_wrong, *ids)
        broken = await kernel.audit()
        assert sorted(broken["wrong_activity"]) == [ids[0]]
        assert sorted(broken["not_as_in_the_directory"]) == sorted(ids[1:])


async def test_of_two_callers_that_create_the_same_session_one_does(database_url: str) -> None:
    keys = [f"web:{number}" for number in range(20)]
    async with (
        Kernel(database_url, agent=ScriptedAgent()) as one,
        Kernel(database_url, agent=ScriptedAgent()) as other,
    ):
        for key in keys:
            met = await asyncio.gather(*(each.receive(key, "hello") for each in (one, other, one, other)))
            assert len({admitted.session_id for admitted in met}) == 1
        assert await one.audit() == {}


def _wrong(unheard: str, misnamed: str, unlisted: str) -> Transaction[None]:
    yield (
        translate("test.silence", "UPDATE activity SET active_at = 1 WHERE session_id = :id"),
        {"id": unheard},
    )
    yield (
        translate("test.misname", "UPDATE directory SET key = 'web:9' WHERE session_id = :id"),
        {"id": misnamed},
    )
    yield translate("test.unlist", "DELETE FROM directory WHERE session_id = :id"), {"id": unlisted}


async def test_a_turn_does_not_update_the_key_index_of_its_session(postgres_url: str) -> None:
    """PostgreSQL enters a changed row into all indexes of its table again, so sessions has few indexes."""
    database = await connect(postgres_url)
    await migrate(database)
    await database.close()
    connection = await asyncpg.connect(postgres_url)
    indexes = await connection.fetch("SELECT indexdef FROM pg_indexes WHERE tablename = 'sessions'")
    await connection.close()
    held = [row["indexdef"].partition(" USING ")[2] for row in indexes]
    assert len(held) == 4
    assert not [each for each in held if "key" in each or "user_id" in each or "last_message_at" in each]
