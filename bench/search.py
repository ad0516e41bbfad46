"""Message search: how fast messages are indexed, and how long a search takes.

Run it with `python -m bench.search --messages 1000000`, perhaps with `--database URL` for an empty database.
With `--by-sql`, PostgreSQL gets the messages with their terms by SQL, and the indexer is not measured. Half
of the messages are of one user, the others of a hundred users. Words are drawn by Zipf's law.
"""

import argparse
import asyncio
import random
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from tempfile import TemporaryDirectory
from time import perf_counter

from bench.measure import percentile
from bench.search_fill import fill_postgres
from segue import Kernel, Owner
from segue.kernel.api.context import OPERATOR
from segue.model.records import Asker
from segue.store import queries
from segue.store.database import Params, Transaction
from segue.testing import ScriptedAgent

_VOCABULARY = 50_000
_PER_SESSION = 100
_USERS = 100
_SEARCHES = 200
_AT_ONCE = 100
"""Sessions in one write."""
_CHINESE_TEXTS = 5_000
_SYLLABLES = [
    *("ba", "de", "fi", "go", "hu", "ka", "le", "mi", "no", "pu"),
    *("ra", "se", "ti", "vo", "zu", "sha"),
]
_HAN = "天气很好明日会议项目计划进度报告问题解决方案客户数据服务部署回滚测试版本更新系统"
_EVENT = queries.translate(
    "search.event",
    """
    INSERT INTO events (session_id, seq, type, at, role, content)
    VALUES (:session_id, :seq, 'message', :at, :role, :content)
    """,
)


class Words:
    """A vocabulary in which a few words are very frequent, and most are rare."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self.all = list(
            {"".join(rng.choices(_SYLLABLES, k=rng.randint(1, 5))) for _ in range(2 * _VOCABULARY)}
        )
        self.all = sorted(self.all, key=len)[:_VOCABULARY]
        self._weights = list(accumulate(1 / rank for rank in range(1, len(self.all) + 1)))

    def chinese(self) -> str:
        return "".join(self._rng.choices(_HAN, k=40))

    def text(self) -> str:
        if self._rng.random() < 0.1:
            return self.chinese()
        return " ".join(self._rng.choices(self.all, cum_weights=self._weights, k=self._rng.randint(5, 50)))


def main() -> None:
    options = _options()
    with TemporaryDirectory() as folder:
        url = options.database or f"sqlite:///{folder}/search.db"
        asyncio.run(_measure(url, options.messages, by_sql=options.by_sql))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.search", description=__doc__)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--database", help="the URL of an empty database; a SQLite file if unset")
    parser.add_argument("--by-sql", action="store_true", help="fill PostgreSQL by SQL, without the indexer")
    return parser.parse_args()


async def _measure(url: str, messages: int, *, by_sql: bool) -> None:
    rng = random.Random(7)
    words = Words(rng)
    async with Kernel(url, agent=ScriptedAgent()) as kernel:
        if by_sql:
            await _fill_by_sql(kernel, url, messages, words)
        else:
            await _fill(kernel, messages, words)
            await _index(kernel, messages)
        everything: list[float] = []
        for name, asker in _askers().items():
            for kind, asked in _queries(words, rng).items():
                times = [await _search(kernel, query, asker) for query in asked]
                everything += times
                print(f"{name:14} {kind:22} {_row(times)}")
        print(f"{'all':37} {_row(everything)}")


async def _index(kernel: Kernel, messages: int) -> None:
    began = perf_counter()
    while await kernel.workers.indexer.step():
        pass
    seconds = perf_counter() - began
    print(f"indexed {messages:,} messages in {seconds:.0f} s, {messages / seconds:,.0f} a second")


def _row(times: Sequence[float]) -> str:
    median, p99 = percentile(times, 50) * 1000, percentile(times, 99) * 1000
    return f"p50 {median:7.1f} ms  p99 {p99:7.1f} ms  max {max(times) * 1000:7.1f} ms"


def _askers() -> dict[str, Asker]:
    return {
        "a large user": Owner("default", "large"),
        "a small user": Owner("default", "u1"),
        "operator": OPERATOR,
    }


def _queries(words: Words, rng: random.Random) -> dict[str, list[str]]:
    frequent, rare = words.all[:100], words.all[1_000:]
    kinds: dict[str, Callable[[], str]] = {
        "a frequent word": lambda: rng.choice(frequent),
        "a rare word": lambda: rng.choice(rare),
        "two frequent words": lambda: " ".join(rng.sample(frequent, 2)),
        "frequent and rare": lambda: f"{rng.choice(frequent)} {rng.choice(rare)}",
        "two rare words": lambda: " ".join(rng.sample(rare, 2)),
        "three letters": lambda: rng.choice(words.all)[:3],
        "two Chinese characters": lambda: "".join(rng.sample(_HAN, 2)),
        "one Chinese character": lambda: rng.choice(_HAN),
    }
    return {kind: [make() for _ in range(_SEARCHES)] for kind, make in kinds.items()}


async def _search(kernel: Kernel, query: str, asker: Asker) -> float:
    began = perf_counter()
    await kernel.log.search(query, owner=asker)
    return perf_counter() - began


async def _fill_by_sql(kernel: Kernel, url: str, messages: int, words: Words) -> None:
    began = kernel.clock.ms() - messages * 1000
    sessions: dict[int, tuple[str, Owner]] = {}
    for first in range(0, messages // _PER_SESSION, _AT_ONCE):
        numbers = range(first, min(first + _AT_ONCE, messages // _PER_SESSION))
        opened = await asyncio.gather(*(_open(kernel, number) for number in numbers))
        sessions.update(zip(numbers, opened, strict=True))
    chinese = [words.chinese() for _ in range(_CHINESE_TEXTS)]
    await fill_postgres(url, sessions, _PER_SESSION, began, words.all, chinese)


async def _open(kernel: Kernel, number: int) -> tuple[str, Owner]:
    owner = Owner("default", "large" if number % 2 else f"u{number // 2 % _USERS}")
    return (await kernel.sessions.open(f"websocket:{number}", owner=owner)).session.id, owner


async def _fill(kernel: Kernel, messages: int, words: Words) -> None:
    began = kernel.clock.ms() - messages * 1000
    wanted = messages // _PER_SESSION
    for first in range(0, wanted, _AT_ONCE):
        numbers = range(first, min(first + _AT_ONCE, wanted))
        sessions = {number: (await _open(kernel, number))[0] for number in numbers}
        await kernel.store.commit(_insert, list(_events(sessions, began, words)))


def _events(sessions: dict[int, str], began: int, words: Words) -> Iterator[Params]:
    for number, session_id in sessions.items():
        for seq in range(1, _PER_SESSION + 1):
            yield {
                "session_id": session_id,
                "seq": seq,
                "at": began + (number * _PER_SESSION + seq) * 1000,
                "role": "user" if seq % 2 else "assistant",
                "content": words.text(),
            }


def _insert(events: list[Params]) -> Transaction[None]:
    yield _EVENT, events
    for session_id in {event["session_id"]: None for event in events}:
        yield queries.activity.logged, {"session_id": session_id, "now": 0, "job_said_at": 0}


if __name__ == "__main__":
    main()
