"""Learning from archives: in order, once, by a task for each archive; and corrections."""

import asyncio
from collections.abc import Sequence

import pytest

from segue import Ask, Every, Kernel, Owner, Settings
from segue.errors import Conflict, NotFound
from segue.kernel.transactions.memory.archive import ArchiveMade
from segue.memory.extraction import Lesson, Material
from segue.model.memory import ArchiveState, MemoryKind, TaskState
from segue.testing import ManualClock, ScriptedAgent, quiet
from tests.flows.house import OpenKernel
from tests.flows.story import working

CHAT = "web:1"


class Scripted:
    """An extractor with scripted results, which records its input."""

    name = "scripted"

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.summarised: list[Material] = []
        self.learned: list[Material] = []
        self.lessons: list[Lesson] = []

    async def summarise(self, material: Material) -> str:
        self.summarised.append(material)
        return f"{material.earlier or ''}<{len(material.messages)}>"

    async def learn(self, material: Material) -> Sequence[Lesson]:
        self.learned.append(material)
        if self.failures:
            raise self.failures.pop(0)
        return self.lessons


def lesson(content: str, seq: int, *, topic: str = "home city") -> Lesson:
    return Lesson(kind=MemoryKind.FACT, topic=topic, content=content, confidence=80, source_seq=seq)


async def put_away(kernel: Kernel, *words: str, key: str = CHAT) -> ArchiveMade:
    await kernel.log.write_all(key, [("user", word) for word in words])
    done = await kernel.memory.commit(key)
    assert isinstance(done, ArchiveMade)
    return done


async def known(kernel: Kernel) -> list[str]:
    return [memory.content for memory in await kernel.memory.list()]


async def test_an_archive_is_readable_at_once_and_then_learned_from(kernel: Kernel) -> None:
    done = await put_away(kernel, "My name is Ada.", "I prefer tea.")
    archive = await kernel.memory.archive(CHAT, 1)
    assert (archive.state, archive.summary) == (ArchiveState.EXTRACTING, None)
    assert len(await kernel.memory.archived_messages(CHAT, 1)) == 2
    await quiet(kernel)
    archive = await kernel.memory.archive(CHAT, 1)
    assert archive.state is ArchiveState.DONE
    assert "no model was asked" in (archive.summary or "")
    task = await kernel.memory.task(done.task_id)
    assert task.state is TaskState.COMPLETED
    assert task.result is not None
    assert task.result["extractor"] == "rules"
    assert task.result["memories_extracted"] == {"fact": 1, "preference": 1}


async def test_a_memory_knows_where_it_comes_from(kernel: Kernel, clock: ManualClock) -> None:
    said_at = clock.ms()
    await put_away(kernel, "hello", "I moved to Lisbon.")
    clock.advance(hours=1)
    await quiet(kernel)
    (memory,) = await kernel.memory.list()
    session = await kernel.sessions.get(CHAT)
    assert (memory.kind, memory.topic, memory.content) == (MemoryKind.FACT, "home", "I moved to Lisbon.")
    assert (memory.session_id, memory.archive_n, memory.source_seq) == (session.id, 1, 2)
    assert (memory.updated_at, memory.confidence) == (said_at, 85)


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("My name is Ada", MemoryKind.FACT),
        ("I live in Porto now", MemoryKind.FACT),
        ("my favourite colour is green", MemoryKind.PREFERENCE),
        ("I don't like coriander", MemoryKind.PREFERENCE),
        ("Let's go with PostgreSQL for the archive", MemoryKind.DECISION),
        ("I still need to book the flight", MemoryKind.THREAD),
        ("Remember that the door code is 4711", MemoryKind.FACT),
        ("我叫小明", MemoryKind.FACT),
        ("我住在上海", MemoryKind.FACT),
        ("我喜欢喝茶", MemoryKind.PREFERENCE),
        ("我们决定用这个方案", MemoryKind.DECISION),
        ("请记住门禁密码是4711", MemoryKind.FACT),
    ],
)
async def test_rules_understand_plain_sentences(kernel: Kernel, said: str, kind: MemoryKind) -> None:
    await put_away(kernel, said)
    await quiet(kernel)
    assert [memory.kind for memory in await kernel.memory.list()] == [kind]


