"""A model of the lane in dicts and lists, with which the store is compared."""

from dataclasses import dataclass, field

from segue.kernel.transactions.lane import Pool
from segue.kernel.transactions.lease import HeldLane
from segue.model.action import Ask
from segue.model.policy import Policy
from segue.model.records import Job, Owner
from segue.model.states import JobKind, JobState
from segue.times.clock import to_moment
from segue.times.trigger import Every

MINUTE_MS = 60_000


@dataclass
class ModelTurn:
    id: str
    rank: int
    not_before: int
    joins: bool = False
    run: str | None = None
    state: str = "queued"
    outcome: str | None = None
    attempt: int = 0
    crashes: int = 0
    acted: bool = False
    started_at: int = 0


@dataclass
class ModelLane:
    turns: dict[str, ModelTurn] = field(default_factory=dict)
    holder: str | None = None
    fence: int = 0
    lease_until: int = 0
    put_off: int | None = None

    def admit(self, turn: ModelTurn) -> None:
        self.turns[turn.id] = turn
        if self.put_off is not None:
            self.put_off = min(self.put_off, turn.not_before)

    def queued(self) -> list[ModelTurn]:
        waiting = [turn for turn in self.turns.values() if turn.state == "queued"]
        return sorted(waiting, key=lambda turn: (turn.rank, turn.id))

    @property
    def running(self) -> ModelTurn | None:
        return next((turn for turn in self.turns.values() if turn.state == "running"), None)

    @property
    def ready_at(self) -> int | None:
        if self.holder or not self.queued():
            return None
        if self.put_off is not None:
            return self.put_off
        return min(turn.not_before for turn in self.queued())

    @property
    def pool(self) -> Pool:
        return Pool.USER if any(turn.run is None for turn in self.queued()) else Pool.SCHEDULE

    def holds(self, held: HeldLane) -> bool:
        return (self.holder, self.fence) == (held.holder, held.fence)

    def release(self) -> None:
        self.holder = None

    def crash(self) -> None:
        """The worker of the running turn is lost; `policy.crash` is auto here."""
        turn = self.running
        self.release()
        if turn is None:
            return
        turn.crashes += 1
        if turn.acted or turn.crashes >= 3:
            turn.state, turn.outcome = "failed", "interrupted"
        else:
            turn.state, turn.not_before = "queued", turn.started_at


def every_minute(job_id: str, now: int) -> Job:
    """A job whose first slot is a minute away."""
    return Job(
        id=job_id,
        session_id="",
        account=Owner().account,
        kind=JobKind.CRON,
        name="look",
        state=JobState.ACTIVE,
        state_reason=None,
        protected=False,
        trigger=Every(60, start=to_moment(now)),
        action=Ask("What is new?"),
        policy=Policy(),
        slot=now + MINUTE_MS,
        next_at=now + MINUTE_MS,
        revision=1,
        run_count=0,
        failures=0,
        last_run_at=None,
        last_outcome=None,
        last_error=None,
        created_at=now,
        updated_at=now,
    )
