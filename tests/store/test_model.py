"""The store against a model of a hundred lines: dicts and lists that do what the lane promises.

Hypothesis walks both through the same moves, stale ones too: late writes of a holder that lost its lane,
decisions on a job that was changed. After each move they must agree, and the audit must find nothing.
"""

import asyncio
import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from segue.errors import AlreadyStarted, LeaseLost, SessionBusy
from segue.kernel.live.running import RunningTurn
from segue.kernel.transactions import fire as firing
from segue.kernel.transactions import jobs, lane, sessions, settle
from segue.kernel.transactions import lease as leasing
from segue.kernel.transactions.lane import Admission, Pool
from segue.kernel.transactions.lease import HeldLane
from segue.kernel.transactions.unified import Address
from segue.kernel.workers import keeper
from segue.model import closure
from segue.model.decision import Fire, PassOver
from segue.model.records import Event, Job, Lookup, Owner, Source, run_id
from segue.model.states import Outcome, WhenBusy
from segue.store import queries
from segue.store.database import Database, Transaction
from segue.store.open import open_database
from segue.store.queries import Query, translate
from segue.store.rows import core as rows
from segue.store.store import Store
from segue.testing import ManualClock
from segue.times.clock import to_moment
from tests.leases import terms_of
from tests.store.model import MINUTE_MS, ModelLane, ModelTurn, every_minute

LONG = bool(os.environ.get("SEGUE_LONG"))
LEASE_MS = 10_000
PATIENCE_MS = 30_000
START_MS = 1_795_000_000_000
ME = Owner()
KEYS = ("web:1", "web:2", "web:3")
WORKERS = ("anna", "bert")

_EMPTY = [
    translate(f"model.empty_{table}", f"DELETE FROM {table}")
    for table in ("events", "deliveries", "runs", "jobs", "turns", "sessions")
]


_LANES = translate("model.lanes", "SELECT key, holder, fence, ready_at FROM sessions")
_TURNS = translate(
    "model.turns",
    """SELECT turns.id, turns.state, turns.outcome, turns.attempt, sessions.key
       FROM turns JOIN sessions ON sessions.id = turns.session_id ORDER BY turns.rank, turns.id""",
)
_RUNS = translate("model.runs", "SELECT id, outcome FROM runs_told")