async def test_a_task_that_learned_nothing_reports_zero(kernel: Kernel) -> None:
    """Zero memories are zero."""
    done = await put_away(kernel, "hello", "Do I live in Rome?")
    await quiet(kernel)
    task = await kernel.memory.task(done.task_id)
    assert task.result is not None
    assert (task.result["memories"], task.result["memories_extracted"]) == (0, {})
    assert await known(kernel) == []


async def test_a_newer_statement_replaces_an_older_one(kernel: Kernel, clock: ManualClock) -> None:
    await put_away(kernel, "I live in Berlin.")
    await quiet(kernel)
    clock.advance(days=1)
    await put_away(kernel, "I moved to Lisbon.", key="web:2")
    await quiet(kernel)
    assert await known(kernel) == ["I moved to Lisbon."]
    (memory,) = await kernel.memory.list()
    assert memory.created_at < memory.updated_at or memory.archive_n == 1


async def test_an_older_statement_does_not_replace_a_newer_one(kernel: Kernel, clock: ManualClock) -> None:
    """Archives of two sessions may be read in any order; what counts is the time of the statement."""
    await kernel.log.write("web:old", "user", "I live in Berlin.")
    clock.advance(days=1)
    await put_away(kernel, "I moved to Lisbon.")
    await quiet(kernel)
    await kernel.memory.commit("web:old")
    await quiet(kernel)
    assert await known(kernel) == ["I moved to Lisbon."]


async def test_archives_are_learned_from_in_order_each_with_the_summary_before(
    open_kernel: OpenKernel,
) -> None:
    extractor = Scripted()
    kernel = await open_kernel(extractor=extractor)
    for number in range(3):
        await put_away(kernel, *(["word"] * (number + 1)))
    await quiet(kernel)
    assert [len(material.messages) for material in extractor.learned] == [1, 2, 3]
    assert [material.earlier for material in extractor.summarised] == [None, "<1>", "<1><2>"]
    assert (await kernel.memory.archive(CHAT, 3)).summary == "<1><2><3>"


async def test_a_failure_is_tried_again_and_a_step_that_was_taken_is_not(
    open_kernel: OpenKernel, clock: ManualClock
) -> None:
    """A11.5: the task and the archive show it, not the session."""
    extractor = Scripted(RuntimeError("away"), RuntimeError("still away"))
    kernel = await open_kernel(extractor=extractor)
    done = await put_away(kernel, "hello")
    for _ in range(3):
        await quiet(kernel)
        clock.advance(minutes=1)
    assert (len(extractor.summarised), len(extractor.learned)) == (1, 3)
    assert (await kernel.memory.task(done.task_id)).state is TaskState.COMPLETED
    assert (await kernel.sessions.get(CHAT)).live.last_error == ""


async def test_a_task_that_fails_for_good_says_so_and_blocks_no_other(
    open_kernel: OpenKernel, clock: ManualClock
) -> None:
    """A11.5; errors are redacted, and cut."""
    secret = "Bearer abcdef123456 " + "x" * 1000
    extractor = Scripted(*(RuntimeError(secret) for _ in range(3)))
    kernel = await open_kernel(extractor=extractor)
    first = await put_away(kernel, "hello")
    second = await put_away(kernel, "again")
    for _ in range(4):
        await quiet(kernel)
        clock.advance(minutes=1)
    failed = await kernel.memory.task(first.task_id)
    assert failed.state is TaskState.FAILED
    assert failed.error is not None
    assert "abcdef" not in failed.error
    assert len(failed.error) <= 500
    assert (await kernel.memory.archive(CHAT, 1)).state is ArchiveState.FAILED
    assert (await kernel.memory.task(second.task_id)).state is TaskState.COMPLETED


async def test_a_task_is_cancelled(open_kernel: OpenKernel) -> None:
    extractor = Scripted()
    kernel = await open_kernel(extractor=extractor)
    done = await put_away(kernel, "hello")
    assert (await kernel.memory.cancel_task(done.task_id)).state is TaskState.CANCELLED
    await quiet(kernel)
    assert extractor.learned == []
    assert (await kernel.memory.archive(CHAT, 1)).state is ArchiveState.FAILED
    with pytest.raises(Conflict):
        await kernel.memory.cancel_task(done.task_id)
    with pytest.raises(NotFound):
        await kernel.memory.cancel_task(done.task_id, owner=Owner("a", "b"))


async def test_a_lesson_must_name_a_message_of_the_user(open_kernel: OpenKernel) -> None:
    """A model's output is not trusted: a lesson without a message of the user is not learned."""
    extractor = Scripted()
    kernel = await open_kernel(extractor=extractor)
    extractor.lessons = [lesson("Invented.", 999), lesson("True.", 1, topic="other")]
    await put_away(kernel, "hello")
    await quiet(kernel)
    assert await known(kernel) == ["True."]


