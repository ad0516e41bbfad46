"""The side of a peer: a process of its own that obeys JSON lines on its input and records every turn in a
file.

It runs in the peer's own environment and so uses the standard library alone. A peer is a subclass of
`Program` in `bench/field/peers`. What it does not override it cannot do; the bench asks for nothing else.

The record has two lines for a turn, one when its code begins and one when it ends: `began LABEL TIME
PROCESS`. All figures about turns are read from it, for every peer in the same way.
"""

import asyncio
import json
import os
import resource
import sys
import time
import traceback
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TextIO, TypeAlias

LATER = 10 * 365 * 86_400.0
"""Jobs that only wait are due in ten years."""
LoopFactory: TypeAlias = Callable[[], asyncio.AbstractEventLoop]


ADDING_SECONDS = 5.0
STREAM = "stream"
"""The message of a client that wants a turn with tokens."""
TOKENS, TOKEN_SECONDS = 10, 0.9


async def tokens() -> AsyncIterator[str]:
    """The answer of a double of a model, a word at a time; the first one takes as long as each."""
    for number in range(TOKENS):
        await asyncio.sleep(TOKEN_SECONDS)
        yield f"word{number} "


@dataclass(frozen=True, slots=True)
class Job:
    """One turn: its number, its session, and the seconds that it waits as if for a model."""

    number: int
    session: int
    seconds: float = 0.0

    @property
    def label(self) -> str:
        """The job as text without spaces: what a peer stores as the arguments of its task."""
        return f"{self.number}:{self.session}:{self.seconds:g}"

    @classmethod
    def of(cls, label: str) -> "Job":
        number, session, seconds = label.split(":")
        return cls(int(number), int(session), float(seconds))


class Record:
    """Appends to the file of turns; one write a line, so that several processes may share it."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    async def turn(self, label: str) -> None:
        """What a turn does where code may be `async`."""
        self._note("began", label)
        if seconds := Job.of(label).seconds:
            await asyncio.sleep(seconds)
        self._note("ended", label)

    def blocking_turn(self, label: str) -> None:
        """What a turn does where each has a thread or process."""
        self._note("began", label)
        if seconds := Job.of(label).seconds:
            time.sleep(seconds)
        self._note("ended", label)

    def _note(self, what: str, label: str) -> None:
        os.write(self._file, f"{what} {label} {time.time():.6f} {os.getpid()}\n".encode())


record_of = cache(Record)
"""The record of this process by its path, for peers that store the arguments of a turn and load its code."""


class Program:
    """The commands of the bench. `store` and `options` are set before `open`."""

    store: str
    record_path: str
    record: Record
    options: dict[str, Any]
    at_once = 1
    """How many jobs are added at the same time where there are many."""

    async def open(self) -> None:
        """Connect, and create the tables if they are not there."""

    async def add(self, job: Job, at: float | None) -> None:
        """Store one job that is due at a time in seconds since 1970, or now."""
        raise NotImplementedError

    async def add_many(self, jobs: Sequence[Job], ats: Sequence[float | None]) -> None:
        """Store many, those of a session one after the other; overridden where a peer has a faster way."""
        width = min(self.at_once, len({job.session for job in jobs}))
        for first in range(0, len(jobs), width):
            part = slice(first, first + width)
            await asyncio.gather(*map(self.add, jobs[part], ats[part]))

    async def fill(self, count: int) -> None:
        """Store so many jobs that are due in the far future."""
        due = time.time() + LATER
        await self.add_many([Job(-1 - number, number // 10) for number in range(count)], [due] * count)

    async def work(self) -> None:
        """Begin to run what is due, and return."""
        raise NotImplementedError

    async def listen(self) -> int:
        """Serve `POST /v1/chat/completions` on loopback, and return the port."""
        raise NotImplementedError

    async def time_adding(self, count: int) -> list[float]:
        """Milliseconds of each of so many calls of `add`, in turn; fewer if they take too long."""
        took: list[float] = []
        for number in range(count):
            if sum(took) > 1000 * ADDING_SECONDS:
                break
            job, due = Job(-1 - number, 7919 * number % 100), time.time() + LATER
            began = time.perf_counter()
            await self.add(job, due)
            took.append(1000 * (time.perf_counter() - began))
        return took


def serve(program: Program, loop_factory: LoopFactory | None = None) -> None:
    """Obey the bench until its end of the pipe is closed."""
    allow_many_connections()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the peer prints must not be taken for an answer
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(_obey(program, answers))
    os._exit(0)  # threads of a peer may wait forever


def allow_many_connections() -> None:
    """As many open files as this process may allow itself."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


async def _obey(program: Program, answers: TextIO) -> None:
    while line := await asyncio.to_thread(sys.stdin.readline):
        command = json.loads(line)
        try:
            answer = {"result": await _carry_out(program, **command)}
        except Exception:
            answer = {"error": traceback.format_exc()}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


async def _carry_out(program: Program, command: str, **given: Any) -> Any:
    match command:
        case "open":
            program.store, program.options = given["store"], given["options"]
            program.record_path, program.record = given["record"], Record(given["record"])
            return await program.open()
        case "add_many":
            return await program.add_many([Job.of(label) for label in given["labels"]], given["ats"])
        case "fill" | "time_adding":
            return await getattr(program, command)(given["count"])
        case "work" | "listen":
            return await getattr(program, command)()
        case _:
            raise ValueError(f"there is no command {command!r}")
