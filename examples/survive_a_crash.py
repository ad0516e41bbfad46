"""Two workers on one file. One hangs in the middle of a turn, the other takes over."""

import asyncio
import tempfile
from pathlib import Path

from segue import Kernel
from segue.testing import ManualClock, ScriptedAgent, quiet


async def main(database: str) -> None:
    clock = ManualClock()
    hung, healthy = ScriptedAgent(), ScriptedAgent()  # both report their tools: see docs/guides/crashes.md
    hung.script("Sorry, I was asleep.")
    healthy.script("Yes, I am here.")
    async with (
        Kernel(database, agent=hung, clock=clock, name="one") as one,
        Kernel(database, agent=healthy, clock=clock, name="two") as two,
    ):
        hung.pause()
        question = await one.receive("chat:anna", "Are you there?")
        hung_run = asyncio.create_task(quiet(one))
        await hung.under_way()
        clock.advance(seconds=16)  # a lease lasts 15
        await quiet(two)
        hung.go_on()  # like a laptop that wakes up: it answers, too late
        await hung_run

        turn = await two.turns.get(question.turn_id)
        print(f"{turn.state} at attempt {turn.attempt}: {turn.reply}")
        for message in await two.messages("chat:anna"):
            print(f"{message.role:>9}: {message.content}")
        print(f"broken invariants: {len(await two.audit())}")


with tempfile.TemporaryDirectory() as folder:
    asyncio.run(main(f"sqlite:///{Path(folder, 'agent.db')}"))

# It prints:
# done at attempt 2: Yes, I am here.
#      user: Are you there?
# assistant: Yes, I am here.
# broken invariants: 0
