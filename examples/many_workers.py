"""Several workers on one PostgreSQL, each with its own kernel, as on separate machines.

Its argument is the address of a database: postgresql://user@host/name
"""

import asyncio
import sys
from collections import Counter
from contextlib import AsyncExitStack

from segue import Kernel, OpenTurn

answered: Counter[str] = Counter()


def worker(database: str, name: str) -> Kernel:
    async def agent(turn: OpenTurn) -> str:
        answered[name] += 1
        return f"{turn.text}, and I remember {len(await turn.history())} messages"

    return Kernel(database, agent=agent, name=name)


async def main(database: str) -> None:
    async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
        workers = [await stack.enter_async_context(worker(database, f"worker {n}")) for n in range(3)]
        running = [group.create_task(kernel.run()) for kernel in workers]
        first, *_ = workers
        for question in "one", "two", "three":
            turns = [await first.receive(f"chat:{n}", f"Question {question}") for n in range(20)]
        await asyncio.gather(*(first.wait(turn.turn_id) for turn in turns))
        for task in running:
            task.cancel()
        print(f"{answered.total()} turns by {len(workers)} workers; in one of the 20 conversations:")
        for message in await first.messages("chat:7"):
            print(f"{message.role:>9}: {message.content}")


usage = "give the address of a database: postgresql://user@host/name"
asyncio.run(main(sys.argv[1] if len(sys.argv) == 2 else sys.exit(usage)))

# It prints:
# 60 turns by 3 workers; in one of the 20 conversations:
#      user: Question one
# assistant: Question one, and I remember 0 messages
#      user: Question two
# assistant: Question two, and I remember 2 messages
#      user: Question three
# assistant: Question three, and I remember 4 messages
