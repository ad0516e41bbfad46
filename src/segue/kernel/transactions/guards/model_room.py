"""Room of models: which turns may start within the limits of single models, and which wait for their model.

A lane whose first turn waits is not ready, so that it holds up no other lane. It becomes ready in its old
place when its model has room, or after a pause: a process that knows no limits may come by.
"""

from collections.abc import Iterable, Sequence

from segue.kernel.transactions.lane import Pool
from segue.model.prompts import Mode
from segue.model.records import Session, Turn
from segue.model.settings import Settings
from segue.store import queries
from segue.store.database import Params, Row, Transaction

MODEL_PAUSE_MS = 60_000
"""How long a lane waits for its model if no process wakes it."""


def room(most: int, running: int, *, for_users: bool) -> int:
    """How many turns may start. With `for_users`, a quarter of the limit stays free, at least one turn."""
    reserved = max(1, most // 4) if for_users and most > 1 else 0
    return max(0, most - reserved - running)


class ModelRoom:
    """What the turns that run in all processes leave of each limited model, for one transaction."""

    def __init__(self, settings: Settings, running: Iterable[Row], pool: Pool) -> None:
        self._settings = settings
        self._pool = pool
        counts = dict.fromkeys(settings.model_limits, 0)
        for row in running:
            for model in settings.asked_models(row["model"], row["look"]) & counts.keys():
                counts[model] += row["running"]
        # Users' turns ask the default model only. Of the others, nothing needs to be left to them.
        self.free: dict[str | None, int] = {
            model: room(
                most, counts[model], for_users=pool is Pool.SCHEDULE and model == settings.full_model(None)
            )
            for model, most in settings.model_limits.items()
        }
        """How many turns may start with each limited model."""
        self.put_some_off = False

    @property
    def full(self) -> bool:
        """Whether a model has no room: turns may wait for it."""
        return 0 in self.free.values()

    def put_off(
        self, sessions: Sequence[Session], turns: dict[str, Turn]
    ) -> list[tuple[Session, Turn, Params]]:
        """Take room for the turns, by session. Removes those whose model has none, and returns each with its
        lane's session and the row that says what it waits for."""
        waits: list[tuple[Session, Turn, Params]] = []
        by_id = {session.id: session for session in sessions}
        for turn in sorted(turns.values(), key=lambda turn: (turn.not_before, turn.id)):
            asked = self._models(turn) & self.free.keys()
            full = [model for model in asked if self.free[model] == 0]
            if full:
                session = by_id[turn.session_id]
                waits.append((session, turns.pop(session.id), self._row(turn, full[0], session)))
                continue
            for model in asked:
                self.free[model] -= 1
        self.put_some_off = bool(waits)
        return waits

    def wake(self, after: str, limit: int) -> Transaction[int | None]:
        """Make lanes ready that wait for a model with room. Returns since when the first of them waited."""
        since: list[int] = []
        for model, free in self.free.items():
            if free == 0:
                continue
            waiting = yield (
                queries.model_waits.next,
                {
                    "model": model or "",
                    "user_waits": int(self._pool),
                    "after": after,
                    "limit": min(free, limit),
                },
            )
            for row in waiting:
                yield queries.sessions.wake, {"id": row["session_id"], "since": row["since"]}
                yield queries.model_waits.remove, {"session_id": row["session_id"]}
                since.append(row["since"])
        return min(since, default=None)

    def _models(self, turn: Turn) -> frozenset[str | None]:
        if turn.call is not None or (turn.brief is not None and turn.brief.mode == Mode.SAY):
            return frozenset()
        brief = turn.brief
        return self._settings.asked_models(brief.model if brief else None, brief.look if brief else None)

    def _row(self, turn: Turn, model: str | None, session: Session) -> Params:
        return {
            "session_id": turn.session_id,
            "model": model or "",
            "user_waits": int(self._pool),
            "account": session.owner.account,
            "since": turn.not_before,
        }
