"""The runner: a leased lane, its agent, and the end.

Two of them run in a process, one for the lanes in which a user waits and one for the others, each with
slots of its own: neither starves the other. A runner owns the tasks of its turns.
"""

import asyncio
import logging
import random
import traceback
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from segue import closure, leasing, settle
from segue.action import Ask
from segue.agent import Agent, OpenTurn
from segue.bell import Bell, Name
from segue.clock import Clock
from segue.closure import Ending
from segue.errors import AgentFailed, LeaseLost, NotFound, StoreError
from segue.evaluation import EvaluateResponse, says_nothing
from segue.firing import Taken
from segue.hub import Hub
from segue.lane import Left, Pool
from segue.leasing import Held, Seat
from segue.live import LetGo, Live, LiveTurns
from segue.memory.context import assemble
from segue.memory.shelf import Shelf
from segue.model import Ids, Session, Source
from segue.outbox import Outbox
from segue.policy import backoff
from segue.prompts import Mode
from segue.record import record
from segue.seats import Admit
from segue.speech import Speech
from segue.states import EVALUATED, JobKind, Outcome
from segue.store.store import Store
from segue.transcript import Message, message_of
from segue.trial import Trial
from segue.view import View

_log = logging.getLogger(__name__)

Function: TypeAlias = Callable[..., Awaitable[Any]]
"""What a `Call` names: `async def(turn, **arguments)`."""

_BREATH_MS = 200
"""Between two tries while the store does not answer."""

_NAMES = {Pool.USER: Name.USER, Pool.SCHEDULE: Name.SCHEDULE}


@record
class Crew:
    """What the runners of a process share."""

    store: Store
    clock: Clock
    bell: Bell
    hub: Hub
    ids: Ids
    rng: random.Random
    turns: LiveTurns
    trial: Trial
    agent: Agent
    functions: Mapping[str, Function]
    evaluate_response: EvaluateResponse
    stored: frozenset[str] | None
    """The channels for which stored is sent, or None for all; the others want each answer delivered."""
    holder: str
    lease_ms: int

    def outbox(self, now: int) -> Outbox:
        return Outbox(self.stored, self.ids(now))