class Walk(RuleBasedStateMachine):
    """Moves on the store and the model at once. Subclassed with a store to walk on."""

    store: Store
    runner: asyncio.Runner

    def __init__(self) -> None:
        super().__init__()
        self.now = START_MS
        self.made = 0
        self.lanes: dict[str, ModelLane] = {}
        self.held: list[tuple[str, HeldLane]] = []
        self.jobs: list[tuple[str, Job]] = []
        self.revisions: dict[str, int] = {}
        self.runs: dict[str, str | None] = {}
        self.wait(self.store.database.run(_empty))

    def wait(self, work: Any) -> Any:
        return self.runner.run(work)

    def commit(self, *args: Any, **named: Any) -> Any:
        return self.wait(self.store.commit(*args, **named))

    def new_id(self) -> str:
        self.made += 1
        return f"{self.made:06d}"

    def lane_of(self, key: str) -> ModelLane:
        if key not in self.lanes:
            self.lanes[key] = ModelLane()
        return self.lanes[key]

    @rule(seconds=st.sampled_from((1, 5, 11, 60)))
    def time_passes(self, seconds: int) -> None:
        self.now += seconds * 1000

    @rule(key=st.sampled_from(KEYS), mode=st.sampled_from(list(WhenBusy)))
    def receive(self, key: str, mode: WhenBusy) -> None:
        model = self.lane_of(key)
        turn = ModelTurn(self.new_id(), rank=self.now, not_before=self.now)
        words = _words(turn, self.now)
        address = Address(lookup=Lookup(ME, ME), key=key, new_id=self.new_id())
        arguments = (lane.receive, address, words, self.now)
        named = {"when_busy": mode, "default": WhenBusy.ENQUEUE}
        busy = model.holder is not None or model.ready_at is not None
        if busy and mode is WhenBusy.REJECT:
            with pytest.raises(SessionBusy):
                self.commit(*arguments, **named)
            return
        self.commit(*arguments, **named)
        if model.holder and mode is WhenBusy.INTERRUPT:
            turn.rank = 0
        turn.joins = model.holder is not None and mode is WhenBusy.INJECT
        model.admit(turn)

    @rule(worker=st.sampled_from(WORKERS), pool=st.sampled_from(list(Pool)))
    def lease(self, worker: str, pool: Pool) -> None:
        taken = self.commit(
            leasing.lease,
            terms_of(worker, lease_ms=LEASE_MS, lease_now=self.now),
            pool=pool,
            after="",
            limit=8,
            now=self.now,
        )
        started = {held.session.key: held.turn.id for held in taken.value.held}
        expected = {}
        ready = {
            key: next(turn for turn in model.queued() if turn.not_before <= self.now)
            for key, model in self.lanes.items()
            if model.ready_at is not None and model.ready_at <= self.now and model.pool is pool
        }
        on_trial = min((turn.id for turn in ready.values() if turn.crashes == 2), default=None)
        for key, turn in ready.items():
            model = self.lanes[key]
            model.fence, model.put_off = model.fence + 1, None
            if turn.crashes == 2 and turn.id != on_trial:
                model.put_off = self.now + leasing.SUSPECT_PAUSE_MS
                continue
            turn.state, turn.attempt, turn.acted = "running", turn.attempt + 1, False
            turn.started_at = self.now
            model.holder = worker
            model.lease_until = self.now + LEASE_MS
            expected[key] = turn.id
        assert started == expected
        # A database returns rows in any order; a repeated walk must find the same ones.
        self.held += sorted(((held.session.key, held) for held in taken.value.held), key=lambda one: one[0])

    def _under_fence(self, key: str, held: HeldLane, move: Any, *args: Any, **named: Any) -> ModelTurn | None:
        """The model's running turn if the lane is still held; else the store must refuse."""
        model = self.lanes.get(key)
        if model is None or self.ids_differ(key, held) or not model.holds(held):
            with pytest.raises(LeaseLost):
                self.commit(move, held, *args, **named)
            return None
        self.commit(move, held, *args, **named)
        return model.running

    def ids_differ(self, key: str, held: HeldLane) -> bool:
        """The session was deleted and another one has its key."""
        session = self.wait(self.store.session(ME, key))
        return session is None or session.id != held.session.id

    @precondition(lambda self: self.held)
    @rule(data=st.data(), well=st.booleans())
    def settle(self, data: st.DataObject, well: bool) -> None:
        key, held = data.draw(st.sampled_from(self.held))
        ending = closure.answered("done", {}) if well else closure.failed("broken")
        if turn := self._under_fence(key, held, settle.settle, ending, self.now):
            turn.state, turn.outcome = str(ending.state), str(ending.outcome)
            self._close(turn, str(ending.outcome))
            self.lanes[key].release()

    @precondition(lambda self: self.held)
    @rule(data=st.data(), seconds=st.sampled_from((0, 30)))
    def retry(self, data: st.DataObject, seconds: int) -> None:
        key, held = data.draw(st.sampled_from(self.held))
        at = self.now + seconds * 1000
        if turn := self._under_fence(key, held, settle.retry, closure.failed("again"), self.now, at=at):
            turn.state, turn.not_before = "queued", at
            self.lanes[key].release()

    @precondition(lambda self: self.held)
    @rule(data=st.data(), acted=st.booleans())
    def append(self, data: st.DataObject, acted: bool) -> None:
        key, held = data.draw(st.sampled_from(self.held))
        fact = Event(session_id=held.session.id, seq=0, type="tool_call", at=self.now, turn_id=held.turn.id)
        if turn := self._under_fence(key, held, leasing.append, [fact], acted=acted):
            turn.acted |= acted

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def join(self, data: st.DataObject) -> None:
        key, held = data.draw(st.sampled_from(self.held))
        if (host := self._under_fence(key, held, leasing.join, self.now)) and host.run is None:
            for turn in self.lanes[key].queued():
                if turn.joins and turn.attempt == 0:
                    turn.state, turn.outcome = "done", "ok"

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def renew(self, data: st.DataObject) -> None:
        key, held = data.draw(st.sampled_from(self.held))
        task: Any = None
        kept = self.commit(keeper.renew, [RunningTurn(held, task, 0, 0)], LEASE_MS, self.now)
        model = self.lanes.get(key)
        ours = model is not None and not self.ids_differ(key, held) and model.holds(held)
        assert kept == ({(held.session.id, held.fence)} if ours else set())
        if model and ours:
            model.lease_until = self.now + LEASE_MS

    @precondition(lambda self: any(model.holder for model in self.lanes.values()))
    @rule(data=st.data())
    def take_back(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from([key for key, model in self.lanes.items() if model.holder]))
        model = self.lanes[key]
        session = self.wait(self.store.session(ME, key))
        left = self.commit(
            settle.reclaim, session.id, holder="reaper", lease_now=self.now, horizon=None, now=self.now
        )
        assert (left is not None) == (model.lease_until <= self.now)
        if left is None:
            return
        turn = model.running
        model.fence += 1
        model.crash()
        if turn and turn.outcome:
            self._close(turn, turn.outcome)
        elif turn and turn.run:
            self._coalesce(model, turn)

    @precondition(lambda self: any(model.turns for model in self.lanes.values()))
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        turns = [turn for model in self.lanes.values() for turn in model.turns.values()]
        turn = data.draw(st.sampled_from(turns))
        if turn.state != "queued":
            with pytest.raises(AlreadyStarted):
                self.commit(lane.cancel, turn.id, "not wanted", self.now)
            return
        self.commit(lane.cancel, turn.id, "not wanted", self.now)
        self._withdraw(turn, "cancelled")

    @precondition(lambda self: self.lanes)
    @rule(data=st.data())
    def stop(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(list(self.lanes)))
        asked = self.commit(lane.stop, self.wait(self.store.session(ME, key)).id)
        running = self.lanes[key].running
        assert asked == (running.id if running else None)

    @rule(key=st.sampled_from(KEYS))
    def schedule(self, key: str) -> None:
        self.lane_of(key)
        job = every_minute(f"job{self.new_id()}", self.now)
        made = self.commit(jobs.create, ME, key, job, new_session_id=self.new_id())
        self.jobs.append((key, made.value))
        self.revisions[job.id] = 1

    def _taken(self, data: st.DataObject) -> tuple[str, Job, int, bool] | None:
        """A job as it was read, perhaps long ago; and whether it is still unchanged."""
        known = [(key, job) for key, job in self.jobs if key in self.lanes and job.slot is not None]
        known = [(key, job) for key, job in known if self._lives(job)]
        if not known:
            return None
        key, job = data.draw(st.sampled_from(known))
        assert job.slot is not None
        return key, job, job.slot, self.revisions[job.id] == job.revision

    def _lives(self, job: Job) -> bool:
        return job.id in self.revisions

    @precondition(lambda self: self.jobs)
    @rule(data=st.data())
    def fire(self, data: st.DataObject) -> None:
        if (drawn := self._taken(data)) is None:
            return
        key, job, slot, current = drawn
        turn = ModelTurn(self.new_id(), rank=self.now + PATIENCE_MS, not_before=self.now)
        turn.run = run_id(job.id, slot)
        source = Source(kind="cron", job_id=job.id, label=job.name, run_id=turn.run)
        decision = Fire(slot=to_moment(slot), next=to_moment(slot + MINUTE_MS))
        work = replace(_words(turn, self.now), source=source)
        taken = self.commit(firing.fire, job, decision, work, self.now)
        assert (taken is not None) == current
        if current:
            self.lanes[key].admit(turn)
            self.runs[turn.run] = None
            self._moved_on(key, job, slot)

    @precondition(lambda self: self.jobs)
    @rule(data=st.data())
    def pass_over(self, data: st.DataObject) -> None:
        if (drawn := self._taken(data)) is None:
            return
        key, job, slot, current = drawn
        decision = PassOver(
            slot=to_moment(slot),
            outcome=Outcome.SKIPPED,
            reason="busy",
            next=to_moment(slot + MINUTE_MS),
        )
        assert (self.commit(firing.pass_over, job, decision, self.now) is not None) == current
        if current:
            self.runs[run_id(job.id, slot)] = "skipped"
            self._moved_on(key, job, slot)

    def _moved_on(self, key: str, job: Job, slot: int) -> None:
        self.revisions[job.id] += 1
        later = replace(job, slot=slot + MINUTE_MS, next_at=slot + MINUTE_MS, revision=job.revision + 1)
        self.jobs.append((key, later))

    @precondition(lambda self: self.revisions)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        job_id = data.draw(st.sampled_from(sorted(self.revisions)))
        job = self.wait(self.store.job(job_id))
        self.commit(jobs.remove, job, "not wanted", self.now)
        del self.revisions[job_id]
        for model in self.lanes.values():
            for turn in model.queued():
                if turn.run and turn.run.startswith(f"{job_id}:"):
                    self._withdraw(turn, "cancelled")

    @precondition(lambda self: self.lanes)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(list(self.lanes)))
        self.commit(deleted, key, self.now)
        gone = self.lanes.pop(key)
        for turn in gone.turns.values():
            self.runs.pop(turn.run or "", None)
        for job_id in {job.id for where, job in self.jobs if where == key}:
            self.revisions.pop(job_id, None)
            self.runs = {run: out for run, out in self.runs.items() if not run.startswith(f"{job_id}:")}
        self.jobs = [(where, job) for where, job in self.jobs if where != key]

    # Helpers of the moves

    def _close(self, turn: ModelTurn, outcome: str) -> None:
        if turn.run:
            self.runs[turn.run] = outcome

    def _withdraw(self, turn: ModelTurn, outcome: str) -> None:
        turn.state, turn.outcome = "cancelled", outcome
        for model in self.lanes.values():
            if turn.id in model.turns:
                model.put_off = None
        self._close(turn, outcome)

    def _coalesce(self, model: ModelLane, back: ModelTurn) -> None:
        """Where one run may wait, one waits: the requeued one."""
        job_id = (back.run or "").partition(":")[0]
        if job_id not in {job.id for _, job in self.jobs}:
            return
        for turn in model.queued():
            if turn is not back and turn.run and turn.run.startswith(f"{job_id}:"):
                self._withdraw(turn, "skipped")

    @invariant()
    def they_agree(self) -> None:
        lanes = {row["key"]: row for row in self.look(_LANES)}
        assert {key: (row["holder"], row["fence"], row["ready_at"]) for key, row in lanes.items()} == {
            key: (model.holder, model.fence, model.ready_at) for key, model in self.lanes.items()
        }
        turns = self.look(_TURNS)
        assert {row["id"]: (row["state"], row["outcome"], row["attempt"]) for row in turns} == {
            turn.id: (turn.state, turn.outcome, turn.attempt)
            for model in self.lanes.values()
            for turn in model.turns.values()
        }
        for key, model in self.lanes.items():
            waiting = [row["id"] for row in turns if row["key"] == key and row["state"] == "queued"]
            assert waiting == [turn.id for turn in model.queued()]
        assert {row["id"]: row["outcome"] for row in self.look(_RUNS)} == self.runs

    def look(self, query: Query) -> Any:
        return self.wait(self.store.database.read(query, {}))

    @invariant()
    def the_audit_is_clean(self) -> None:
        assert not self.wait(self.store.audit(horizon=0))


def deleted(key: str, now: int) -> Transaction[object]:
    found = yield queries.sessions.by_key, {"account": ME.account, "user_id": ME.user, "key": key}
    return (yield from sessions.delete(rows.session(found[0]), with_jobs=True, now=now))


def _empty() -> Any:
    for statement in _EMPTY:
        yield statement, {}


def _words(turn: ModelTurn, now: int) -> Admission:
    return Admission(
        turn_id=turn.id, content="hello", rank=turn.rank, not_before=now, timeout_ms=MINUTE_MS, prompt=None
    )


@pytest.fixture
def open_store(database_url: str) -> Iterator[tuple[Store, asyncio.Runner]]:
    with asyncio.Runner() as runner:
        database: Database = runner.run(open_database(database_url))
        yield Store(database, ManualClock()), runner
        runner.run(database.close())


def test_the_store_does_what_the_model_does(open_store: tuple[Store, asyncio.Runner]) -> None:
    class WalkHere(Walk):
        store, runner = open_store

    examples = 500 if LONG else 25
    quick = settings(
        max_examples=examples,
        stateful_step_count=60 if LONG else 30,
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    run_state_machine_as_test(WalkHere, settings=quick)
