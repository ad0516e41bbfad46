"""Memory search: how often the right passage is found, beside plain BM25, and how long a search takes.

Run it with `python -m bench.memory`. The questions that are set aside are asked only with `--set-aside`.
"""

import argparse
import asyncio
import gc
import math
import re
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from operator import mul
from pathlib import Path
from time import process_time
from typing import NamedTuple, TypeAlias

import asyncpg

from bench.environment import open_environment
from bench.measure import percentile
from bench.question_set import LANGUAGES, NOW, Exchange, Question, distractors, everything, read
from segue import Kernel
from segue.kernel.transactions.memory import learn
from segue.memory.embedding import Embedder
from segue.model.memory import Memory, MemoryKind
from segue.model.records import Owner
from segue.store import queries
from segue.store.database import Params, Transaction
from segue.store.rows import memory as memory_rows
from segue.testing import ManualClock, ScriptedAgent, quiet
from segue.times.clock import to_ms

Found: TypeAlias = Sequence[str]
"""The ids of the exchanges that were found, the best first."""
_AT_ONCE = 200
_BACKENDS = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


def main() -> None:
    options = _options()
    asyncio.run(_recall(_embedder(options.embedder), set_aside=options.set_aside, missed=options.missed))
    if options.passages:
        _latency(options.passages)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.memory", description=__doc__)
    parser.add_argument("--set-aside", action="store_true", help="ask the questions that are set aside")
    parser.add_argument("--missed", action="store_true", help="print the questions that were not answered")
    parser.add_argument(
        "--embedder", metavar="MODULE:NAME", help="measure with this embedder, a function that returns one"
    )
    parser.add_argument(
        "--passages", type=int, action="append", metavar="N", help="measure the latency at N passages as well"
    )
    return parser.parse_args()


def _embedder(name: str | None) -> Embedder | None:
    if name is None:
        return None
    module, _, made = name.partition(":")
    embedder: Embedder = getattr(import_module(module), made)()
    return embedder


async def _recall(embedder: Embedder | None, *, set_aside: bool, missed: bool) -> None:
    exchanges = everything()
    asked = [question for language in LANGUAGES for question in read(language)[1]]
    asked = [question for question in asked if question.set_aside is set_aside]
    plain = Bm25(exchanges)
    async with remembering("sqlite://:memory:", exchanges) as kernel:
        ours = {question: await _found(kernel, question, exchanges) for question in asked}
        with_vectors, by_vectors = ours, dict[Question, Found]()
        if embedder is not None:
            by_vectors = await _nearest(embedder, asked, exchanges)
            kernel.memory_reader.embedder = embedder
            await kernel.memory.embed_missing()
            with_vectors = {question: await _found(kernel, question, exchanges) for question in asked}
    print(f"{len(exchanges):,} passages, questions {'set aside' if set_aside else 'to work with'}\n")
    print(f"{'':28}{'questions':>10}{'recall@5':>10}{'recall@10':>11}")
    for language in (*LANGUAGES, "both"):
        some = [question for question in asked if language in (question.language, "both")]
        _row(f"{language}, BM25", some, {question: plain.search(question.text) for question in some})
        _row(f"{language}, Segue", some, ours)
        if embedder is not None:
            _row(f"{language}, {embedder.name}", some, by_vectors)
            _row(f"{language}, Segue with it", some, with_vectors)
    for question in asked if missed else ():
        if question.evidence not in ours[question]:
            print(f"missed {question.evidence}: {question.text}")


async def _found(kernel: Kernel, question: Question, exchanges: Sequence[Exchange]) -> Found:
    """The ids of the exchanges that were found. A memory that was learned from an exchange stands for it."""
    evidence = next(each for each in exchanges if each.id == question.evidence)
    found = []
    for each in await kernel.memory.search(question.text, limit=10):
        content = each.memory.content
        learned = each.memory.kind is not MemoryKind.PASSAGE and content in evidence.user
        found.append(evidence.id if learned or content == evidence.passage else "another")
    return found


async def _nearest(
    embedder: Embedder, asked: Sequence[Question], exchanges: Sequence[Exchange]
) -> dict[Question, Found]:
    """What is found by the cosine of the vectors alone."""
    vectors = await embedder.embed([each.passage for each in exchanges])
    wanted = await embedder.embed([question.text for question in asked])
    found: dict[Question, Found] = {}
    for question, vector in zip(asked, wanted, strict=True):
        near = [(_cosine(vector, other), each.id) for each, other in zip(exchanges, vectors, strict=True)]
        found[question] = [name for _, name in sorted(near, reverse=True)[:10]]
    return found


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return math.fsum(map(mul, one, other)) / (math.hypot(*one) * math.hypot(*other))


def _row(name: str, asked: Sequence[Question], found: dict[Question, Found]) -> None:
    at_5, at_10 = (
        sum(question.evidence in found[question][:first] for question in asked) / len(asked)
        for first in (5, 10)
    )
    print(f"{name:28}{len(asked):10}{at_5:10.3f}{at_10:11.3f}")


@asynccontextmanager
async def remembering(url: str, exchanges: Sequence[Exchange]) -> AsyncIterator[Kernel]:
    """A kernel that has archived these exchanges, each on its day, and is asked afterwards."""
    clock = ManualClock(exchanges[0].at)
    async with Kernel(url, agent=ScriptedAgent(), clock=clock) as kernel:
        for each in exchanges:
            clock.set(each.at)
            said = [("user", each.user), ("assistant", each.assistant)]
            await kernel.log.write_all(f"bench:{each.conversation}", said)
        clock.set(NOW)
        for conversation in sorted({each.conversation for each in exchanges}):
            await kernel.memory.commit(f"bench:{conversation}")
        await quiet(kernel)
        yield kernel


