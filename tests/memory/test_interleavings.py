"""No message is lost: appends, turns and commits of one session, interleaved at random, on both databases.

In each round some of them come at once. The log has every acknowledged message once and in order; the
archives and the unarchived part cover the log without gap or overlap; and the counters agree.
"""

import asyncio
import os
import random
from collections.abc import Awaitable, Callable

from segue import Kernel
from segue.kernel.transactions import settle
from segue.kernel.transactions.lane import Pool
from segue.kernel.transactions.lease import HeldLane, lease
from segue.kernel.transactions.memory.archive import ArchiveMade
from segue.model import closure
from tests.flows.house import OpenKernel
from tests.leases import terms_of

LONG = bool(os.environ.get("SEGUE_LONG"))
ROUNDS = 10_000 if LONG else 60
ROUNDS_PER_SESSION = 25


class Talk:
    """One session, and the messages whose storage was acknowledged."""

    def __init__(self, kernel: Kernel, key: str, rng: random.Random) -> None:
        self.kernel = kernel
        self.key = key
        self._rng = rng
        self._count = 0
        self.stored: list[str] = []
        self._held: list[HeldLane] = []

    async def round(self) -> None:
        """Several calls at once, in any order."""
        calls = [self._call() for _ in range(self._rng.randint(2, 7))]
        await asyncio.gather(*(call() for call in calls))

    def _call(self) -> Callable[[], Awaitable[None]]:
        calls = [self._write, self._write, self._write_some, self._commit, self._commit, self._take_turn]
        return self._rng.choice(calls if not self._held else [*calls, self._end_turn])

    async def _write(self) -> None:
        word = self._word()
        await self.kernel.log.write(self.key, self._rng.choice(["user", "assistant"]), word)
        self.stored.append(word)

    async def _write_some(self) -> None:
        words = [self._word() for _ in range(self._rng.randint(1, 4))]
        await self.kernel.log.write_all(self.key, [("user", word) for word in words])
        self.stored += words

    async def _commit(self) -> None:
        await self.kernel.memory.commit(self.key, keep_recent_count=self._rng.choice([0, 0, 1, 3, 10]))

    async def _take_turn(self) -> None:
        word = self._word()
        await self.kernel.receive(self.key, word)
        for held in await self._leased():
            self.stored.append(held.turn.content)
            self._held.append(held)

    async def _leased(self) -> list[HeldLane]:
        kernel = self.kernel
        leased = await kernel.store.commit(
            lease,
            terms_of(kernel.name, lease_ms=600_000, lease_now=0),
            pool=Pool.USER,
            after="",
            limit=1,
            now=kernel.clock.ms(),
        )
        return [*leased.value.held]

    async def _end_turn(self) -> None:
        if not self._held:
            return
        held, word = self._held.pop(), self._word()
        ending = closure.answered(word, {})
        await self.kernel.store.commit(settle.settle, held, ending, self.kernel.clock.ms())
        self.stored.append(word)

    async def come_to_rest(self) -> None:
        while self._held:
            await self._end_turn()
        while held := await self._leased():
            self.stored += [one.turn.content for one in held]
            self._held += held
            await self._end_turn()

    def _word(self) -> str:
        self._count += 1
        return f"word {self._count}"


async def nothing_is_lost(kernel: Kernel, talk: Talk) -> None:
    log = [message.content for message in await kernel.messages(talk.key, limit=100_000)]
    assert sorted(log) == sorted(talk.stored)
    session = await kernel.sessions.get(talk.key)
    archives = await kernel.memory.archives(talk.key, limit=100_000)
    put_away = [
        message.content
        for archive in reversed(archives)
        for message in await kernel.memory.archived_messages(talk.key, archive.n)
    ]
    live = [
        m.content for m in await kernel.messages(talk.key, after=session.live.archived_seq, limit=100_000)
    ]
    assert put_away + live == log
    assert session.live.messages == len(live)


async def test_interleaved_at_random_nothing_is_lost_and_nothing_is_twice(open_kernel: OpenKernel) -> None:
    """A10.6, DESIGN 3.7."""
    rng = random.Random(7)
    kernel = await open_kernel()
    for number in range(max(1, ROUNDS // ROUNDS_PER_SESSION)):
        talk = Talk(kernel, f"web:{number}", rng)
        await kernel.log.write(talk.key, "user", "first")
        talk.stored.append("first")
        for _ in range(ROUNDS_PER_SESSION):
            await talk.round()
        await talk.come_to_rest()
        await nothing_is_lost(kernel, talk)
        if number % 20 == 0:
            assert not await kernel.audit()
    assert not await kernel.audit()


async def test_two_commits_at_once_make_one_archive(kernel: Kernel) -> None:
    """A10.1, A10.4: under the row's lock, and a commit of nothing is none."""
    await kernel.log.write_all("web:1", [("user", "one"), ("user", "two")])
    done = await asyncio.gather(*(kernel.memory.commit("web:1") for _ in range(20)))
    assert len([one for one in done if isinstance(one, ArchiveMade)]) == 1
    assert len(await kernel.memory.archives("web:1")) == 1
