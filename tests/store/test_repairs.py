"""Repairs: each finding of the audit is repaired, or has a step to take; what is right is not changed."""

from collections.abc import Sequence

import pytest

from segue import Every, Kernel, OpenTurn, Say
from segue.errors import NotFound
from segue.kernel.transactions.repairs import REPAIRS, STEPS, RepairTerms
from segue.store import queries
from segue.store.database import Transaction
from segue.store.store import Store
from segue.testing import ManualClock

LATER = 4_000_000_000_000


async def silent(turn: OpenTurn) -> str:
    return ""


LEASED = "UPDATE sessions SET holder = 'w', fence = 5, leased_at = 1, lease_until = 2, ready_at = NULL"
# A second attempt: the first one has the event that opens a turn.
RUNNING = "UPDATE turns SET state = 'running', fence = 5, attempt = 2, started_at = 1"
OPEN_RUN = "INSERT INTO runs (id, job_id, session_id, slot, turn_id, delivery_id, queued_at) SELECT"
DELIVERY = "INSERT INTO deliveries (id, session_id, channel, chat_id, content, state, not_before, created_at"
NO_TURNS = "DELETE FROM turns"
NOT_READY = "UPDATE sessions SET ready_at = NULL, user_waits = 0"

SPOILED: dict[str, Sequence[str]] = {
    "running_without_a_lease": (RUNNING, NOT_READY),
    "leased_without_a_turn": (NO_TURNS, LEASED),
    "running_while_waiting": (
        RUNNING,
        LEASED,
        f"UPDATE sessions SET waiting_until = {LATER}",
        "INSERT INTO agent_states (session_id, waiting) SELECT id, '{}' FROM sessions",
    ),
    "waiting_without_a_question": (NO_TURNS, NOT_READY, f"UPDATE sessions SET waiting_until = {LATER}"),
    "not_held": (
        "UPDATE turns SET run_id = 'r'",
        f"UPDATE sessions SET waiting_until = {LATER}, user_waits = 0",
        "INSERT INTO agent_states (session_id, waiting) SELECT id, '{}' FROM sessions",
    ),
    "queued_and_never_ready": ("UPDATE sessions SET ready_at = NULL",),
    "ready_and_nothing_queued": (NO_TURNS, "UPDATE sessions SET user_waits = 0"),
    "wrong_pool": ("UPDATE sessions SET user_waits = 0",),
    "not_as_in_the_directory": ("UPDATE directory SET key = 'web:2'",),
    "wrong_activity": ("DELETE FROM activity",),
    "run_without_its_turn": (f"{OPEN_RUN} 'r', 'j', id, 1, 'gone', NULL, 1 FROM sessions",),
    "open_run_of_nothing": (f"{OPEN_RUN} 'r', 'j', id, 1, NULL, NULL, 1 FROM sessions",),
    "settled_delivery_with_an_open_run": (
        f"{OPEN_RUN} 'r', 'j', id, 1, NULL, 'd', 1 FROM sessions",
        "INSERT INTO deliveries (id, session_id, run_id, channel, chat_id, content, state, not_before, "
        "created_at) SELECT 'd', id, 'r', 'fax', '1', 'Hello.', 'sent', 1, 1 FROM sessions",
    ),
    "held_by_nothing": (
        f"{DELIVERY}, joins) SELECT 'd', id, 'fax', '1', 'Hello.', 'pending', 1, 1, 'gone' FROM sessions",
        "UPDATE sessions SET held = 1",
    ),
    "wrong_carried": (
        f"{DELIVERY}, held_until, carries) "
        "SELECT 'd', id, 'fax', '1', '', 'pending', 1, 1, 1, 2 FROM sessions",
    ),
    "wrong_held": ("UPDATE sessions SET held = 3",),
    "wrong_live_part": ("UPDATE sessions SET live_messages = 7, live_tokens = 3",),
    "extracting_archive_without_a_task": (
        "INSERT INTO archives (session_id, n, first_seq, last_seq, message_count, tokens, reason, task_id, "
        "state, created_at) SELECT id, 1, 1, 0, 0, 0, 'asked', 'gone', 'extracting', 1 FROM sessions",
        "UPDATE sessions SET archives = 1",
    ),
}


def spoil(statements: Sequence[str]) -> Transaction[None]:
    for statement in statements:
        yield queries.translate("test.spoil", statement), {}


def terms(store: Store) -> RepairTerms:
    return RepairTerms(now=store.database.wall_ms(), lease_now=store.lease_now(), horizon=store.horizon())


def test_every_finding_has_a_repair_or_a_step() -> None:
    names = {query.name.removeprefix("audit.") for query in queries.audit}
    assert REPAIRS.keys() | STEPS.keys() == names
    assert not REPAIRS.keys() & STEPS.keys()
    assert SPOILED.keys() == REPAIRS.keys()


@pytest.mark.parametrize("name", SPOILED)
async def test_a_finding_is_repaired_and_nothing_is_deleted(database_url: str, name: str) -> None:
    async with Kernel(database_url, agent=silent) as kernel:
        await kernel.receive("web:1", "Hello.")
        store = kernel.store
        await store.commit(spoil, SPOILED[name])
        broken = await kernel.audit()
        assert name in broken
        before = await rows_of(store)
        for found_id in broken[name]:
            assert await store.commit(REPAIRS[name].transaction, found_id, terms(store))
        assert not await kernel.audit()
        assert await rows_of(store) >= before


async def rows_of(store: Store) -> set[tuple[str, str]]:
    texts = "SELECT 'event' AS kind, content AS value FROM events UNION ALL SELECT 'turn', id FROM turns"
    rows = await store.database.read(queries.translate("test.rows", texts), {})
    return {(row["kind"], row["value"]) for row in rows}


@pytest.mark.parametrize("name", REPAIRS)
async def test_what_is_right_stays_as_it_is(database_url: str, name: str) -> None:
    """A finding may be out of date when it is repaired."""
    async with Kernel(database_url, agent=silent, clock=ManualClock()) as kernel:
        receipt = await kernel.receive("web:1", "Hello.")
        job = await kernel.schedule("web:1", Every(60), Say("Hello."))
        store = kernel.store
        session = await store.session_by_id(job.session_id)
        for some_id in (receipt.turn_id, session.id, job.id):
            try:
                await store.commit(REPAIRS[name].transaction, some_id, terms(store))
            except NotFound:
                continue
        assert not await kernel.audit()
        assert await store.session_by_id(session.id) == session
        assert (await kernel.turns.get(receipt.turn_id)).attempt == 0


async def test_a_key_of_another_session_is_not_taken_from_it(database_url: str) -> None:
    async with Kernel(database_url, agent=silent) as kernel:
        for key in ("web:1", "web:2"):
            await kernel.receive(key, "Hello.")
        second = await kernel.sessions.get("web:2")
        await kernel.store.commit(
            spoil,
            [
                "DELETE FROM directory WHERE key = 'web:2'",
                "UPDATE sessions SET key = 'web:1' WHERE key = 'web:2'",
            ],
        )
        assert (await kernel.audit())["not_as_in_the_directory"] == [second.id]
        repair = REPAIRS["not_as_in_the_directory"].transaction
        assert not await kernel.store.commit(repair, second.id, terms(kernel.store))
