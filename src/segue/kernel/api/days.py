"""Day sets: lists, imports and deletes the working days of an account."""

from segue.errors import Conflict, NotFound
from segue.kernel.api.context import OPERATOR, ApiContext
from segue.kernel.transactions import day_sets
from segue.kernel.workers.day_mover import DayMover
from segue.model.records import Asker, Session
from segue.times.clock import to_moment
from segue.times.days.day_sets import DaySet, day_set, shipped_names
from segue.times.days.ics import from_ics
from segue.times.trigger import Trigger


class DaysApi:
    """Sets of working days that a cron schedule may name: `kernel.days`."""

    def __init__(self, context: ApiContext) -> None:
        self._context = context
        self._mover = DayMover(context)

    async def get(self, name: str, *, owner: Asker = OPERATOR) -> DaySet:
        """Returns a `DaySet` that comes with Segue or belongs to the account. Raises `NotFound`."""
        if name in shipped_names():
            return day_set(name)
        found = await self._context.store.day_set(owner.account, name)
        if found is None:
            raise NotFound(f"there is no day set {name}")
        return found[0]

    async def add(self, name: str, ics: str, *, owner: Asker = OPERATOR) -> DaySet:
        """Stores the all-day events of an `.ics` file as the days off of a set, and returns the `DaySet`.

        A set of that name is replaced, and the next slot of each job that uses it moves. Raises `BadDays` for
        a name or a file that cannot be used, `NeverWorks` for a set without a working day.
        """
        context = self._context
        now = context.clock.ms()
        days = from_ics(name, ics, today=to_moment(now).date())
        if await context.store.commit_alone(day_sets.put, owner.account, days, now):
            await self._mover.step()
        return days

    async def delete(self, name: str, *, owner: Asker = OPERATOR) -> None:
        """Deletes a set of the account. Raises `DaysInUse`, `NotFound`, `Conflict` for a shipped set."""
        if name in shipped_names():
            raise Conflict(f"the day set {name} comes with Segue and cannot be deleted")
        await self._context.store.commit(day_sets.remove, owner.account, name)

    async def of_session(self, session: Session | None) -> str | None:
        """Returns the name of the set that words about working days mean in a session; None: of no set.

        Pass None for a session that does not exist yet.
        """
        return None if session is None else await self._context.store.session_days(session.id)

    async def applied(self, trigger: Trigger, *, owner: Asker = OPERATOR) -> Trigger:
        """Returns the trigger with the set that it names, so that it has slots. Raises `UnknownDays`."""
        return await self._context.with_days(trigger, owner.account)

    async def list(self, *, owner: Asker = OPERATOR) -> list[DaySet]:
        """Returns the sets that come with Segue, and then those of the account, by name."""
        own = await self._context.store.day_sets(owner.account)
        return [*map(day_set, shipped_names()), *own]
