"""When a conversation has been quiet for ten minutes, call a function: here, one that takes notes."""

import asyncio

from segue import Call, Idle, Kernel, OpenTurn
from segue.testing import ManualClock, quiet

notes: dict[str, list[str]] = {}


async def agent(turn: OpenTurn) -> str:
    return f"I heard: {turn.text}"


async def take_notes(turn: OpenTurn, only: str) -> str:
    """Runs as a turn of the session, so no other turn runs at the same time. It adds no message."""
    messages = [message.content for message in await turn.history() if message.role == only]
    notes[turn.session.key] = messages
    return f"{len(messages)} notes"


async def main() -> None:
    clock = ManualClock()
    functions = {"take_notes": take_notes}
    async with Kernel("sqlite://:memory:", agent=agent, functions=functions, clock=clock) as kernel:
        await kernel.schedule("chat:anna", Idle(600), Call("take_notes", {"only": "user"}))
        for words in "I moved to Lisbon.", "I like the trams.", "Good night.":
            await kernel.receive("chat:anna", words)
            clock.advance(minutes=8)
            await quiet(kernel)  # never ten minutes of silence
        assert not notes
        clock.advance(minutes=2)
        await quiet(kernel)
        print(notes["chat:anna"])
        clock.advance(days=1)
        await quiet(kernel)
        print(f"called {len(await kernel.runs.list('chat:anna'))} time; the next message arms it again")


asyncio.run(main())

# It prints:
# ['I moved to Lisbon.', 'I like the trams.', 'Good night.']
# called 1 time; the next message arms it again
