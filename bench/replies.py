"""Replies: how long an order to a job takes, from the message to the commit.

Run it with `python -m bench.replies`, perhaps with `--database URL` for an empty database and `--acts N`.
"""

import argparse
import asyncio
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

from bench.measure import percentile
from segue import Ask, Cron, Kernel
from segue.kernel.transactions.replies import Acted
from segue.model.records import message_id
from segue.testing import ManualClock, ScriptedAgent, quiet

_KEY = "web:replies"
_WORDS = ("stop", "go on", "snooze 1h", "make it 8", "skip", "done", "every two hours", "why?")


async def _measure(database: str, acts: int) -> list[tuple[float, float]]:
    """Milliseconds of each act: on the clock, and of the processor, which other programs do not lengthen."""
    clock, agent = ManualClock(), ScriptedAgent()
    async with Kernel(database, agent=agent, clock=clock) as kernel:
        await kernel.schedule(_KEY, Cron("0 10 * * *", tz="UTC"), Ask("Report."), name="report")
        clock.advance(hours=1)
        await quiet(kernel)
        session = await kernel.sessions.get(_KEY)
        quoted = message_id(session.id, (await kernel.messages(_KEY))[-1].seq)
        took = []
        for number in range(acts + len(_WORDS)):
            began = perf_counter(), process_time()
            done = await kernel.replies.take(_KEY, _WORDS[number % len(_WORDS)], reply_to=quoted)
            took.append(((perf_counter() - began[0]) * 1000, (process_time() - began[1]) * 1000))
            assert isinstance(done, Acted)
        assert len(agent.asked) == 1, "no model call"
    return took[len(_WORDS) :]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database")
    parser.add_argument("--acts", type=int, default=1000)
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        took = asyncio.run(_measure(given.database or f"sqlite:///{folder}/replies.db", given.acts))
    for name, figures in zip(("on the clock", "of the processor"), zip(*took, strict=True), strict=True):
        middle, high = percentile(figures, 50), percentile(figures, 99)
        print(f"{len(took)} acts, {name}: p50 {middle:.1f} ms, p99 {high:.1f} ms; 0 model calls")


if __name__ == "__main__":
    main()
