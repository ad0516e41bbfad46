"""The defining test (1.2): a job reports, the user answers, and the next run's model call holds both.

Through a real server in a process of its own, with the double of a provider behind it. The moments are set by
a second process on the same database, as an operator's command would.
"""

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from segue import Every, Kernel, OpenTurn, Turn
from segue.testing.scripted_provider import ScriptedProvider, says, words_sent
from segue.testing.wire_formats import Calls
from segue.times.clock import to_moment
from tests.cli.process import Segue, Serving
from tests.flows.story import until

pytestmark = pytest.mark.usefixtures("ready")

CHAT = "websocket:ada"
ADD = json.dumps(
    {"action": "add", "name": "report", "message": "What changed since the last time?", "every_seconds": 3600}
)
REPORT, ANSWER = "Two tests fail since this morning.", "One of them is flaky, look at the other."
_TIMEOUT_SECONDS = 60


@asynccontextmanager
async def kernel_without_workers(segue: Segue) -> AsyncIterator[Kernel]:
    """A kernel on the server's database without workers."""

    async def no_agent(turn: OpenTurn) -> str:
        raise AssertionError("this process runs no turns")

    async with Kernel(segue.database, agent=no_agent) as kernel:
        yield kernel


async def say(server: Serving, key: str, words: str) -> str:
    answered = await server.client.post(
        f"/sessions/{key}/turns?wait={_TIMEOUT_SECONDS}", json={"content": words}
    )
    assert answered.status_code == 200, answered.text
    return str(answered.json()["reply"])


async def next_run(segue: Segue, job_id: str) -> Turn:
    """Make the job due now, and wait for the end of its turn."""
    async with kernel_without_workers(segue) as kernel:
        session = await kernel.store.session_by_id((await kernel.jobs.get(job_id)).session_id)
        soon = to_moment(kernel.clock.ms()) + timedelta(milliseconds=300)
        await kernel.jobs.update(job_id, trigger=Every(3600, start=soon))
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            ended = await until(kernel, "stream_end", session.key, after=session.last_seq)
        return await kernel.turns.get(ended.turn_id or "")


async def the_job(server: Serving) -> str:
    (job,) = (await server.client.get(f"/sessions/{CHAT}/automations")).json()["jobs"]
    assert (job["name"], job["session_key"]) == ("report", CHAT)
    return str(job["id"])


def request_text(provider: ScriptedProvider) -> str:
    return "\n".join(text for _, text in words_sent(provider.asked[-1].body))


@pytest.mark.parametrize("unified", [False, True], ids=["apart", "unified"])
async def test_the_next_run_sees_the_report_and_the_answer_after_a_kill(
    segue: Segue, provider: ScriptedProvider, unified: bool
) -> None:
    """1.2, 3.7, 5.1, 8.2"""
    segue.env["SEGUE_UNIFIED_SESSION"] = str(unified).lower()
    provider.script(says(Calls("cron", ADD)), says("It is scheduled."), says(REPORT), says("I will."))
    async with segue.serving() as server:
        assert await say(server, CHAT, "Tell me every hour what changed.") == "It is scheduled."
        job_id = await the_job(server)
        assert (await next_run(segue, job_id)).reply == REPORT
        assert "Tell me every hour what changed." in request_text(provider)
        assert await say(server, CHAT, ANSWER) == "I will."
        server.process.tell(signal.SIGKILL)
        await server.process.end()
    async with segue.serving():
        await check_the_second_run(segue, provider, job_id)


async def check_the_second_run(segue: Segue, provider: ScriptedProvider, job_id: str) -> None:
    provider.script(says("The other one is fixed."))
    asked = len(provider.asked)
    assert (await next_run(segue, job_id)).reply == "The other one is fixed."
    assert len(provider.asked) == asked + 1
    text = request_text(provider)
    assert text.index(REPORT) < text.index(ANSWER)
    assert words_sent(provider.asked[-1].body)[-1][1].endswith("What changed since the last time?")
    async with kernel_without_workers(segue) as kernel:
        said = [message.content for message in await kernel.messages(CHAT)]
        assert [REPORT in words for words in said].count(True) == 1
        assert said[-1] == "The other one is fixed."
        assert not await kernel.audit()


async def test_in_unified_mode_another_chat_may_answer(segue: Segue, provider: ScriptedProvider) -> None:
    """8.1, 8.2: the job is the chat's own, and its memory the one that all chats share."""
    segue.env["SEGUE_UNIFIED_SESSION"] = "true"
    provider.script(says(Calls("cron", ADD)), says("It is scheduled."), says(REPORT), says("I will."))
    async with segue.serving() as server:
        await say(server, CHAT, "Tell me every hour what changed.")
        job_id = await the_job(server)
        await next_run(segue, job_id)
        await say(server, "websocket:phone", ANSWER)
        assert (await server.client.get("/sessions/websocket:phone/automations")).json()["jobs"] == []
        await check_the_second_run(segue, provider, job_id)


async def test_a_job_cannot_add_jobs_through_queue_and_worker(
    segue: Segue, provider: ScriptedProvider
) -> None:
    """2.7: on the real path. It may only end itself."""
    provider.script(says(Calls("cron", ADD)), says("It is scheduled."))
    async with segue.serving() as server:
        await say(server, CHAT, "Tell me every hour what changed.")
        job_id = await the_job(server)
        remove = json.dumps({"action": "remove", "job_id": job_id})
        provider.script(says(Calls("cron", ADD)), says(Calls("cron", remove)), says("So I stop."))
        assert (await next_run(segue, job_id)).reply == "So I stop."
        results = [text for _, text in words_sent(provider.asked[-1].body)]
        assert any("a scheduled turn cannot add jobs" in text for text in results)
        assert (await server.client.get(f"/sessions/{CHAT}/automations")).json()["jobs"] == []
        (run,) = (await server.client.get(f"/sessions/{CHAT}/runs")).json()["runs"]
        assert run["outcome"] == "ok"
