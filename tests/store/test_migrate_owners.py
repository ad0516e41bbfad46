"""Migration 0008: rows of chats that belonged to the user `default` get the chat's own user."""

import json
import shutil
from pathlib import Path

from segue.memory.reader import MemoryReader
from segue.model.records import Operator, Owner
from segue.store import queries
from segue.store.database import Transaction, Value
from segue.store.migrate import MIGRATIONS, migrate
from segue.store.open import connect
from segue.store.queries import translate
from segue.store.store import Store
from segue.times.clock import SystemClock

ADA, BOB, ROOM = "telegram:7", "telegram:8", "matrix:!r:home"
EVERY, TO_BOB = '{"kind":"every","every_seconds":60}', '{"kind":"ask","prompt":"Look.","to":"telegram:8"}'

BEFORE = f"""
INSERT INTO sessions (id, account, user_id, key, created_at, last_via_id, ready_at, user_waits)
VALUES ('ada', 'default', 'default', '{ADA}', 1, NULL, NULL, 0),
       ('bob', 'default', 'default', '{BOB}', 2, NULL, NULL, 0),
       ('room', 'default', 'default', '{ROOM}', 3, NULL, NULL, 0),
       ('web', 'default', 'default', 'web:1', 4, NULL, NULL, 0),
       ('hers', 'default', 'anna', '{ADA}', 5, NULL, NULL, 0),
       ('common', 'default', 'default', 'unified:default', 6, 'ada', 5, 1),
       ('legacy', 'default', 'default', 'cron:77', 7, NULL, NULL, 0);

INSERT INTO directory (session_id, account, user_id, key, heard_at)
SELECT id, account, user_id, key, created_at FROM sessions;

INSERT INTO jobs (id, session_id, account, kind, name, state, trigger_kind, trigger, action, policy, slot,
                  next_at, created_at, updated_at)
VALUES ('j', 'legacy', 'default', 'legacy', 'Look', 'active', 'every', '{EVERY}', '{TO_BOB}', '{{}}', 9,
        9, 1, 1);

INSERT INTO turns (id, session_id, via_id, state, rank, not_before, content, timeout_ms, queued_at)
VALUES ('t1', 'common', 'ada', 'queued', 5, 5, 'Of Ada', 1000, 5),
       ('t2', 'common', 'web', 'queued', 6, 6, 'Of the page', 1000, 6);

INSERT INTO requests (account, user_id, name, digest, result, made_at)
VALUES ('default', 'default', 'telegram:31', 'd', '{{"turn_id":"t1","session_id":"common"}}', 5),
       ('default', 'default', 'telegram:32', 'd', '{{"turn_id":"t2","session_id":"common"}}', 5),
       ('default', 'default', 'post', 'd', '{{"turn_id":"t1","session_id":"common"}}', 5);

INSERT INTO tasks (id, account, user_id, type, session_id, session_key, archive_n, state, stage, not_before,
                   created_at, updated_at)
VALUES ('k1', 'default', 'default', 'session_commit', 'ada', '{ADA}', 1, 'completed', 'finished', 1, 1, 1),
       ('k2', 'default', 'default', 'session_commit', 'web', 'web:1', 1, 'completed', 'finished', 1, 1, 1);

INSERT INTO memories (id, account, user_id, kind, topic, content, confidence, session_id, archive_n,
                      created_at, updated_at)
VALUES ('m1', 'default', 'default', 'fact', 'allergy', 'Allergic to peanuts', 90, 'ada', 1, 1, 2),
       ('m2', 'default', 'default', 'fact', 'home', 'Lives in Lisbon', 90, 'bob', 1, 1, 1),
       ('m3', 'default', 'default', 'fact', 'tea', 'Prefers tea', 90, 'web', 1, 1, 1),
       ('m4', 'default', 'default', 'fact', 'common', 'Said in common', 90, 'common', 1, 1, 1),
       ('m5', 'default', 'default', 'fact', 'lost', 'Of a session that is gone', 90, 'gone', 1, 1, 1),
       ('m6', 'default', 'default', 'passage', 'p', 'Word for word', 90, 'ada', 1, 1, 1);

INSERT INTO memory_terms (account, user_id, term, memory_id, weight)
VALUES ('default', 'default', 'peanuts', 'm1', 1), ('default', 'default', 'tea', 'm3', 1);
"""


