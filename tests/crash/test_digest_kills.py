"""kill -9 at each point of a digest's flush: each answer arrives in exactly one message, in its order.

The channel recognises a repeated delivery, so each message arrives once.
"""

import asyncio
import sys
from pathlib import Path

import pytest

from segue import Ask, Cron, Kernel, Policy
from segue.model.settings import Settings
from segue.store.queries import translate
from segue.testing import ManualClock, quiet
from tests.crash.digest_sender import PHONE, Steps, arrived, kernel_on
from tests.crash.processes import LONG
from tests.docs.pages import ROOT

POINTS = 100 if LONG else 4
JOBS = 5
LEASE = Settings().lease_seconds
_TIMEOUT = 120
_turns = translate("test.users_turns", "SELECT id FROM turns WHERE run_id IS NULL")


async def collected(kernel: Kernel, clock: ManualClock) -> None:
    """Jobs have answered, and their answers wait for the digest at 18:00."""
    await kernel.sessions.open(PHONE)
    await kernel.sessions.update(PHONE, digest={"at": "18:00"})
    for number in range(JOBS):
        trigger, ask = Cron(f"{10 * number} 10 * * *", tz="UTC"), Ask(f"Say {number}.")
        policy = Policy.from_json({"tell": "digest", "max_runs": 1})
        await kernel.schedule(PHONE, trigger, ask, name=f"Job {number}", policy=policy)
    for _ in range(12):
        clock.advance(minutes=10)
        await quiet(kernel)
    assert (await kernel.sessions.get(PHONE)).held == JOBS


async def sender(url: str, post: Path, clock: ManualClock, step: int) -> tuple[int, str]:
    """The exit code of the process, and what it printed."""
    arguments = ("-m", "tests.crash.digest_sender", url, str(post), str(clock.ms()), str(step))
    process = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(_TIMEOUT):
        printed, _ = await process.communicate()
    return process.returncode or 0, printed.decode()


async def one_kill(url: str, post: Path, step: int) -> list[str]:
    """What arrives if the sender is killed at a step, and another process takes over."""
    clock = ManualClock()
    async with kernel_on(url, post, clock, Steps(), "successor") as kernel:
        await collected(kernel, clock)
        code, _ = await sender(url, post, clock, step)
        assert code == -9
        if not await kernel.store.database.read(_turns, {}):
            await kernel.receive(PHONE, "Hi.")  # it was not accepted: its user sends it again
        for _ in range(3):
            clock.advance(seconds=LEASE + 1)
            await quiet(kernel)
        assert (await kernel.sessions.get(PHONE)).held == 0
        assert not await kernel.audit()
        await kernel.sessions.delete(PHONE, with_jobs=True)
    return [text for _, text in arrived(post)]


@pytest.mark.serial
async def test_each_answer_arrives_in_one_message_before_the_answer_to_the_user(
    database_url: str, tmp_path: Path
) -> None:
    clock = ManualClock()
    async with kernel_on(database_url, tmp_path / "first", clock, Steps(), "first") as kernel:
        await collected(kernel, clock)
        code, printed = await sender(database_url, tmp_path / "first", clock, 0)
        assert code == 0
        await kernel.sessions.delete(PHONE, with_jobs=True)
    digest = "\n\n".join(f"**Job {number}**\n\nok" for number in range(JOBS))
    assert [text for _, text in arrived(tmp_path / "first")] == [digest, "ok"]
    steps = int(printed)
    points = sorted({1 + number * (steps - 1) // (POINTS - 1) for number in range(POINTS)})
    for step in points:
        assert await one_kill(database_url, tmp_path / f"step {step}", step) == [digest, "ok"], step