class Bm25:
    """Plain BM25 over lower-case words: no stems, no stop words, no dates, no neighbours."""

    def __init__(self, exchanges: Sequence[Exchange]) -> None:
        self._counts = {each.id: Counter(_words(each.passage)) for each in exchanges}
        self._lengths = {name: counts.total() for name, counts in self._counts.items()}
        self._mean = sum(self._lengths.values()) / len(self._lengths)
        with_word = Counter(word for counts in self._counts.values() for word in counts)
        size = len(exchanges)
        self._rarity = {word: math.log(1 + (size - n + 0.5) / (n + 0.5)) for word, n in with_word.items()}

    def search(self, query: str) -> Found:
        words = [word for word in set(_words(query)) if word in self._rarity]
        scores = {name: self._score(name, words) for name in self._counts}
        return sorted((name for name in scores if scores[name]), key=lambda name: -scores[name])[:10]

    def _score(self, name: str, words: Sequence[str]) -> float:
        counts, length = self._counts[name], self._lengths[name] / self._mean
        return sum(
            self._rarity[word] * counts[word] * 2.5 / (counts[word] + 1.5 * (0.25 + 0.75 * length))
            for word in words
            if counts[word]
        )


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _latency(sizes: Sequence[int]) -> None:
    print(f"\n{'a search, ms of processor':28}{'passages':>10}{'p50':>10}{'p99':>11}{'database p99':>14}")
    with open_environment(short=False) as env:
        for size in sizes:
            with env.folder() as folder:
                _timed("SQLite", f"sqlite:///{folder}/memory.db", size)
            with env.database() as url:
                _timed("PostgreSQL", url, size)


def _timed(kind: str, url: str, size: int) -> None:
    without, with_statistics = asyncio.run(_searches(url, size))
    _timed_row(kind, size, without)
    if with_statistics:
        _timed_row(f"{kind}, after ANALYZE", size, with_statistics)


def _timed_row(kind: str, size: int, taken: "Sequence[Spent]") -> None:
    whole, database = [each.whole for each in taken], [each.database for each in taken]
    print(
        f"{kind:28}{size:10,}{percentile(whole, 50):10.1f}{percentile(whole, 99):11.1f}"
        + (f"{percentile(database, 99):14.1f}" if any(database) else "")
    )


class Spent(NamedTuple):
    """Milliseconds of processor."""

    whole: float
    database: float
    """Of PostgreSQL's processes; SQLite works in this one."""


async def _searches(url: str, size: int) -> tuple[list[Spent], list[Spent]]:
    """What searches take in a database without statistics, and with them."""
    exchanges = [*(each for language in LANGUAGES for each in read(language)[0])]
    more = (size - len(exchanges) + 1) // 2
    exchanges += [each for language in LANGUAGES for each in distractors(language, more)]
    async with _filled(url, exchanges[:size]) as kernel:
        await kernel.memory.search("the first search loads what it needs, last summer")
        gc.collect()
        gc.freeze()  # the exchanges are of the bench: a collection that visits them is not of a search
        if not url.startswith("postgresql"):
            return await _spent(kernel, []), []
        async with asyncpg.create_pool(url, min_size=1, max_size=1) as beside:
            backends = [row["pid"] for row in await beside.fetch(_BACKENDS)]
            without = await _spent(kernel, backends)
            await beside.execute("VACUUM ANALYZE")
            return without, await _spent(kernel, backends)


async def _spent(kernel: Kernel, backends: Sequence[int]) -> list[Spent]:
    taken = []
    for question in (question for language in LANGUAGES for question in read(language)[1]):
        own, others = process_time(), _processor(backends)
        await kernel.memory.search(question.text)
        database = _processor(backends) - others
        taken.append(Spent((process_time() - own) * 1000 + database, database))
    return taken


def _processor(processes: Sequence[int]) -> float:
    """The milliseconds of processor that these processes of Linux have used."""
    return sum(int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) for pid in processes) / 1e6


@asynccontextmanager
async def _filled(url: str, exchanges: Sequence[Exchange]) -> AsyncIterator[Kernel]:
    """A kernel whose passages are stored at once: archiving so many takes hours and is not measured."""
    async with Kernel(url, agent=ScriptedAgent(), clock=ManualClock(NOW)) as kernel:
        for first in range(0, len(exchanges), _AT_ONCE):
            some = enumerate(exchanges[first : first + _AT_ONCE], first)
            memories = [_passage(each, number) for number, each in some]
            terms = [params for memory in memories for params in learn.term_params(memory)]
            await kernel.store.commit(_keep, memories, terms)
        yield kernel


def _passage(exchange: Exchange, number: int) -> Memory:
    at = to_ms(exchange.at)
    return Memory(
        id=f"passage-{number:07}",
        owner=Owner("default", "default"),
        kind=MemoryKind.PASSAGE,
        topic=f"passage {number}",
        content=exchange.passage,
        confidence=100,
        session_id=exchange.conversation,
        archive_n=1,
        source_seq=number,
        created_at=at,
        updated_at=at,
    )


def _keep(memories: Sequence[Memory], terms: list[Params]) -> Transaction[None]:
    """The terms are found before: on a busy machine that takes longer than a transaction may be idle."""
    yield queries.memories.keep, [memory_rows.memory_params(memory) for memory in memories]
    yield queries.memories.add_term, terms


if __name__ == "__main__":
    main()