def _memory_json(content: str, session_id: str) -> str:
    memory = {"id": "m1", "account": "default", "user_id": "default", "content": content}
    return json.dumps({**memory, "session_id": session_id})


def _rows_of_before() -> Transaction[None]:
    for number, text in enumerate(BEFORE.split(";")[:-1]):
        yield translate(f"before.{number}", text), {}
    change: dict[str, Value] = {"archive_n": 1, "memory_id": "m1", "at": 1}
    yield (
        queries.memories.record_change,
        [
            {
                **change,
                "session_id": "ada",
                "place": index,
                "before": _memory_json("Earlier", session_id),
                "after": _memory_json("Allergic", "ada"),
            }
            for index, session_id in enumerate(("bob", "ada"))
        ],
    )


async def test_existing_chats_get_their_own_user(bare_url: str, tmp_path: Path) -> None:
    for file in MIGRATIONS.glob("000[1-7]_*.sql"):
        shutil.copy(file, tmp_path)
    database = await connect(bare_url)
    await migrate(database, tmp_path)
    await database.run(_rows_of_before)
    await migrate(database)
    store = Store(database, SystemClock())
    memory_reader = MemoryReader(store)

    sessions = {each.id: each for each in await store.sessions(Operator(), limit=20)}
    assert {name: each.owner.user for name, each in sessions.items()} == {
        "ada": ADA,
        "bob": BOB,
        "room": ROOM,
        "web": "default",
        "hers": "anna",
        "common": "default",
        "legacy": BOB,
    }
    assert (await store.session(Owner(user=ADA), ADA)) == sessions["ada"]

    # What was learned goes with its session; what has no known source stays with the operator.
    for user, topics in {ADA: ["allergy"], BOB: ["home"], "default": ["common", "lost", "tea"]}.items():
        known = await memory_reader.memories(Owner(user=user), limit=10)
        assert sorted(each.topic for each in known) == topics
    terms: dict[str, Value] = {"account": "default", "terms": '["peanuts","tea"]', "limit": 9}
    for user, found in {ADA: ["m1"], "default": ["m3"]}.items():
        matching = await database.read(queries.memories.matching, {**terms, "user_id": user})
        assert [row["memory_id"] for row in matching] == found
    assert [task.id for task in await memory_reader.tasks(Owner(user=ADA), limit=5)] == ["k1"]
    changes = await database.read(queries.memories.changes_of, {"session_id": "ada", "archive_n": 1})
    owners = [
        (json.loads(row["before"] or "{}").get("user_id"), json.loads(row["after"])["user_id"])
        for row in changes
    ]
    assert owners == [(ADA, ADA), (None, ADA)], "an undo gives one user nothing of another"

    # A repeated request is recognised, and turns that waited in the common lane wait in their chat.
    names = {"account": "default", "user_id": ADA, "name": "telegram:31"}
    assert await database.read(queries.requests.by_name, names)
    for name in ("telegram:32", "post"):
        assert await database.read(queries.requests.by_name, {**names, "user_id": "default", "name": name})
    assert (await store.turn("t1")).session_id == "ada"
    assert (await store.turn("t2")).session_id == "common"
    assert (sessions["ada"].ready_at, sessions["common"].ready_at) == (5, 6)
    used_last = translate("test.used_last", "SELECT last_via_id FROM sessions WHERE id = 'common'")
    assert [row["last_via_id"] for row in await database.read(used_last, {})] == [None]
    broken = await store.audit(horizon=0)
    await database.close()
    assert broken == {}
