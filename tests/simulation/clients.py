"""Clients of a scenario: they call the public methods and record what they were promised.

A call is made on some host and is lost with it: only what was answered is a promise.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from segue.errors import Conflict, Invalid, NotFound, StoreError
from segue.kernel.kernel import Kernel
from segue.kernel.transactions.lane import QueuedTurn
from segue.model.action import Action, Ask, Call, Say
from segue.model.conditions.vocabulary import Condition, If, Otherwise, Since
from segue.model.cost.budget import Budget, BudgetUnit, Over, Per
from segue.model.policy import Busy, Crash, Late, Overlap, Policy
from segue.model.quiet.choices import Quiet, Tell
from segue.model.records import Job, Owner, message_id
from segue.model.states import JobKind, WhenBusy
from segue.times.clock import to_moment
from segue.times.trigger import At, Cron, Every, Idle, Phase, Trigger

if TYPE_CHECKING:
    from tests.simulation.scenario import Machine, Scenario

RUNS_A_DAY = Budget(BudgetUnit.RUNS, 2, Per.DAY)
TOKENS_A_DAY = Budget(BudgetUnit.TOKENS, 20_000, Per.DAY, Over.ASK)
UNANSWERED = (Condition(test=If.UNANSWERED, since=Since.CREATED),)
SILENCE = (Condition(test=If.QUIET, for_seconds=5),)
CONTROLS = (
    *(
        "stop",
        "go on",
        "skip",
        "snooze 1 minute",
        "snooze 2m",
        "make it 8",
        "every two hours",
        "why?",
        "done",
    ),
    *("make it shorter", "snooze 0"),
)
"""Replies to a job's message."""

EXPECTED = (Conflict, Invalid, NotFound, StoreError)
"""Errors that a call may raise instead."""


@dataclass
class Promise:
    """A job that was accepted."""

    job: Job
    owner: Owner
    key: str
    touched: bool = False
    """A client tried to change it: its slots may no longer be those of its first trigger."""
    removed_at: float | None = None


