"""Unified mode: messages, due jobs and deletions of several chats meet in one lane.

Every transaction locks the common session before a chat. If one did not, some order would end in a deadlock.
"""

from dataclasses import replace

import pytest

from segue.kernel.transactions import sessions, unified
from segue.kernel.transactions.lane import Pool
from segue.model.records import Owner
from segue.store import queries
from segue.store.database import Transaction
from segue.store.rows import core as rows
from tests.races.by_hand import orders, stage, walk
from tests.races.scenes import NOW, Scene, fires
from tests.races.test_cancel_against_fire import nothing_is_orphaned, settle_what_was_taken_up


async def test_a_message_and_a_due_job_of_another_chat_both_run_in_the_common_lane(
    database_url: str,
) -> None:
    async with stage(database_url) as on:
        for choose in orders(few=20, many=1000):
            scene = Scene(on)
            other = replace(scene, key="web:2")
            job = await scene.due_job(repeats=True)
            message = on.actor("message", other.arrives("hello", unified=True))
            slot = on.actor("slot", fires(job, unified=True))
            worker = on.actor("worker", scene.leased("worker", Pool.SCHEDULE))
            order = await walk([message, slot, worker], choose)
            assert [actor.error for actor in (message, slot, worker)] == [None] * 3, order
            ran = [held.turn.content for held in worker.result]
            await settle_what_was_taken_up(on, worker)
            ran += [held.turn.content for held in await scene.drained()]
            assert sorted(ran) == ["hello", "look"], order
        await nothing_is_orphaned(on)


async def test_a_chat_is_deleted_while_a_message_arrives_in_it_and_another_turn_starts(
    database_url: str,
) -> None:
    """The message is withdrawn with its chat, or creates the chat again."""
    async with stage(database_url) as on:
        for choose in orders(few=20, many=1000):
            scene = Scene(on)
            other = replace(scene, key="web:2")
            await on.perform(other.arrives("first", unified=True))
            await on.perform(scene.arrives("second", unified=True))
            deletion = on.actor("deletion", _deletes(scene.owner, scene.key))
            message = on.actor("message", scene.arrives("third", unified=True))
            worker = on.actor("worker", scene.leased("worker"))
            order = await walk([deletion, message, worker], choose)
            assert [actor.error for actor in (deletion, message, worker)] == [None] * 3, order
            ran = [held.turn.content for held in worker.result]
            await settle_what_was_taken_up(on, worker)
            ran += [held.turn.content for held in await scene.drained()]
            assert ran in (["first"], ["first", "third"]), order
        await nothing_is_orphaned(on)


@pytest.mark.parametrize(("deleted", "left"), [("web:1", "web:2"), ("web:2", "web:1")])
async def test_a_job_of_all_chats_comes_due_while_one_of_them_is_deleted(
    database_url: str, deleted: str, left: str
) -> None:
    """It runs once, and is answered in the chat that is left."""
    async with stage(database_url) as on:
        for choose in orders(few=20, many=1000):
            scene = Scene(on)
            for key in ("web:1", "web:2"):
                await on.perform(replace(scene, key=key).arrives("hello", unified=True))
                await scene.drained()
            job = await replace(scene, key=unified.KEY).due_job(repeats=True)
            slot = on.actor("slot", fires(job, unified=True))
            deletion = on.actor("deletion", _deletes(scene.owner, deleted))
            worker = on.actor("worker", scene.leased("worker", Pool.SCHEDULE))
            order = await walk([slot, deletion, worker], choose)
            assert [actor.error for actor in (slot, deletion, worker)] == [None] * 3, order
            ran = [held.turn.content for held in worker.result]
            await settle_what_was_taken_up(on, worker)
            ran += [held.turn.content for held in await scene.drained()]
            assert ran == ["look"], order
            assert await _answers_in(scene, left) == ["done", "done"], order
        await nothing_is_orphaned(on)


def _deletes(owner: Owner, key: str) -> Transaction[object]:
    named = {"account": owner.account, "user_id": owner.user, "key": key}
    found = yield queries.sessions.by_key, named
    return (yield from sessions.delete(rows.session(found[0]), with_jobs=True, now=NOW, shared=True))


async def _answers_in(scene: Scene, key: str) -> list[str]:
    chat = f"SELECT session_id FROM directory WHERE account = '{scene.owner.account}' AND key = '{key}'"
    text = f"SELECT content FROM events WHERE role = 'assistant' AND session_id = ({chat}) ORDER BY seq"
    return [row["content"] for row in await scene.stage.ask(text)]
