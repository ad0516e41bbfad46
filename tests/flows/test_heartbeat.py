"""The heartbeat: a protected job of the system that speaks only when there is something to do and to say."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from segue import Ask, Every, Kernel, OpenTurn
from segue.agents.routines.heartbeat import FILE, FUNCTION, JOB_ID, SESSION, Heartbeat, active_tasks, install
from segue.errors import Conflict
from segue.model.states import JobKind
from segue.testing import ManualClock, RecordingChannel, ScriptedAgent, quiet
from tests.flows.house import OpenKernel
from tests.flows.story import count_rows, said

PHONE = "test:42"
TASKS = "# Heartbeat\n\n## Active Tasks\n\n- Watch the build\n\n## Done\n\n- Nothing\n"

OpenHeartbeat = Callable[..., Awaitable[Kernel]]


@pytest_asyncio.fixture(loop_scope="session")
async def open_heartbeat(open_kernel: OpenKernel, agent: ScriptedAgent, tmp_path: Path) -> OpenHeartbeat:
    """A kernel with a heartbeat over a workspace, and a chat that was used."""

    async def opened(**options: object) -> Kernel:
        heart = Heartbeat(tmp_path, agent)
        kernel = await open_kernel(functions={FUNCTION: heart}, **options)
        await install(kernel)
        return kernel

    return opened


async def test_every_half_hour_the_active_tasks_are_seen_to(
    open_heartbeat: OpenHeartbeat,
    clock: ManualClock,
    agent: ScriptedAgent,
    channel: RecordingChannel,
    tmp_path: Path,
) -> None:
    """11.1: it speaks into the most recent eligible session, by its channel and in its transcript."""
    kernel = await open_heartbeat()
    (tmp_path / FILE).write_text(TASKS)
    await kernel.receive("websocket:old", "Hello")
    await quiet(kernel)
    clock.advance(minutes=1)
    await kernel.receive(PHONE, "Hello")
    await quiet(kernel)
    agent.script("The build is red.")
    clock.advance(minutes=30)
    await quiet(kernel)
    assert agent.asked[-1].text == "- Watch the build"
    assert agent.asked[-1].turn.prompt.endswith("\n\n- Watch the build")
    assert channel.texts == ["ok", "The build is red."]
    assert (await said(kernel, PHONE))[-1] == ("assistant", "The build is red.")
    [run] = await kernel.runs.list(job=JOB_ID)
    assert run.outcome == "ok"


@pytest.mark.parametrize("text", [None, "", "## Active Tasks\n\n<!-- none yet -->\n\n## Done\n\n- Slept\n"])
async def test_without_an_active_task_no_model_is_asked(
    open_heartbeat: OpenHeartbeat, clock: ManualClock, agent: ScriptedAgent, tmp_path: Path, text: str | None
) -> None:
    """11.1"""
    kernel = await open_heartbeat()
    if text is not None:
        (tmp_path / FILE).write_text(text)
    await kernel.receive(PHONE, "Hello")
    await quiet(kernel)
    clock.advance(minutes=30)
    await quiet(kernel)
    assert [asked.text for asked in agent.asked] == ["Hello"]
    [run] = await kernel.runs.list(job=JOB_ID)
    assert run.outcome == "empty"


@pytest.mark.parametrize("answer", ["NOTHING_TO_REPORT", "", None])
async def test_it_keeps_silent_when_there_is_nothing_to_tell(
    open_heartbeat: OpenHeartbeat,
    clock: ManualClock,
    agent: ScriptedAgent,
    channel: RecordingChannel,
    tmp_path: Path,
    answer: str | None,
) -> None:
    """11.1: it asks before it speaks."""
    kernel = await open_heartbeat()
    (tmp_path / FILE).write_text(TASKS)
    await kernel.receive(PHONE, "Hello")
    await quiet(kernel)
    agent.script(answer)
    clock.advance(minutes=30)
    await quiet(kernel)
    assert channel.texts == ["ok"]


async def test_a_gate_that_fails_keeps_it_silent_and_its_run_failed(
    open_heartbeat: OpenHeartbeat, clock: ManualClock, channel: RecordingChannel, tmp_path: Path
) -> None:
    """11.1, failing closed."""

    async def ill(turn: OpenTurn, answer: str) -> bool:
        raise RuntimeError("the judge is ill")

    kernel = await open_heartbeat(evaluate_response=ill)
    (tmp_path / FILE).write_text(TASKS)
    await kernel.receive(PHONE, "Hello")
    await quiet(kernel)
    clock.advance(minutes=30)
    await quiet(kernel)
    assert channel.texts == ["ok"]
    [run] = await kernel.runs.list(job=JOB_ID)
    assert run.outcome == "error"
    assert "the judge is ill" in (run.error or "")


async def test_it_does_not_speak_in_sessions_without_a_user(
    open_heartbeat: OpenHeartbeat, clock: ManualClock, agent: ScriptedAgent, tmp_path: Path
) -> None:
    """Groups, sessions of jobs and chats without a word are not eligible."""
    kernel = await open_heartbeat()
    (tmp_path / FILE).write_text(TASKS)
    await kernel.sessions.open("test:group", chat_type="group")
    await kernel.log.write("test:group", "user", "Hello")
    await kernel.sessions.open("websocket:empty")
    await kernel.schedule("cron:old", Every(86_400), Ask("Look."), kind=JobKind.LEGACY)
    await kernel.log.write("cron:old", "user", "Hello")
    clock.advance(minutes=30)
    await quiet(kernel)
    assert agent.asked == []


async def test_it_is_made_once_and_survives_a_restart(
    open_heartbeat: OpenHeartbeat, clock: ManualClock
) -> None:
    """11.2: state and history are there after a restart."""
    first = await open_heartbeat()
    clock.advance(minutes=30)
    await quiet(first)
    before = await first.jobs.get(JOB_ID)
    again = await open_heartbeat()
    assert await again.jobs.get(JOB_ID) == before
    assert len(await again.runs.list(job=JOB_ID)) == 1
    assert (await count_rows(again))["jobs"] == 1


async def test_it_can_be_neither_changed_nor_removed(open_heartbeat: OpenHeartbeat) -> None:
    """11.2"""
    kernel = await open_heartbeat()
    job = await kernel.jobs.get(JOB_ID)
    assert (job.kind, job.protected) == (JobKind.SYSTEM, True)
    for verb in (kernel.jobs.delete, kernel.jobs.pause, kernel.jobs.skip):
        with pytest.raises(Conflict, match="belongs to the system"):
            await verb(JOB_ID)
    with pytest.raises(Conflict, match="belongs to the system"):
        await kernel.jobs.update(JOB_ID, name="mine")
    assert await kernel.jobs.get(JOB_ID) == job


async def test_after_it_gave_up_a_restart_sets_it_going(
    open_heartbeat: OpenHeartbeat, clock: ManualClock, agent: ScriptedAgent, tmp_path: Path
) -> None:
    (tmp_path / FILE).write_text(TASKS)
    kernel = await open_heartbeat()
    await kernel.receive(PHONE, "Hello")
    await quiet(kernel)
    agent.script(*[RuntimeError("no")] * 10)
    for _ in range(10):
        clock.advance(minutes=30)
        await quiet(kernel)
    assert (await kernel.jobs.get(JOB_ID)).state == "paused"
    assert "paused" in (await said(kernel, SESSION))[-1][1]
    assert (await (await open_heartbeat()).jobs.get(JOB_ID)).state == "active"


async def test_a_file_outside_the_workspace_is_not_read(
    open_heartbeat: OpenHeartbeat,
    clock: ManualClock,
    agent: ScriptedAgent,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "secret.md"
    elsewhere.write_text(TASKS)
    (tmp_path / FILE).symlink_to(elsewhere)
    kernel = await open_heartbeat()
    await kernel.receive(PHONE, "Hello")
    await quiet(kernel)
    clock.advance(minutes=30)
    await quiet(kernel)
    assert [asked.text for asked in agent.asked] == ["Hello"]


@pytest.mark.parametrize(
    ("text", "tasks"),
    [
        ("## Active Tasks\n- One\n- Two\n", "- One\n- Two"),
        ("## active tasks\n\n1. One\n### Later\n2. Two\n", "1. One\n2. Two"),
        ("## Active Tasks\n- [ ] One\n- [x] Two\n- [X] Three\n", "- [ ] One"),
        ("## Active Tasks\n<!-- - One -->\n-\n- [ ]\n", ""),
        ("## Active Tasks\n<!-- never closed\n- One\n", ""),
        ("# Active Tasks\n- One\n", ""),
        ("## Active Tasks\n# Another\n- One\n", ""),
        ("- One\n", ""),
    ],
)
def test_what_is_active(text: str, tasks: str) -> None:
    """11.1: under `## Active Tasks`, and only there."""
    assert active_tasks(text) == tasks
