"""A conversation in the terminal, with a job that runs in it. An empty line or Ctrl-C ends it."""

import asyncio
import sys
from contextlib import suppress

from segue import Ask, Channel, Delivery, Every, Kernel, OpenTurn, Receipt


class Terminal(Channel):
    name = "terminal"

    async def send(self, delivery: Delivery) -> Receipt:
        print(f"{delivery.source.label if delivery.source else 'agent'}> {delivery.content}", flush=True)
        return Receipt()


async def agent(turn: OpenTurn) -> str:  # call a model here; this agent only says what it sees
    by_job = [message.source is not None for message in await turn.history()]
    return f"I was asked {turn.text!r}. I see {len(by_job)} messages before it, {sum(by_job)} by the job."


async def main() -> None:
    typed: asyncio.Queue[str] = asyncio.Queue()
    kernel = Kernel("sqlite://:memory:", agent=agent, channels=[Terminal()])
    async with kernel, asyncio.TaskGroup() as tasks:
        await kernel.schedule("terminal:you", Every(3), Ask("Look in."), name="job")
        running = tasks.create_task(kernel.run())
        if sys.stdin.isatty():
            asyncio.get_running_loop().add_reader(sys.stdin, lambda: typed.put_nowait(sys.stdin.readline()))
        else:  # no terminal: play a script
            for seconds, line in (0, "Hello!"), (5, "What did I miss?"), (7, ""):
                asyncio.get_running_loop().call_later(seconds, typed.put_nowait, line)
        while line := (await typed.get()).strip():
            await kernel.receive("terminal:you", line)
        running.cancel()


with suppress(KeyboardInterrupt):
    asyncio.run(main())
