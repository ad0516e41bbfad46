"""Day sets of a client, with the verbs of `kernel.days`."""

from segue.client import parse
from segue.client.records import RemoteDaySet
from segue.client.transport import Transport
from segue.times.days.day_sets import DaySet


class ClientDays:
    """Sets of working days that a cron schedule may name: `client.days`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def get(self, name: str) -> DaySet:
        """Returns a set that comes with Segue or belongs to the account. Raises `NotFound`."""
        return (await self._transport.get("days", name)).read(parse.days)

    async def add(self, name: str, ics: str) -> RemoteDaySet:
        """Stores the all-day events of an `.ics` file as the days off of a set, as `kernel.days.add` does.

        A set of that name is replaced. Needs a key of the role admin. Raises `BadDays`, `NeverWorks`.
        """
        return (await self._transport.post("days", body={"name": name, "ics": ics})).read(parse.day_set)

    async def delete(self, name: str) -> None:
        """Deletes a set of the account. Raises `DaysInUse`, `NotFound`, `Conflict` for a shipped set."""
        await self._transport.delete("days", name)

    async def list(self) -> list[RemoteDaySet]:
        """Returns the sets that come with Segue, and then those of the account, by name."""
        answer = await self._transport.get("days")
        return [each.read(parse.day_set) for each in answer.items("days")]