class Runner:
    def __init__(self, crew: Crew, pool: Pool, slots: int) -> None:
        self._crew = crew
        self._pool = pool
        self._slots = slots
        self._busy = 0
        """Turns whose agents are at work."""
        self._settling = 0
        """Turns on their way out."""
        self._leasing = 0
        """Slots that a lease under way may fill."""
        self._account = ""
        self._lease_ends = 0
        self._store_failed = False
        self._closing = False
        self._turns: asyncio.TaskGroup | None = None

    async def run(self) -> None:
        """Take lanes as slots come free, until closed; then wait for the turns under way."""
        try:
            async with asyncio.TaskGroup() as self._turns:
                while not self._closing:
                    await self._take_some(self._turns)
        finally:
            self._turns = None

    async def _take_some(self, turns: asyncio.TaskGroup) -> None:
        wanted = min(self._free, leasing.QUANTUM)
        held = await self._lease()
        for one in held:
            turns.create_task(self._perform(one, self._lease_ends))
        # With fewer than it would give, the account is done: a look costs less than a try in vain.
        if len(held) < max(wanted, 1) and not self._closing:
            await self._rest()

    async def start(self, admit: Admit) -> Taken | None:
        """Let a turn come in by a free slot, if there is one, so that it may start in the same commit.

        The commit is made by a task of ours: whoever asked may go, and what it started is seen through.
        """
        if self._turns is None or self._closing or self._leasing >= self._free:
            return await admit(None)
        self._busy += 1
        taken: asyncio.Future[Taken | None] = asyncio.get_running_loop().create_future()
        self._turns.create_task(self._admit(admit, taken))
        return await taken

    async def _admit(self, admit: Admit, told: asyncio.Future[Taken | None]) -> None:
        taken = held = None
        seat = self._seat()
        try:
            taken = await admit(seat)
            held = taken.held if taken else None
            if not told.done():
                told.set_result(taken)
        except Exception as error:
            if not told.done():
                told.set_exception(error)
        finally:
            if held is None:
                self._count(busy=-1)
        if taken is not None and held is not None:
            self._crew.hub.publish(taken.events)  # by us: they come before the turn's own
            await self._perform(held, seat.lease_ends)

    def _seat(self) -> Seat:
        crew = self._crew
        return Seat(
            holder=crew.holder,
            lease_ms=crew.lease_ms,
            lease_now=crew.store.lease_now(),
            # Counted from before the lease begins: by our own clock it never ends later than by the store's.
            lease_ends=crew.clock.steady_ms() + crew.lease_ms,
            reports_tools=crew.agent.reports_tools,
        )

    async def step(self) -> int:
        """Take what is ready and see it through; how many turns that were."""
        held = await self._lease()
        async with asyncio.TaskGroup() as turns:
            for one in held:
                turns.create_task(self._perform(one, self._lease_ends))
        return len(held)

    def close(self) -> None:
        """Take no more lanes."""
        self._closing = True
        self._crew.bell.ring(_NAMES[self._pool])

    async def _lease(self) -> list[Held]:
        crew = self._crew
        free = self._free
        if free <= 0:
            return []
        seat = self._seat()
        self._lease_ends = seat.lease_ends
        self._leasing = free
        trial = crew.trial.reserve()
        held: list[Held] = []
        try:
            held = await crew.store.commit(
                leasing.lease,
                seat,
                pool=self._pool,
                after=self._account,
                limit=free,
                now=crew.clock.ms(),
                trial=trial,
            )
        except StoreError as error:
            _log.warning("no lane could be leased: %s", error)
            self._store_failed = True
            return []
        finally:
            self._leasing = 0
            if trial:
                crew.trial.begin(one.turn for one in held)
        self._store_failed = False
        self._busy += len(held)
        if held:
            self._account = held[-1].session.owner.account
        return held

    async def _rest(self) -> None:
        while not await self._crew.bell.wait(_NAMES[self._pool], await self._next_moment()):
            pass

    async def _next_moment(self) -> int | None:
        """When there will be something to take, as far as it is known."""
        crew = self._crew
        if self._store_failed:  # the lane is still ready: a look at when it will be would not let us rest
            return crew.clock.ms() + _BREATH_MS
        if self._free <= 0:
            return None
        try:
            return await crew.store.next_ready(self._pool)
        except StoreError:
            return crew.clock.ms() + _BREATH_MS

    async def _perform(self, held: Held, lease_ends: int) -> None:
        task = asyncio.current_task()
        assert task is not None  # we run as one
        crew = self._crew
        live = Live(held, task, crew.clock.steady_ms(), lease_ends, last_seq=held.opened.seq)
        crew.turns.add(live)
        crew.hub.publish((held.opened, *held.copies))
        try:
            left = await self._see_through(live)
            crew.hub.publish(left.events)
            if left.next_pool is not None:
                crew.bell.ring(_NAMES[left.next_pool])
            if left.delivers:
                crew.bell.ring(Name.COURIER)
            if held.session.live.policy is not None:
                crew.bell.ring(Name.ARCHIVIST)
        except LeaseLost as lost:
            _log.warning("turn %s was let go: %s", held.turn.id, lost)
        except Exception:
            # Nothing was promised, and no other turn may suffer from it. The lease runs out, and the
            # crash rule decides what becomes of this one.
            _log.exception("turn %s could not be settled", held.turn.id)
        finally:
            crew.turns.drop(live)
            crew.trial.end(held.turn)
            self._count(settling=-1)

    @property
    def _free(self) -> int:
        """Slots. One is free as soon as its agent has ended, so that the next turn is taken up while this one
        is settled, often in the same commit; but a store that falls behind is not given ever more to do."""
        return min(self._slots, 2 * self._slots - self._settling) - self._busy

    def _count(self, *, busy: int = 0, settling: int = 0) -> None:
        was_full = self._free <= 0
        self._busy += busy
        self._settling += settling
        if was_full and self._free > 0:  # somebody may have waited for a slot
            self._crew.bell.ring(_NAMES[self._pool])

    async def _see_through(self, live: Live) -> Left:
        crew = self._crew
        try:
            try:
                if crew.clock.steady_ms() >= live.lease_ends:  # we heard of it too late: somebody else has it
                    raise LeaseLost("its lease had run out before it could begin")
                ending = await self._listen(live)
            finally:
                self._count(busy=-1, settling=+1)
        except asyncio.CancelledError:
            if live.let_go is None:  # the shutdown's grace is over
                now = crew.clock.ms()
                return await crew.store.commit(settle.hand_back, live.held, now, outbox=crew.outbox(now))
            live.task.uncancel()
            if live.let_go is LetGo.LEASE_LOST:
                raise LeaseLost("its lease ran out") from None
            ending = live.cut_short()
        now = crew.clock.ms()
        turn = live.held.turn
        if ending.outcome is Outcome.ERROR and turn.attempt - turn.crashes <= turn.retries:
            pause = backoff(turn.attempt - turn.crashes, crew.rng)
            at = now + round(pause.total_seconds() * 1000)
            return await crew.store.commit(settle.retry, live.held, ending, now, at=at)
        return await crew.store.commit(settle.settle, live.held, ending, now, outbox=crew.outbox(now))

    async def _listen(self, live: Live) -> Ending:
        """The agent's words, until it ends; however it ends."""
        try:
            if live.held.turn.call is not None:
                return await self._call(live)
            speech = Speech(live, self._crew.store, self._crew.hub, self._crew.clock)
            pieces = self._crew.agent.answer(await self._open(live.held))
            try:
                async for piece in pieces:
                    await speech.take(piece)
            finally:
                # One that is let go between two pieces closes what it holds now, not when memory is tidied.
                if isinstance(pieces, AsyncGenerator):
                    await pieces.aclose()
            return await self._evaluated(live, closure.answered(live.text, live.usage))
        except (LeaseLost, StoreError):
            raise
        except asyncio.CancelledError:
            if live.task.cancelling():
                raise
            return closure.failed("the agent cancelled itself", usage=live.usage)
        except AgentFailed as failure:
            return closure.failed(str(failure), shown=failure.shown, usage=live.usage)
        except (Exception, SystemExit) as error:
            detail = "".join(traceback.format_exception(error, limit=-8))
            return closure.failed(detail, usage=live.usage)
        finally:
            live.listening = False

    async def _evaluated(self, live: Live, ending: Ending) -> Ending:
        """What becomes of an answer that may be nothing to say, or may not go out unasked."""
        turn = live.held.turn
        if turn.source is None or turn.brief is None:
            return ending
        if turn.brief.mode == Mode.CHECK and says_nothing(ending.reply or ""):
            return closure.nothing_to_report(ending)
        if turn.source.kind not in EVALUATED or ending.reply is None:
            return ending
        try:
            passes = await self._crew.evaluate_response(await self._open(live.held), ending.reply)
        except Exception as error:
            _log.warning("the answer of turn %s could not be evaluated", turn.id, exc_info=error)
            return closure.not_evaluated(ending, repr(error))
        return ending if passes is True else closure.held_back(ending)

    async def _call(self, live: Live) -> Ending:
        call = live.held.turn.call or {}
        function = self._crew.functions.get(call["function"])
        if function is None:
            return closure.failed(f"no function is registered as {call['function']!r} in this process")
        result = await function(await self._open(live.held), **call.get("arguments", {}))
        return closure.answered("" if result is None else str(result), {})

    async def _via(self, held: Held) -> Session:
        if held.via_id is None:
            return held.session
        try:
            return await self._crew.store.session_by_id(held.via_id)
        except NotFound:  # the chat was deleted since
            return held.session

    async def _view(self, source: Source | None) -> View:
        """What the job says of it. A user's turn is given everything."""
        if source is None:
            return View.FULL
        try:
            action = (await self._crew.store.job(source.job_id)).action
        except NotFound:  # pruned since
            return View.FULL
        return action.view if isinstance(action, Ask) else View.FULL

    async def _open(self, held: Held) -> OpenTurn:
        async def history(limit: int) -> list[Message]:
            source = held.turn.source
            given = await assemble(
                Shelf(self._crew.store),
                held.session,
                asked=text,
                view=await self._view(source),
                limit=limit,
                before=held.opened.seq,
                turn_id=held.turn.id,
                job_id=source.job_id if source else None,
            )
            return given.as_messages()

        async def joined() -> list[Message]:
            events = await self._crew.store.commit(leasing.join, held, self._crew.clock.ms())
            self._crew.hub.publish(events)
            own = [event for event in events if event.session_id == held.session.id]
            return [message for event in own if (message := message_of(event))]

        turn = held.turn
        text = turn.content if turn.prompt is None else turn.prompt
        prompt = turn.rendered()
        return OpenTurn(
            id=turn.id,
            session=held.session,
            via=await self._via(held),
            text=text,
            prompt=prompt.text if prompt else text,
            role="system" if turn.source and turn.source.kind == JobKind.RECALL else "user",
            prompt_ref=prompt.ref if prompt else None,
            source=turn.source,
            attempt=turn.attempt,
            started_at=turn.started_at or 0,
            _history=history,
            _joined=joined,
        )
