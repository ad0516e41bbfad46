"""Two workers on one file. One falls silent in the middle of a turn, the other takes over."""

import asyncio
import tempfile
from pathlib import Path

from segue import Kernel
from segue.testing import ManualClock, ScriptedAgent, quiet


async def main(database: str) -> None:
    clock = ManualClock()
    silent, awake = ScriptedAgent(), ScriptedAgent()  # both report their tools: see docs/guides/crashes.md
    silent.script("Sorry, I was asleep.")
    awake.script("Yes, I am here.")
    async with (
        Kernel(database, agent=silent, clock=clock, name="one") as one,
        Kernel(database, agent=awake, clock=clock, name="two") as two,
    ):
        silent.pause()
        question = await one.receive("chat:anna", "Is anybody there?")
        asleep = asyncio.create_task(quiet(one))
        await silent.under_way()
        clock.advance(seconds=16)  # a lease is for 15
        await quiet(two)
        silent.go_on()  # as a laptop that was closed and is opened again: it answers, too late
        await asleep

        turn = await two.turn(question.turn_id)
        print(f"{turn.state} at attempt {turn.attempt}: {turn.reply}")
        for message in await two.messages("chat:anna"):
            print(f"{message.role:>9}: {message.content}")
        print(f"broken invariants: {len(await two.audit())}")


with tempfile.TemporaryDirectory() as folder:
    asyncio.run(main(f"sqlite:///{Path(folder, 'agent.db')}"))

# It prints:
# done at attempt 2: Yes, I am here.
#      user: Is anybody there?
# assistant: Yes, I am here.
# broken invariants: 0