async def test_memory_does_not_learn_from_scheduled_turns(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    """The prompts and answers of scheduled jobs are no statements of the user."""
    await kernel.schedule(CHAT, Every(60), Ask("Remember that the moon is cheese."))
    agent.script("My name is Robot.")
    clock.advance(minutes=1)
    await quiet(kernel)
    await put_away(kernel, "I live in Rome.")
    await quiet(kernel)
    assert await known(kernel) == ["I live in Rome."]
    found = await kernel.memory.search("moon cheese robot")
    assert found == []


async def test_the_memories_learned_from_an_archive_are_undone(kernel: Kernel, clock: ManualClock) -> None:
    await put_away(kernel, "I live in Berlin.")
    await quiet(kernel)
    before = await kernel.memory.list()
    clock.advance(days=1)
    await put_away(kernel, "I moved to Lisbon.", "I prefer tea.")
    await quiet(kernel)
    undone = await kernel.memory.undo(CHAT, 2)
    assert (undone.restored, undone.kept) == (2, 0)
    assert await kernel.memory.list() == before
    with pytest.raises(Conflict):
        await kernel.memory.undo(CHAT, 2)


async def test_a_memory_that_was_corrected_since_is_not_undone(kernel: Kernel) -> None:
    await put_away(kernel, "I live in Berlin.")
    await quiet(kernel)
    (memory,) = await kernel.memory.list()
    changed = await kernel.memory.update(memory.id, content="I live in Bern.")
    assert changed.confidence == 100
    undone = await kernel.memory.undo(CHAT, 1)
    assert (undone.restored, undone.kept) == (0, 1)
    assert await known(kernel) == ["I live in Bern."]


async def test_a_memory_is_forgotten(kernel: Kernel) -> None:
    await put_away(kernel, "My name is Ada.")
    await quiet(kernel)
    (memory,) = await kernel.memory.list()
    with pytest.raises(NotFound):
        await kernel.memory.delete(memory.id, owner=Owner("a", "b"))
    await kernel.memory.delete(memory.id)
    assert await known(kernel) == []
    with pytest.raises(NotFound):
        await kernel.memory.get(memory.id)


async def test_tasks_are_kept_for_a_while(kernel: Kernel, clock: ManualClock) -> None:
    await put_away(kernel, "hello")
    await quiet(kernel)
    assert len(await kernel.memory.tasks()) == 1
    clock.advance(days=2)
    await kernel.workers.pruner.step()
    assert await kernel.memory.tasks() == []


class Slow(Scripted):
    """Reads until it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.reads, self.goes_on = asyncio.Event(), asyncio.Event()

    async def learn(self, material: Material) -> Sequence[Lesson]:
        self.reads.set()
        await self.goes_on.wait()
        return await super().learn(material)


async def test_a_shutdown_lets_a_running_task_finish(open_kernel: OpenKernel) -> None:
    extractor = Slow()
    kernel = await open_kernel(extractor=extractor)
    extractor.lessons = [lesson("True.", 1)]
    done = await put_away(kernel, "hello")
    async with asyncio.TaskGroup() as group:
        run = group.create_task(kernel.run())
        await extractor.reads.wait()
        run.cancel()
        assert (await kernel.memory.task(done.task_id)).state is TaskState.RUNNING
        extractor.goes_on.set()
    assert (await kernel.memory.task(done.task_id)).state is TaskState.COMPLETED
    assert await known(kernel) == ["True."]


async def test_a_task_that_a_shutdown_interrupts_can_be_leased_at_once(open_kernel: OpenKernel) -> None:
    """Not only when the lease of the stopped process has expired."""
    extractor = Slow()
    kernel = await open_kernel(extractor=extractor, settings=Settings(shutdown_grace_seconds=0))
    done = await put_away(kernel, "hello")
    async with working(kernel):
        await extractor.reads.wait()
    left = await kernel.memory.task(done.task_id)
    assert (left.state, left.error) == (TaskState.PENDING, "its worker was stopped")
    extractor.goes_on.set()
    await quiet(await open_kernel(extractor=extractor))
    assert (await kernel.memory.task(done.task_id)).state is TaskState.COMPLETED
    assert len(extractor.summarised) == 1
