"""Digests on Telegram: the reports of many jobs are one message, before the answer to the user's next one."""

from pathlib import Path

from segue import Ask, At, Policy
from segue.testing import ScriptedAgent
from tests.channels.test_replies import CHAT, bot
from tests.eventually import eventually

JOBS = 20
COLLECTED = Policy.from_json({"quiet": "defer", "tell": "digest"})


async def test_twenty_jobs_are_one_message_before_the_answer_to_the_user(tmp_path: Path) -> None:
    agent = ScriptedAgent()
    agent.script(*(f"Report {number}." for number in range(JOBS)), "Hello.")
    async with bot(tmp_path, agent) as (api, kernel):
        await kernel.sessions.open(CHAT, timezone="UTC")
        await kernel.sessions.update(CHAT, digest={"every_seconds": 86_400})
        for number in range(JOBS):
            soon = At("in 1 second")
            await kernel.schedule(CHAT, soon, Ask("Look."), name=f"Job {number:02}", policy=COLLECTED)

        async def all_wait() -> bool:
            return (await kernel.sessions.get(CHAT)).held == JOBS

        await eventually(all_wait, "all answers wait", within=60)
        assert api.shown("7") == []
        await api.write("Hi.")
        await eventually(lambda: len(api.shown("7")) == 2, "the digest and the answer", within=60)
        digest, answer = api.shown("7")
        assert answer == "Hello."
        assert [digest.count(f"Report {number}.") for number in range(JOBS)] == [1] * JOBS
        assert digest.count("Job ") == JOBS