@dataclass
class Clients:
    scenario: "Scenario"
    turns: dict[str, tuple[Owner, str, str]] = field(default_factory=dict)
    """Accepted messages: owner, session key, text."""
    jobs: dict[str, Promise] = field(default_factory=dict)
    cancelled: dict[str, float] = field(default_factory=dict)
    deleted: set[tuple[Owner, str]] = field(default_factory=set)
    """Sessions that a client tried to delete, whether or not an answer came."""
    waiting: list[tuple["Machine", str, "asyncio.Task[None]"]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    acts: int = 0
    """Replies that were done at once."""
    _said: int = 0

    @property
    def rng(self) -> random.Random:
        return self.scenario.rng

    def act(self) -> None:
        """Make a random call on a random machine."""
        machine = self.scenario.anyone()
        if machine is None:
            return
        verbs: list[tuple[int, Callable[[Kernel], Awaitable[None]]]] = [
            (12, self._talk),
            (8, self._schedule),
            (2, self._pause),
            (1, self._resume),
            (1, self._skip),
            (2, self._edit),
            (2, self._remove),
            (2, self._stop),
            (2, self._cancel),
            (1, self._delete),
            (1, self._write),
            (6, self._reply),
            (3, self._keep_quiet),
            (1, self._send_held),
        ]
        (verb,) = self.rng.choices([verb for _, verb in verbs], [weight for weight, _ in verbs])
        machine.host.start(self._try(machine, verb))

    async def _try(self, machine: "Machine", verb: Callable[[Kernel], Awaitable[None]]) -> None:
        try:
            await verb(machine.kernel)
        except EXPECTED:
            pass
        except Exception as error:
            self.wrong.append(f"{verb.__name__} on {machine.host.name} raised {error!r}")

    def _anywhere(self) -> tuple[Owner, str]:
        return self.rng.choice(self.scenario.plan.sessions)

    async def _talk(self, kernel: Kernel) -> None:
        owner, key = self._anywhere()
        mode = self.rng.choice((None, *WhenBusy))
        self._said += 1
        words = f"words {self._said}"
        stays = self.rng.random() < 0.3
        admitted = await kernel.receive(key, words, owner=owner, when_busy=mode)
        self.turns[admitted.turn_id] = (owner, key, words)
        if stays:
            machine = next(one for one in self.scenario.machines if one.kernel is kernel)
            waiting = machine.host.start(self._wait(kernel, admitted.turn_id))
            self.waiting.append((machine, admitted.turn_id, waiting))

    async def _wait(self, kernel: Kernel, turn_id: str) -> None:
        with suppress(*EXPECTED):
            await kernel.wait(turn_id, owner=self.turns[turn_id][0])

    async def _write(self, kernel: Kernel) -> None:
        owner, key = self._anywhere()
        await kernel.log.write(key, "user", "a note", owner=owner)

    async def _reply(self, kernel: Kernel) -> None:
        """Answer a job's message, quoted or not, with a word that may order something."""
        about = self._some_job()
        owner, key = about.owner, about.key
        word = self.rng.choice(CONTROLS)
        quotes = self.rng.random() < 0.7
        for promise in self.jobs.values():
            promise.touched |= (promise.owner, promise.key) == (owner, key)
        session = await kernel.sessions.get(key, owner=owner)
        messages = await kernel.messages(session, limit=500)
        said = [each for each in messages if each.source and each.role == "assistant"]
        quoted = self.rng.choice(said) if said and quotes else None
        reply_to = message_id(session.id, quoted.seq) if quoted else None
        taken = await kernel.replies.take(key, word, reply_to=reply_to, owner=owner)
        if isinstance(taken, QueuedTurn):
            self.turns[taken.turn_id] = (owner, key, word)
            return
        self.acts += 1
        if quoted and quoted.source and taken.job_id != quoted.source.job_id:
            self.wrong.append(f"{word!r} to {quoted.source.job_id} acted on {taken.job_id}")

    async def _keep_quiet(self, kernel: Kernel) -> None:
        """Set or clear quiet hours, which are open now, and a digest."""
        owner, key = self._anywhere()
        now = to_moment(self.scenario.now_ms())
        ends = now + timedelta(minutes=self.rng.choice((1, 2)))
        night = {"from": f"{now:%H:%M}", "to": f"{ends:%H:%M}"}
        await kernel.sessions.update(
            key,
            owner=owner,
            timezone="UTC",
            quiet=self.rng.choice((None, night, night)),
            digest=self.rng.choice((None, {"every_seconds": 60})),
        )

    async def _send_held(self, kernel: Kernel) -> None:
        owner, key = self._anywhere()
        await kernel.sessions.send_held(key, owner=owner)

    async def _stop(self, kernel: Kernel) -> None:
        owner, key = self._anywhere()
        await kernel.turns.stop(key, owner=owner)

    async def _cancel(self, kernel: Kernel) -> None:
        if self.turns:
            turn_id = self.rng.choice(list(self.turns))
            await kernel.turns.cancel(turn_id, owner=self.turns[turn_id][0])
            self.cancelled[turn_id] = self.scenario.loop.time()

    async def _delete(self, kernel: Kernel) -> None:
        owner, key = self._anywhere()
        self.deleted.add((owner, key))
        await kernel.sessions.delete(key, owner=owner, with_jobs=self.rng.random() < 0.7)

    async def _schedule(self, kernel: Kernel) -> None:
        owner, key = self._anywhere()
        action = self._action()
        recall = isinstance(action, Ask) and self.rng.random() < 0.3
        job = await kernel.schedule(
            key,
            self._trigger(),
            action,
            owner=owner,
            policy=self._policy(),
            kind=JobKind.RECALL if recall else None,
        )
        self.jobs[job.id] = Promise(job, owner, key)

    def _action(self) -> Action:
        return self.rng.choice((Ask("What is new?"), Ask("Think.", hidden=True), Say("Hello."), Call("tidy")))

    def _trigger(self) -> Trigger:
        rng = self.rng
        now = to_moment(self.scenario.now_ms())
        match rng.randrange(6):
            case 0 | 1:
                return At(now + timedelta(seconds=rng.uniform(0, 30)))
            case 2:
                return Every(rng.uniform(1, 20))
            case 3:
                return Every(rng.uniform(1, 20), phase=Phase.RELATIVE)
            case 4:
                return Cron("* * * * *", tz="Europe/Berlin")
        return Idle(rng.uniform(1, 20))

    def _policy(self) -> Policy:
        rng = self.rng
        return Policy(
            late=rng.choice(list(Late)),
            grace_seconds=rng.choice((5, 86_400)),
            busy=rng.choice(list(Busy)),
            overlap=rng.choice(list(Overlap)),
            retries=rng.choice((0, 0, 1, 2)),
            jitter_seconds=rng.choice((0, 0, 3)),
            max_runs=rng.choice((None, None, 1, 3)),
            until=to_moment(self.scenario.now_ms()) + timedelta(seconds=rng.uniform(10, 40)),
            timeout_seconds=rng.choice((3, 10)),
            crash=rng.choice(list(Crash)),
            catch_up=rng.choice((1, 10)),
            budget=rng.choice((None, None, None, RUNS_A_DAY, TOKENS_A_DAY)),
            quiet=rng.choice((None, *Quiet)),
            tell=rng.choice(list(Tell)),
            when=rng.choice((None, None, None, UNANSWERED, SILENCE)),
            otherwise=rng.choice((Otherwise.SKIP, Otherwise.END)),
        )

    def _some_job(self) -> Promise:
        if not self.jobs:
            raise NotFound("no job was created yet")
        return self.jobs[self.rng.choice(list(self.jobs))]

    async def _pause(self, kernel: Kernel) -> None:
        promise = self._touch()
        await kernel.jobs.pause(promise.job.id, owner=promise.owner)

    async def _resume(self, kernel: Kernel) -> None:
        promise = self._touch()
        await kernel.jobs.resume(promise.job.id, owner=promise.owner)

    async def _skip(self, kernel: Kernel) -> None:
        promise = self._some_job()
        await kernel.jobs.skip(promise.job.id, owner=promise.owner)

    async def _edit(self, kernel: Kernel) -> None:
        promise = self._touch()
        change = self.rng.randrange(3)
        await kernel.jobs.update(
            promise.job.id,
            owner=promise.owner,
            name="another name" if change == 0 else None,
            trigger=self._trigger() if change == 1 else None,
            policy=self._policy() if change == 2 else None,
        )

    async def _remove(self, kernel: Kernel) -> None:
        promise = self._touch()
        await kernel.jobs.delete(promise.job.id, owner=promise.owner)
        promise.removed_at = self.scenario.loop.time()

    def _touch(self) -> Promise:
        promise = self._some_job()
        promise.touched = True
        return promise
