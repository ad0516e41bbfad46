"""What an operator does with a standby: wait for it at each commit, cut it off, promote it."""

import asyncpg

from tests.eventually import eventually
from tests.postgres import Server


async def wait_for_standbys(primary: Server) -> None:
    """From now on a commit is acknowledged when the standby has it."""
    connection = await asyncpg.connect(primary.url)
    try:
        await connection.execute("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
        await connection.execute("SELECT pg_reload_conf()")

        async def is_synchronous() -> bool:
            return bool(
                await connection.fetchval("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'")
            )

        await eventually(is_synchronous, "the standby is synchronous")
    finally:
        await connection.close()


async def promote(standby: Server) -> None:
    connection = await asyncpg.connect(standby.url)
    try:
        assert await connection.fetchval("SELECT pg_promote()")
    finally:
        await connection.close()


async def fall_behind(standby: Server) -> None:
    """From now on the standby receives nothing."""
    connection = await asyncpg.connect(standby.url)
    try:
        await connection.execute("ALTER SYSTEM SET primary_conninfo = ''")
        await connection.execute("SELECT pg_reload_conf()")

        async def is_alone() -> bool:
            return not await connection.fetchval("SELECT COUNT(*) FROM pg_stat_wal_receiver")

        await eventually(is_alone, "the standby receives nothing")
    finally:
        await connection.close()
